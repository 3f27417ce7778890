"""Expressions of a page that find what its readers would not see."""

DRAWN = (
    "charts.length > 0 && charts.every(c => !c.clientWidth || (views.has(c) && !c.style.minHeight))"
)
# Every corner of an element, from the left edge of the page to the right one.
OUTSIDE = """
[...document.querySelectorAll('h1, h2, #headline, h3, p, figure, .chart, .scroll, button, dl')]
  .filter(e => e.getClientRects().length && !e.closest('.scroll table'))
  .filter(e => { const r = e.getBoundingClientRect(); return r.left < 0 || r.right > innerWidth; })
  .map(e => e.outerHTML.slice(0, 80))
"""
# Texts of charts that reach beyond their charts.
CUT_OFF = """
[...document.querySelectorAll('.chart')].flatMap(chart => {
  const c = chart.getBoundingClientRect();
  return [...chart.querySelectorAll('text')]
    .filter(e => { const r = e.getBoundingClientRect();
      return r.width && (r.left < c.left - 1 || r.right > c.right + 1); })
    .map(e => e.textContent);
})
"""
