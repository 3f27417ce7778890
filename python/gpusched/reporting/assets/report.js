(() => {
"use strict";
const root = document.documentElement;
const element = (id) => document.getElementById(id);
const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

// Tables: a button in a heading sorts by its column; once more turns the order.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  table.querySelectorAll("thead button").forEach((button) => {
    const heading = button.closest("th");
    const column = heading.cellIndex;
    button.addEventListener("click", () => {
      const first = button.dataset.first || "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = heading.ariaSort === first ? other : first;
      for (const cell of heading.parentNode.cells) cell.ariaSort = "none";
      heading.ariaSort = order;
      const sign = order === "ascending" ? 1 : -1;
      const compared = (a, b) => {
        if (column === 0) return sign * a.cells[0].textContent.localeCompare(b.cells[0].textContent);
        const [x, y] = [a, b].map((row) => row.cells[column].dataset.value);
        if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
        return sign * (x - y);
      };
      body.append(...[...body.rows].sort(compared));
    });
  });
}

// Light or dark: what the system says, until the reader says otherwise.
const wish = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : wish.matches;
const toggle = element("theme");
const showTheme = () => {
  toggle.ariaPressed = String(isDark());
  toggle.textContent = isDark() ? "Light" : "Dark";
};
toggle.hidden = false;
toggle.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
  drawAll();
});
wish.addEventListener("change", () => { showTheme(); drawAll(); });
showTheme();

// Charts: each is drawn when it comes near, and again when something changes.
const config = {
  modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d"], ["zoom2d", "pan2d"], ["toImage"]],
  displayModeBar: true,
  displaylogo: false,
  responsive: true,
};
const drawn = new Set();
const figures = new Map();
const start = element("start");
const highlighted = new Set(start ? JSON.parse(start.textContent).highlighted : []);
const shown = element("shown");

function restyled(trace, index) {
  const { policy, alone } = trace.meta || {};
  if (policy !== undefined) {
    const own = colour(`--policy-${policy % 7}`);
    if (trace.line) trace.line.color = own;
    if (trace.marker) trace.marker.color = own;
    if (!trace.fill) trace.opacity = !highlighted.size || highlighted.has(policy) ? 1 : 0.18;
    if (trace.fill) trace.fillcolor = `${own}${trace.meta.alpha || "40"}`;
  }
  if (alone !== undefined) trace.visible = !shown || index === Number(shown.value);
  if (trace.type === "heatmap") {
    const scale = (trace.meta || {}).scale === "ratio" ? "ratio" : "share";
    trace.colorscale = [0, 1, 2].map((step) => [step / 2, colour(`--${scale}-${step}`)]);
  }
  if ((trace.meta || {}).ratio !== undefined) {
    trace.marker.color = colour(`--ratio-${trace.meta.ratio}`);
  }
  return trace;
}

function relaid(layout) {
  const [ink, muted, rule, line, panel] =
    ["--ink", "--muted", "--rule", "--strong-rule", "--panel"].map(colour);
  layout.font.color = ink;
  layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
  layout.hoverlabel = { bgcolor: panel, bordercolor: line, font: { color: ink } };
  layout.modebar = { orientation: "h", bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: ink };
  layout.uirevision ??= "kept";
  for (const key of Object.keys(layout)) {
    if (/^[xy]axis/.test(key)) {
      Object.assign(layout[key], { gridcolor: rule, linecolor: line, tickcolor: line });
    }
  }
  for (const shape of layout.shapes || []) shape.line.color = muted;
  return layout;
}

const facts = element("gantt-facts");
const gantt = facts ? ganttOf(JSON.parse(facts.textContent)) : null;

function draw(chart) {
  const figure = figures.get(chart);
  if (chart.id === "gantt") gantt.fill(figure, shown ? Number(shown.value) : 0);
  const { data, layout } = figure;
  Plotly.react(chart, data.map(restyled), relaid(layout), config);
}

function drawAll() {
  for (const chart of drawn) draw(chart);
}

function moved(chart, scale, shift) {
  const [low, high] = chart._fullLayout.xaxis.range.map(Number);
  const half = (high - low) * scale / 2;
  const middle = (low + high) / 2 + shift * (high - low);
  Plotly.relayout(chart, { "xaxis.range": [middle - half, middle + half] });
}

const keys = {
  "+": (chart) => moved(chart, 0.5, 0),
  "=": (chart) => moved(chart, 0.5, 0),
  "-": (chart) => moved(chart, 2, 0),
  ArrowLeft: (chart) => moved(chart, 1, -0.25),
  ArrowRight: (chart) => moved(chart, 1, 0.25),
  0: (chart) => {
    const { ends } = figures.get(chart);
    Plotly.relayout(chart, ends.length ? { "xaxis.range": [...ends] } : { "xaxis.autorange": true });
  },
};

// The page of a study makes its figures itself, others after each change of its filters.
function load(chart) {
  const figure = globalThis.studyFigure ? studyFigure(chart.id)
    : JSON.parse(element(`${chart.id}-data`).textContent);
  figures.set(chart, { ...figure, ends: [...(figure.layout.xaxis.range || [])] });
}

addEventListener("figures", () => {
  for (const chart of drawn) load(chart);
  drawAll();
});

function prepare(chart) {
  load(chart);
  drawn.add(chart);
  draw(chart);
  if (chart.id === "gantt") {
    gantt.onChange(() => draw(chart));
    chart.on("plotly_relayout", (change) => {
      const range = change["xaxis.range"] || [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (range[0] !== undefined) gantt.moved(range);
      if (change["xaxis.autorange"]) gantt.reset();
    });
  }
  chart.addEventListener("keydown", (event) => {
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action(chart);
  });
}

const charts = [...document.querySelectorAll(".chart")];
if (typeof Plotly === "undefined") {
  element("missing").hidden = charts.length === 0;
  for (const figure of document.querySelectorAll("figure, .choice")) figure.hidden = true;
} else {
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      near.unobserve(entry.target);
      prepare(entry.target);
    }
  }, { rootMargin: "600px" });
  for (const chart of charts) near.observe(chart);
  addEventListener("beforeprint", () => {
    for (const chart of charts) if (!drawn.has(chart)) { near.unobserve(chart); prepare(chart); }
  });
}

// Buttons of the legends, alike in all charts, and the policy whose servers are shown.
const chips = [...document.querySelectorAll(".legend button")];
const showChips = () => chips.forEach((chip) => {
  chip.ariaPressed = String(highlighted.has(Number(chip.dataset.policy)));
});
for (const chip of chips) {
  chip.addEventListener("click", () => {
    const policy = Number(chip.dataset.policy);
    if (!highlighted.delete(policy)) highlighted.add(policy);
    showChips();
    drawAll();
  });
}
showChips();
if (shown) shown.addEventListener("change", drawAll);
})();
