"use strict";
const element = (id) => document.getElementById(id);

// Tables: a button in a heading sorts by its column; pressing it again reverses the order.
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

// Light or dark: the system's setting, until the reader changes it. Colours of charts are CSS
// variables, so nothing is redrawn, not even for print.
const wish = matchMedia("(prefers-color-scheme: dark)");
const theme = element("theme");
function showTheme(turn = false) {
  const { dataset } = document.documentElement;
  const isDark = dataset.theme ? dataset.theme === "dark" : wish.matches;
  if (turn) dataset.theme = isDark ? "light" : "dark";
  theme.ariaPressed = String(isDark !== turn);
  theme.textContent = isDark !== turn ? "Light" : "Dark";
}
theme.hidden = false;
theme.addEventListener("click", () => showTheme(true));
wish.addEventListener("change", () => showTheme());
showTheme();

// Charts. All of them take from the page the highlighted policies, and the one that is shown.
const charts = [...document.querySelectorAll(".chart")];
const views = new Map();
const wanted = {};
const config = JSON.parse(element("config").textContent);
const states = { signals: () => true, data: () => false };
const has = (view, name) => name in view.getState(states).signals;

// Plots in a row or column use the width that their neighbours leave.
async function fit(chart, view) {
  if (!has(view, "child_width")) return;
  const beside = chart.querySelector("svg").viewBox.baseVal.width - view.signal("child_width");
  const width = Math.max(80, Math.floor(chart.clientWidth - beside));
  if (width !== view.signal("child_width")) await view.signal("child_width", width).resize().runAsync();
}

let specOf = (chart) => JSON.parse(element(`${chart.id}-chart`).textContent);

async function draw(chart) {
  views.get(chart)?.finalize();
  const options = { config, actions: false, renderer: "svg", mode: "vega-lite" };
  const spec = { description: chart.ariaLabel, ...specOf(chart) };
  const { view } = await vegaEmbed(chart, spec, options);
  views.set(chart, view);
  for (const [name, value] of Object.entries(wanted)) if (has(view, name)) view.signal(name, value);
  await view.runAsync();
  await fit(chart, view);
  chart.style.minHeight = "";
}

function tell(name, value) {
  wanted[name] = value;
  for (const view of views.values()) if (has(view, name)) view.signal(name, value).runAsync();
}

// Draw one after the other, and only visible ones; the others when they become visible.
let drawing = Promise.resolve();
function drawAll() {
  drawing = drawing.then(async () => {
    for (const chart of charts) if (!views.has(chart) && chart.clientWidth) await draw(chart);
  });
  return drawing;
}
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
  drawAll();
});
addEventListener("resize", () => { for (const [chart, view] of views) fit(chart, view); });

// The legend, the same for all charts, and the policy of charts that show one.
const chips = [...document.querySelectorAll(".legend button")];
for (const chip of chips) {
  chip.addEventListener("click", () => {
    chip.ariaPressed = String(chip.ariaPressed !== "true");
    tell("highlight", chips.filter((c) => c.ariaPressed === "true").map((c) => c.dataset.policy));
  });
}
element("shown")?.addEventListener("change", (event) => tell("shown", event.target.value));
