// A study: one section per metric, at the selected setting. Charts along an axis show all its
// values: their settings have a star there.
const sections = [...document.querySelectorAll("section[data-metric]")];
const filters = element("filters");
const menus = [...filters.querySelectorAll("select[data-axis]")];
const told = new Map(charts.map((chart) => [chart, chart.ariaLabel]));
const keys = () => {
  const at = menus.map((menu) => menu.value);
  return [at.join(), at.map((place, axis) => axis === Number(filters.dataset.along) ? "*" : place).join()];
};
const [first] = keys();

function choose() {
  const [at, free] = keys();
  const every = element("every")?.checked ?? false;
  for (const section of sections) {
    section.hidden = element("metric") !== null && section.dataset.metric !== element("metric").value;
  }
  for (const row of document.querySelectorAll("tr[data-at]")) {
    row.hidden = !every && row.dataset.at !== at;
  }
  const where = menus.map((menu) => `${menu.dataset.axis} ${menu.selectedOptions[0].text}`).join(", ");
  for (const table of document.querySelectorAll("table.metrics")) {
    table.classList.toggle("one", !every);
    table.querySelector(".setting").textContent = every || !where ? "" : `at ${where}`;
  }
  for (const chart of charts) {
    chart.ariaLabel = at === first ? told.get(chart)
      : `${element(`${chart.id}-title`).textContent}, at ${where}. The table has the numbers.`;
  }
  tell("at", at);
  tell("free", free);
  drawAll();
}

filters.hidden = false;
filters.addEventListener("submit", (event) => event.preventDefault());
filters.addEventListener("change", choose);
choose();
