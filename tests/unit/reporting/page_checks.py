"""Expressions of a page that find what its readers would not see."""

DRAWN = "[...document.querySelectorAll('.chart')].every(c => c.querySelector('.main-svg'))"
# Every corner of an element, from the left edge of the page to the right one.
OUTSIDE = """
[...document.querySelectorAll('h1, h2, #headline, h3, p, figure, .chart, .scroll, button, dl')]
  .filter(e => e.getClientRects().length && !e.closest('.scroll table'))
  .filter(e => { const r = e.getBoundingClientRect(); return r.left < 0 || r.right > innerWidth; })
  .map(e => e.outerHTML.slice(0, 80))
"""
# Toolbars of charts that lie over a title, a caption, a legend or a name of a strip.
COVERED = """
[...document.querySelectorAll('.modebar-group')].flatMap(bar => {
  const b = bar.getBoundingClientRect();
  return [...bar.closest('figure').querySelectorAll('h3, p, .legend, .annotation-text')]
    .filter(e => { const r = e.getBoundingClientRect();
      return r.left < b.right && b.left < r.right && r.top < b.bottom && b.top < r.bottom; })
    .map(e => e.textContent);
})
"""
# Texts of charts that reach beyond their charts.
CUT_OFF = """
[...document.querySelectorAll('.chart')].flatMap(chart => {
  const c = chart.getBoundingClientRect();
  return [...chart.querySelectorAll('.annotation-text, .xtitle, .ytitle, .ytick text')]
    .filter(e => { const r = e.getBoundingClientRect();
      return r.width && (r.left < c.left - 1 || r.right > c.right + 1); })
    .map(e => e.textContent);
})
"""
