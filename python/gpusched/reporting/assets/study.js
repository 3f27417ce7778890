// The filters of a study: they choose among the cells that the page carries, and nothing is
// computed anew. A cell is a policy at a setting: one value for each axis.
(() => {
"use strict";
const element = (id) => document.getElementById(id);
const study = JSON.parse(element("study").textContent);
const { axes, policies, metrics, cells, base, ticks } = study;
const [TYPICAL, LOW, HIGH, CHANGE, CHANGE_LOW, CHANGE_HIGH,
  MEAN, WORST, BETTER, PAIRS, P, IS_AHEAD] = Array(12).keys();
const COLUMNS = { typical: [TYPICAL, LOW, HIGH], change: [CHANGE, CHANGE_LOW, CHANGE_HIGH] };
const SYMBOLS = ["circle", "diamond", "square", "x"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const rows = new Map(cells.map((cell, row) => [key(cell.at, cell.policy), row]));

function key(at, policy) { return `${at.join()}|${policy}`; }

// What the filters say.
const picked = (id) => element(id) ? Number(element(id).value) : 0;
const setting = () => axes.map((_, axis) => picked(`axis-${axis}`));
const along = () => picked("along");
const show = () => element("show") ? element("show").value : "typical";
const isShown = (policy) => element(`policy-${policy}`).checked;
const shownPolicies = () => policies.map((_, policy) => policy).filter(isShown);
const moved = (at, axis, value) => at.map((old, other) => other === axis ? value : old);
const isEverything = () => element("every") ? element("every").checked : false;

function spanOf(metric, row, what) {
  const columns = metrics[metric].values;
  return COLUMNS[what].map((column) => columns[column][row]);
}

// Numbers as a person reads them.
const TIMES = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"]];
function unitOf(kind, values) {
  if (kind === "percent") return [0.01, "%"];
  if (kind !== "time") return [1, ""];
  const positive = values.filter((v) => v > 0).sort((a, b) => a - b);
  const middle = positive.length ? positive[Math.floor(positive.length / 2)] : 1;
  return TIMES.find(([one, name]) => middle >= one * (name === "d" ? 2 : 1)) || TIMES.at(-1);
}
function plain(value, digits) {
  const size = Math.abs(value);
  return value.toLocaleString("en-US", size >= 10 ** (digits - 1)
    ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: digits });
}
const isRatio = (metric) => metrics[metric].scale === "ratio";
function text(metric, value, what = "typical") {
  if (value === null || value === undefined) return "-";
  if (what === "change" && isRatio(metric)) return value < 999.5 ? value.toPrecision(3) : plain(value, 3);
  const { kind } = metrics[metric];
  if (kind === "percent") return `${(100 * value).toFixed(1)}%`;
  if (kind !== "time") return plain(value, 4);
  if (value === 0) return "0 s";
  const [one, unit] = unitOf(kind, [Math.abs(value)]);
  const size = Math.abs(value / one);
  const fixed = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return `${(value / one).toLocaleString("en-US",
    { minimumFractionDigits: fixed, maximumFractionDigits: fixed })} ${unit}`;
}
const named = (axis, value) =>
  axes[axis].isNumber ? `${axes[axis].name} ${axes[axis].texts[value]}` : axes[axis].texts[value];
const others = (at, but) => at.map((value, axis) => [axis, value])
  .filter(([axis]) => axis !== but).map(([axis, value]) => named(axis, value)).join(", ");
const escaped = (name) => name.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
  .replaceAll(">", "&gt;");

// The parts of figures.
function axisOf(title, more = {}) {
  return { ...structuredClone(base.xaxis), title: { text: escaped(title), standoff: 8 }, ...more };
}
function layoutOf(x, y, more = {}) {
  return { ...structuredClone(base), xaxis: x, yaxis: y, uirevision: JSON.stringify([
    setting(), along(), show(), picked("metric"), picked("second"), shownPolicies()]), ...more };
}
const unseen = (title = "") => axisOf(title, { title: null, tickvals: [], ticks: "" });
function points(policy, x, y, more = {}) {
  const { place, label } = policies[policy];
  return {
    type: "scatter", mode: "markers", x, y, name: escaped(label), meta: { policy: place },
    marker: { size: 8, symbol: SYMBOLS[Math.floor(place / 7) % 4] },
    hovertemplate: `%{x:,.4~g}: %{y:,.4~g}<extra>${escaped(label)}</extra>`, ...more,
  };
}
function band(policy, x, y) {
  const { place, label } = policies[policy];
  return { type: "scatter", mode: "none", x, y, fill: "toself", hoverinfo: "skip",
    name: escaped(label), fillcolor: "", meta: { policy: place, alpha: "2e" } };
}
const reach = (middle, low, high) => ({
  type: "data", symmetric: false, thickness: 1.4, width: 4,
  array: middle.map((value, i) => high[i] === null ? 0 : Math.max(0, high[i] - value)),
  arrayminus: middle.map((value, i) => low[i] === null ? 0 : Math.max(0, value - low[i])),
});
const by = (one) => (value) => value === null ? null : value / one;
const titleOf = (metric, unit, what) => what === "change" && isRatio(metric)
  ? `${metrics[metric].label}, ratio to ${study.baseline}`
  : `${metrics[metric].label}${unit && ` (${unit})`}`
    + (what === "change" ? `: difference to ${study.baseline}` : "");
// Ratios, and what they are of, stand on a logarithmic axis.
const scaleOf = (metric) => isRatio(metric) ? { type: "log", tickformat: ",~g" } : {};
const upright = (x, dash) => ({ type: "line", xref: "x", x0: x, x1: x, yref: "paper", y0: 0, y1: 1,
  line: { width: 1.3, dash } });
const above = (label, y) => ({ text: escaped(cut(label)), xref: "paper", x: 0, xanchor: "left",
  yref: "y", y, yanchor: "bottom", showarrow: false, borderpad: 0, font: { size: 12 } });
const cut = (label, most = 44) => label.length > most ? `${label.slice(0, most - 1)}…` : label;
// Points stand at numbers: of two names that are cut to the same, neither covers the other.
const ticksOf = (names) => ({ tickvals: names.map((_, place) => place),
  ticktext: names.map((name) => escaped(cut(name, 24))) });

// A metric at all values of the axis along which pictures go: by policy its spans.
function series(metric, what) {
  const [at, axis] = [setting(), along()];
  const found = [];
  for (const policy of shownPolicies()) {
    if (what !== "typical" && policies[policy].name === study.baseline) continue;
    const there = axes[axis].texts.map((_, value) => [value, rows.get(key(moved(at, axis, value), policy))])
      .filter(([, row]) => row !== undefined)
      .map(([value, row]) => [value, ...spanOf(metric, row, what)])
      .filter(([, middle]) => middle !== null);
    if (there.length) found.push({ policy, there });
  }
  const sizes = found.flatMap(({ there }) => there.map(([, middle]) => Math.abs(middle)));
  const [one, unit] = what === "change" && isRatio(metric) ? [1, ""]
    : unitOf(metrics[metric].kind, sizes);
  return { found, one, unit };
}

const pictures = {
  lines() {
    const [metric, what, axis] = [picked("metric"), show(), axes[along()]];
    const { found, one, unit } = series(metric, what);
    const data = [];
    found.forEach(({ policy, there }, index) => {
      const column = (place) => there.map((span) => span[place]).map(by(one));
      const [middle, low, high] = [column(1), column(2), column(3)];
      if (axis.isNumber) {
        const x = there.map(([value]) => axis.values[value]);
        const known = there.map((_, i) => i).filter((i) => low[i] !== null && high[i] !== null);
        const [ends, back] = [known.map((i) => x[i]), [...known].reverse()];
        data.push(band(policy, [...ends, ...back.map((i) => x[i])],
          [...known.map((i) => low[i]), ...back.map((i) => high[i])]));
        const dash = DASHES[Math.floor(policies[policy].place / 7) % 4];
        data.push(points(policy, x, middle, { mode: "lines+markers", line: { dash, width: 1.8 } }));
      } else {
        const offset = 0.6 * ((index + 0.5) / found.length - 0.5);
        data.push(points(policy, there.map(([value]) => value + offset), middle,
          { error_y: reach(middle, low, high), hovertemplate: `%{y:,.4~g}<extra>${escaped(policies[policy].label)}</extra>` }));
      }
    });
    const x = axis.isNumber ? axisOf(axis.name)
      : axisOf(axis.name, { ...ticksOf(axis.texts), range: [-0.5, axis.texts.length - 0.5] });
    const told = found.map(({ policy, there }) => {
      const [first, last] = [there[0], there.at(-1)]
        .map(([value, middle]) => `${text(metric, middle, what)} at ${named(along(), value)}`);
      return `${policies[policy].label}: ${there.length > 1 ? `${first}, ${last}` : first}`;
    });
    return { data, told, title: `${metrics[metric].label} by ${axis.name}`,
      layout: layoutOf(x, axisOf(titleOf(metric, unit, what), scaleOf(metric))) };
  },

  heat_map() {
    const [metric, what, axis] = [picked("metric"), show(), axes[along()]];
    const { found, one, unit } = series(metric, what);
    const fields = found.map(({ there }) => {
      const own = new Map(there.map(([value, middle]) => [value, middle]));
      return axis.texts.map((_, value) => own.has(value) ? own.get(value) : null);
    });
    const z = fields.map((row) => row.map(by(one)));
    const known = z.flat().filter((value) => value !== null);
    let [zmin, zmax] = [Math.min(...known), Math.max(...known)];
    if (what === "change") {
      const middle = isRatio(metric) ? 1 : 0;
      const most = Math.max(Math.abs(zmin - middle), Math.abs(zmax - middle), 1e-9);
      [zmin, zmax] = [middle - most, middle + most];
    }
    if (!(zmax > zmin)) zmax = zmin + 1;
    const names = found.map(({ policy }) => policies[policy].label);
    const shown = fields.map((row) => row.map((value) => text(metric, value, what)));
    const data = [{
      type: "heatmap", z, text: shown, texttemplate: "%{text}", zmin, zmax,
      hovertext: names.map((name, row) => axis.texts.map((value, i) =>
        escaped(`${name}, ${value}: ${shown[row][i]}`))),
      hovertemplate: "%{hovertext}<extra></extra>",
      xgap: 1, ygap: 1, colorbar: { thickness: 10, outlinewidth: 0 },
      meta: { scale: what === "typical" ? "share" : "ratio" },
    }];
    const told = names.map((name, row) =>
      `${name}: ${shown[row].map((value, i) => `${value} at ${axis.texts[i]}`).join(", ")}`);
    return { data, told, title: titleOf(metric, unit, what),
      layout: layoutOf(axisOf(axis.name, { ...ticksOf(axis.texts), showgrid: false }),
        axisOf("", { title: null, ...ticksOf(names), showgrid: false,
          range: [names.length - 0.5, -0.5] }),
        { height: 150 + 36 * Math.max(2, names.length) }) };
  },

  forest_plot() {
    const metric = picked("metric");
    const found = [];
    const [at, axis] = [setting(), along()];
    const values = axes.length ? axes[axis].texts.map((_, value) => value) : [null];
    for (const value of values) {
      for (const policy of shownPolicies()) {
        if (policies[policy].name === study.baseline) continue;
        const row = rows.get(key(value === null ? at : moved(at, axis, value), policy));
        if (row === undefined) continue;
        const span = spanOf(metric, row, "change");
        if (span[0] === null) continue;
        const where = value === null ? "" : `, ${named(axis, value)}`;
        found.push({ policy, span, name: `${policies[policy].label}${where}` });
      }
    }
    const shown = found.slice(0, 60);
    const [one, unit] = isRatio(metric) ? [1, ""]
      : unitOf(metrics[metric].kind, shown.map(({ span }) => Math.abs(span[0])));
    const data = shown.map(({ policy, span }, row) => {
      const [middle, low, high] = span.map(by(one)).map((value) => [value]);
      return points(policy, middle, [row], { error_x: reach(middle, low, high),
        hovertemplate: `${span.map((value) => text(metric, value, "change")).join(" · ")}<extra>${escaped(policies[policy].label)}</extra>` });
    });
    const told = shown.map(({ name, span: [middle, low, high] }) =>
      `${name}: ${text(metric, middle, "change")}, from ${text(metric, low, "change")} to ${text(metric, high, "change")}`);
    return { data, told, title: `${metrics[metric].label}: ${metrics[metric].scale} to ${study.baseline}`,
      layout: layoutOf(axisOf(titleOf(metric, unit, "change"), scaleOf(metric)),
        { ...unseen(), tickvals: shown.map((_, row) => row), showticklabels: false,
          range: [shown.length - 0.6, -0.75] },
        { height: 120 + 38 * Math.max(2, shown.length),
          annotations: shown.map(({ name }, row) => above(name, row - 0.16)),
          shapes: [upright(isRatio(metric) ? 1 : 0, "dash")] }) };
  },

  pareto() {
    const [one, two] = [picked("metric"), picked("second")];
    const found = shownPolicies().map((policy) => [policy, rows.get(key(setting(), policy))])
      .filter(([, row]) => row !== undefined)
      .map(([policy, row]) => ({ policy, x: spanOf(one, row, "typical"), y: spanOf(two, row, "typical") }))
      .filter(({ x, y }) => x[0] !== null && y[0] !== null);
    const [xOne, xUnit] = unitOf(metrics[one].kind, found.map(({ x }) => x[0]));
    const [yOne, yUnit] = unitOf(metrics[two].kind, found.map(({ y }) => y[0]));
    const cost = (metric, value) => metrics[metric].better === "higher" ? -value : value;
    const costs = found.map(({ x, y }) => [cost(one, x[0]), cost(two, y[0])]);
    const front = found.filter((_, i) => !costs.some(([a, b]) =>
      a <= costs[i][0] && b <= costs[i][1] && (a !== costs[i][0] || b !== costs[i][1])))
      .sort((a, b) => a.x[0] - b.x[0]);
    const data = [{ type: "scatter", mode: "lines", hoverinfo: "skip", name: "front",
      x: front.map(({ x }) => x[0] / xOne), y: front.map(({ y }) => y[0] / yOne),
      line: { width: 1.3, dash: "dash", color: "#9aa3ad" } }];
    for (const { policy, x, y } of found) {
      const [middle, low, high] = x.map(by(xOne)).map((value) => [value]);
      const [upper, least, most] = y.map(by(yOne)).map((value) => [value]);
      data.push(points(policy, middle, upper,
        { error_x: reach(middle, low, high), error_y: reach(upper, least, most) }));
    }
    const told = found.map((point) =>
      `${policies[point.policy].label}: ${metrics[one].label} ${text(one, point.x[0])}, `
      + `${metrics[two].label} ${text(two, point.y[0])}${front.includes(point) ? ", on the front" : ""}`);
    return { data, told, title: `${metrics[two].label} against ${metrics[one].label}`,
      layout: layoutOf(axisOf(titleOf(one, xUnit, "typical")), axisOf(titleOf(two, yUnit, "typical"))) };
  },

  cdf_over_seeds() {
    const quantity = study.quantiles[picked("quantity")];
    const [data, told, every] = [[], [], []];
    for (const policy of shownPolicies()) {
      const row = rows.get(key(setting(), policy));
      if (row === undefined) continue;
      const spans = quantity.metrics.map((metric) => spanOf(metric, row, "typical"));
      if (spans.some(([middle]) => middle === null)) continue;
      const shown = (place) => spans.map((span) =>
        Math.max(quantity.least, span[place] === null ? span[0] : span[place]));
      const [middle, low, high] = [shown(0), shown(1), shown(2)];
      every.push(...middle);
      data.push(band(policy, [...low, ...[...high].reverse()],
        [...quantity.shares, ...[...quantity.shares].reverse()]));
      data.push(points(policy, middle, quantity.shares, { mode: "lines+markers",
        line: { dash: DASHES[Math.floor(policies[policy].place / 7) % 4], width: 1.8 },
        text: middle.map((value) => text(quantity.metrics[0], value)),
        hovertemplate: `%{y:.0%} within %{text}<extra>${escaped(policies[policy].label)}</extra>` }));
      told.push(`${policies[policy].label}: `
        + quantity.shares.map((share, i) => `${100 * share} % within ${text(quantity.metrics[0], middle[i])}`).join(", "));
    }
    const ends = [Math.log10(Math.min(...every) / 1.2), Math.log10(Math.max(...every) * 1.2)];
    return { data, told, title: `${quantity.label}: share of the jobs`,
      layout: layoutOf(axisOf(`${quantity.label} (log scale)`, { type: "log",
        tickvals: ticks.map(([at]) => at), ticktext: ticks.map(([, name]) => name),
        ...(every.length ? { range: ends } : {}) }),
      axisOf("share of the jobs", { tickformat: ".0%", range: [0, 1.02] })) };
  },

  sensitivity() {
    const [metric, policy, at] = [picked("metric"), picked("swung"), setting()];
    const valueAt = (where) => {
      const row = rows.get(key(where, policy));
      return row === undefined ? null : spanOf(metric, row, "typical")[0];
    };
    const middle = valueAt(at);
    const swings = middle === null ? [] : axes.map((axis, index) => {
      const known = axis.texts.map((name, value) => [valueAt(moved(at, index, value)), name])
        .filter(([value]) => value !== null).sort(([a], [b]) => a - b);
      return { name: axis.name, low: known[0], high: known.at(-1) };
    }).sort((a, b) => (b.high[0] - b.low[0]) - (a.high[0] - a.low[0]));
    const [one, unit] = unitOf(metrics[metric].kind, [Math.abs(middle)]);
    const data = [];
    const told = swings.map(({ name, low, high }) =>
      `${name}: ${[low, high].map(([value, where]) => `${text(metric, value)} (${where})`).join(" to ")}`);
    swings.forEach(({ low, high }, row) => {
      for (const [begin, end, side] of [[low[0], Math.min(high[0], middle), 0],
        [Math.max(low[0], middle), high[0], 2]]) {
        if (end <= begin) continue;
        data.push({ type: "bar", orientation: "h", base: begin / one, x: [(end - begin) / one],
          y: [row], width: 0.5, marker: {}, meta: { ratio: side },
          hovertemplate: `${escaped(told[row])}<extra></extra>` });
      }
    });
    return { data, told, title: `${metrics[metric].label}: how far each axis moves it`,
      layout: layoutOf(axisOf(titleOf(metric, unit, "typical")),
        { ...unseen(), range: [swings.length - 0.5, -0.85], showgrid: false },
        { barmode: "overlay", height: 120 + 62 * Math.max(2, swings.length),
          annotations: told.map((label, row) => above(label, row - 0.27)),
          shapes: [upright(middle === null ? 0 : middle / one, "solid")] }) };
  },
};

// One figure, with its heading, its setting and its words. The page draws it.
globalThis.studyFigure = (name) => {
  const { data, layout, title, told } = pictures[name]();
  const chart = element(name);
  const isAlong = ["lines", "heat_map", "forest_plot"].includes(name);
  element(`${name}-title`).textContent = title;
  element(`${name}-setting`).textContent = others(setting(), isAlong ? along() : -1);
  chart.setAttribute("aria-label",
    [`${title}.`, ...told.map((line) => `${line}.`)].join(" ") || "nothing is chosen");
  chart.style.minHeight = `${layout.height}px`;
  const own = ["lines", "pareto", "cdf_over_seeds"].includes(name) ? shownPolicies() : [];
  element(`${name}-legend`).replaceChildren(...own.map(swatch));
  return { data, layout };
};
function swatch(policy) {
  const { place, label } = policies[policy];
  const [made, line] = [document.createElement("span"), document.createElement("i")];
  line.className = DASHES[Math.floor(place / 7) % 4];
  line.style.setProperty("--c", `var(--policy-${place % 7})`);
  made.append(line, label);
  return made;
}

// The table: a row for each policy that is shown, at each setting that is.
const cell = (content, value) => {
  const made = document.createElement("td");
  made.textContent = content;
  if (typeof value === "number") made.dataset.value = value;
  return made;
};
function fillTable() {
  const [metric, at, axis] = [picked("metric"), setting(), along()];
  const body = element("metrics").tBodies[0];
  const shown = cells.map((_, row) => row).filter((row) => isShown(cells[row].policy)
    && (isEverything() || cells[row].at.every((value, other) => other === axis || value === at[other])));
  const made = shown.slice(0, study.mostRows).map((row) => {
    const { policy, at: where, num } = cells[row];
    const line = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = policies[policy].label;
    const [typical, low, high] = spanOf(metric, row, "typical");
    const [change, least, most] = spanOf(metric, row, "change");
    const [mean, worst, better, pairs, p, isAhead] = [MEAN, WORST, BETTER, PAIRS, P, IS_AHEAD]
      .map((column) => metrics[metric].values[column][row]);
    const first = cell(text(metric, typical), typical);
    if (isAhead) first.className = "best";
    const isBase = policies[policy].name === study.baseline;
    const between = (a, b, what) => a === null || b === null ? "-"
      : `${text(metric, a, what)} to ${text(metric, b, what)}`;
    line.append(head,
      ...where.map((value, other) => cell(axes[other].texts[value],
        axes[other].isNumber ? axes[other].values[value] : value)),
      cell(num, num), first, cell(between(low, high, "typical"), low),
      cell(text(metric, mean), mean), cell(text(metric, worst), worst),
      cell(isBase ? "baseline" : text(metric, change, "change"), change),
      cell(isBase ? "" : between(least, most, "change"), least),
      cell(isBase || better === null ? "" : `${better}/${pairs}`, isBase ? null : better),
      cell(isBase || p === null ? "" : p < 0.001 ? "<0.001" : p.toFixed(3), isBase ? null : p),
      cell(cells[row].mark || ""));
    return line;
  });
  body.replaceChildren(...made);
  for (const head of element("metrics").querySelectorAll("thead th")) head.ariaSort = "none";
  element("metric-name").textContent = metrics[metric].label;
  element("shown-rows").textContent = `${metrics[metric].label}: ${made.length.toLocaleString("en-US")} of `
    + `${cells.length.toLocaleString("en-US")} rows`
    + (made.length < shown.length ? `; ${(shown.length - made.length).toLocaleString("en-US")} more match` : "");
}

element("filters").hidden = false;
element("filters").addEventListener("submit", (event) => event.preventDefault());
for (const control of document.querySelectorAll("#filters select, #filters input, .choice select")) {
  control.addEventListener("change", () => {
    fillTable();
    dispatchEvent(new Event("figures"));
  });
}
fillTable();
})();
