"use strict";
// The Gantt chart: the page has the bars of whole runs, and draws those of a window on some servers.
const ganttOf = (facts) => {
  const MOST = 4000;
  const GAP = 0.5;
  const element = (id) => document.getElementById(id);
  const form = element("gantt-pick");
  const [servers, from, to] = ["servers", "from", "to"].map((name) => element(`gantt-${name}`));
  const said = element("gantt-said");
  const bars = new Map();
  const widths = facts.groups.flatMap(([count, gpus]) => Array(count).fill(gpus));
  const whole = facts.span / facts.unit;
  const start = facts.window.map((end) => end / facts.unit);
  const digits = (value) => String(Number(value.toPrecision(6)));
  let window = [...start];
  let shown = parsed(facts.servers);
  let changed = () => {};
  let revision = 0;

  // "0-7, 12" as numbers of servers; null if it is no such list.
  function parsed(text) {
    const found = new Set();
    for (const part of text.split(",")) {
      const match = part.trim().match(/^(\d{1,7})(?:\s*-\s*(\d{1,7}))?$/);
      const ends = match && [Number(match[1]), Number(match[2] ?? match[1])];
      if (!ends || ends[0] > ends[1] || ends[1] >= widths.length) return null;
      for (let server = ends[0]; server <= ends[1]; server += 1) found.add(server);
    }
    return found.size > facts.most ? null : [...found].sort((a, b) => a - b);
  }

  async function unpacked(rows) {
    const bytes = Uint8Array.from(atob(rows.packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    const n = rows.count;
    const column = (index, sums) => {
      const values = new Uint32Array(n);
      let last = 0;
      for (let i = 0, at = 4 * index * n; i < n; i += 1, at += 1) {
        const value = planes[at] | planes[at + n] << 8 | planes[at + 2 * n] << 16
          | planes[at + 3 * n] << 24;
        last = values[i] = sums ? last + value : value;
      }
      return values;
    };
    return [column(0, true), column(1), column(2), column(3), column(4), column(5, true), column(6)];
  }

  // Where the servers that are shown begin, from the top; and the ticks at their middles.
  function laid() {
    const bottoms = new Map();
    const ticks = [];
    let top = 0;
    for (const server of shown) {
      bottoms.set(server, top);
      ticks.push(top + widths[server] / 2);
      top += widths[server] + GAP;
    }
    return { bottoms, ticks, top: top - GAP };
  }

  function picked([begin, length, server, first, count, job, gpus], bottoms) {
    const tick = whole / facts.ticks;
    const [low, high] = window.map((end) => end / tick);
    const found = [];
    for (let i = 0; i < begin.length && begin[i] < high; i += 1) {
      if (begin[i] + length[i] > low && bottoms.has(server[i])) found.push(i);
    }
    const seen = (i) =>
      (Math.min(begin[i] + length[i], high) - Math.max(begin[i], low)) * count[i];
    const kept = found.length <= MOST ? found : [...found].sort((a, b) => seen(b) - seen(a))
      .slice(0, MOST);
    return {
      found: found.length, jobs: new Set(found.map((i) => job[i])).size, kept: kept.length,
      base: kept.map((i) => begin[i] * tick),
      x: kept.map((i) => length[i] * tick),
      y: kept.map((i) => bottoms.get(server[i]) + first[i] + count[i] / 2),
      width: kept.map((i) => count[i] * 0.94),
      customdata: kept.map((i) => [job[i], gpus[i]]),
      color: kept.map((i) => job[i] % facts.colours),
    };
  }

  function tell(rows, made) {
    const count = made.kept < made.found
      ? `the largest ${made.kept.toLocaleString("en")} of ${made.found.toLocaleString("en")} bars`
      : `${made.found.toLocaleString("en")} bars`;
    const rest = rows.left_out
      ? ` ${rows.left_out.toLocaleString("en")} bars of the least GPU time are not in this page.` : "";
    said.textContent = `${made.jobs.toLocaleString("en")} jobs, ${count}, on ${shown.length} of `
      + `${widths.length.toLocaleString("en")} servers from ${digits(window[0])} to `
      + `${digits(window[1])} ${facts.units}.${rest}`;
  }

  // Fill the figure for one policy; what is not unpacked yet is drawn later.
  function fill(figure, place) {
    const rows = facts.policies[place];
    const { bottoms, ticks, top } = laid();
    const layout = figure.layout;
    revision += 1;
    layout.xaxis.range = [...window];
    layout.xaxis.autorange = false;
    Object.assign(layout.yaxis, {
      tickvals: ticks, ticktext: shown.map((server) => `server ${server}`), range: [top + 0.3, -0.3],
    });
    layout.xaxis.uirevision = layout.yaxis.uirevision = revision;
    layout.height = Math.round(Math.min(900, Math.max(260, 110 + 3.2 * top)));
    from.value = digits(window[0]);
    to.value = digits(window[1]);
    const found = bars.get(place);
    if (!found) {
      if (typeof DecompressionStream === "undefined") {
        said.textContent = "The bars are packed, and this browser cannot unpack them.";
      } else {
        bars.set(place, null);
        unpacked(rows).then((columns) => { bars.set(place, columns); changed(); });
      }
      return;
    }
    const made = picked(found, bottoms);
    const { base, x, y, width, customdata, color } = made;
    Object.assign(figure.data[place], { base, x, y, width, customdata });
    figure.data[place].marker.color = color;
    tell(rows, made);
  }

  // Move within the run; a window that is longer than the run is the run.
  function go(begin, end) {
    const length = Math.min(Math.max(end - begin, whole / facts.ticks), whole);
    const low = Math.min(Math.max(0, begin), whole - length);
    window = [low, low + length];
    changed();
  }

  function page(step) {
    const size = Math.min(facts.most, shown.length || 1);
    const first = Math.min(Math.max(0, shown[0] + step * size), Math.max(0, widths.length - size));
    servers.value = `${first}-${Math.min(first + size, widths.length) - 1}`;
    apply();
  }

  function apply() {
    const list = parsed(servers.value);
    servers.setCustomValidity(list ? "" : `Up to ${facts.most} of the servers 0 to `
      + `${widths.length - 1}, such as 0-7, 12`);
    const ends = [from, to].map((input) => Number(input.value));
    const isTime = from.value !== "" && to.value !== "" && ends[0] < ends[1];
    to.setCustomValidity(isTime ? "" : "It must be later than the first");
    if (!form.reportValidity()) return;
    shown = list;
    if (ends.every((end, index) => input_is_same(end, window[index]))) changed();
    else go(...ends);
  }
  const input_is_same = (end, value) => digits(end) === digits(value);

  const moves = {
    earlier: ([low, high]) => [low - (high - low) / 2, high - (high - low) / 2],
    later: ([low, high]) => [low + (high - low) / 2, high + (high - low) / 2],
    in: ([low, high]) => [low + (high - low) / 4, high - (high - low) / 4],
    out: ([low, high]) => [low - (high - low) / 2, high + (high - low) / 2],
    all: () => [0, whole],
    reset: () => start,
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
  form.addEventListener("change", apply);
  form.addEventListener("click", (event) => {
    const { move, page: step } = event.target.dataset;
    if (move) go(...moves[move](window));
    if (step) page(Number(step));
  });
  return {
    fill,
    onChange: (action) => { changed = action; },
    // What a drag or a key did to the axis.
    moved: (range) => {
      const ends = range.map(Number);
      if (!ends.every((end, index) => input_is_same(end, window[index]))) go(...ends);
    },
    reset: () => go(...start),
  };
};
