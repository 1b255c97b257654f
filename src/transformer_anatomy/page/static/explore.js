/* Mounts every <figure class="explore"> of a page, which brings its frames along. A classic script, since modules do
   not load from disk; JupyterLab gets it as a module, with live.js at its end. */
var anatomyExplore = (function () {
const builder = make => (tag, attributes, ...kids) => {
  const element = make(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...kids);
  return element;
};
const h = builder(tag => document.createElement(tag));
const s = builder(tag => document.createElementNS("http://www.w3.org/2000/svg", tag));
const text = (x, y, words, cls, style = "") => s("text", { x, y, class: cls, style }, words);
const turned = (x, y, words, cls) => text(0, 0, words, cls, `transform:translate(${x}px,${y}px)rotate(-90deg)`);
const path = (cls, d, style = "") => s("path", { class: cls, d, style });
const rect = (cls, x, y, width, height) => s("rect", { class: cls, x, y, width, height });
const dot = ([cx, cy], style = "") => s("circle", { class: "dot", cx, cy, r: 4.5, style });
const join = points => "M" + points.join("L");
const range = n => [...Array(n).keys()];
const clamp = (v, lo, hi) => Math.min(hi, Math.max(lo, v));

// Numbers with a true minus
const number = (v, places) =>
  (places > 5 ? v.toExponential(1) : v.toFixed(places)).replace(/^-(?=[0.]+$)/, "").replaceAll("-", "−");
const setting = v => number(v, !v || Math.abs(v) >= .1 ? 2 : 1 - Math.floor(Math.log10(Math.abs(v))));

// Text is measured in the reader's font; labels that would touch are left out, never the chosen one
const pen = document.createElement("canvas").getContext("2d");
const width = words => pen.measureText(words).width;
const widest = list => Math.max(0, ...list.map(width));
const cut = (words, most) =>
  width(words) <= most ? words : words.slice(0, Math.max(1, words.length * most / width(words) - 1)) + "…";
function isShown(i, pixels, chosen) {
  const every = pixels < 12 ? Math.ceil(24 / pixels) : 1;
  return i === chosen || (i % every === 0 && Math.abs(i - chosen) >= every);
}
// How many panels stand in a line: all if they fit, else evenly on several lines
function perLine(count, fit, least) {
  const most = range(count).map(i => count - i).find(k => k === 1 || fit(k) >= least);
  return Math.ceil(count / Math.ceil(count / most));
}

// Colours are the tokens of the style sheet, in the theme that is on
const WEIGHTS = ["w0", "w1", "w2", "w3", "w4"];
const SIGNED = ["n4", "n3", "n2", "n1", ...WEIGHTS];
function colourScale(root, tokens) {
  const probe = root.appendChild(h("i", {})), style = getComputedStyle(probe);
  const stops = tokens.map(token => {
    probe.style.color = `var(--${token})`;
    return style.color.match(/[\d.]+/g).map(Number);
  });
  probe.remove();
  return t => {
    const x = clamp(t, 0, 1) * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(x));
    return [0, 1, 2].map(c => Math.round(stops[k][c] + (stops[k + 1][c] - stops[k][c]) * (x - k)));
  };
}
function inkOn(colour) {
  const luminance = colour.reduce((sum, v, i) => sum + [.2126, .7152, .0722][i] * ((v / 255 + .055) / 1.055) ** 2.4, 0);
  return luminance > .179 ? "#000" : "#fff";
}

// Frame i: { values: { entry: numbers }, labels: { rows, columns or x }, readout }
const mapValues = (object, f) => Object.fromEntries(Object.entries(object).map(([key, value]) => [key, f(value)]));
const ARRAYS = { u1: Uint8Array, u2: Uint16Array, f4: Float32Array };
function readFrame({ entries, labels, readouts }, i) {
  const pick = ({ items, places }) => items[places ? places[i] : 0];
  const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer;
  const values = mapValues(entries, ({ dtype, lo, step, data }) => Array.from(new ARRAYS[dtype](bytes(pick(data))), v => lo + step * v));
  return { values, labels: mapValues(labels, pick), readout: pick(readouts) };
}

function heatmap({ spec, root, picture, svg, redraw }) {
  const { maps, strip, level, heads, row_class, column_class, colors, places, range: [lo, hi] } = spec;
  const markers = maps.map(() => h("b", {}));
  const canvases = maps.map(() => h("canvas", { pointerdown: point, pointermove: event => event.buttons && point(event) }));
  picture.append(h("div", { class: "map", tabindex: 0, role: "application", "aria-label": spec.hint, keydown: step }, ...canvases, svg));
  root.querySelector(".bar i").replaceChildren(...markers);
  let [row, column] = spec.chosen, rows, columns, cell;

  function choose(i, j) {
    row = clamp(i, 0, rows - 1);
    column = clamp(j, 0, columns - 1);
    redraw();
  }
  function point(event) {
    choose(Math.floor(event.offsetY / cell), Math.floor(event.offsetX / cell));
  }
  function step(event) {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    choose(row + move[0], column + move[1]);
  }
  function draw({ values, labels }, W) {
    rows = labels.rows.length;
    columns = labels.columns.length;
    row = Math.min(row, rows - 1);
    column = Math.min(column, columns - 1);
    const gap = 20, side = !strip ? 0 : W > 560 ? 200 : 56;
    const left = Math.ceil(Math.min(.34 * W, widest([...labels.rows, ...heads])) + 8);
    const fit = k => (W - left - side - (k - 1) * gap) / (k * columns), per = perLine(maps.length, fit, 12);
    cell = Math.min(46, fit(per));
    if (cell >= 8) cell = Math.floor(cell);  // hairlines on whole pixels
    const tall = rows * cell, broad = columns * cell, long = widest(labels.columns), turn = long > cell - 2;
    const above = turn ? Math.max(42, Math.min(long, 110) + (maps[1] ? 36 : 14)) : 42, line = above + tall + 16;
    const colour = colourScale(root, colors === "signed" ? SIGNED : WEIGHTS), share = v => (v - lo) / (hi - lo), drawn = [];
    maps.forEach((name, k) => {
      const x = left + (k % per) * (broad + gap), y = Math.floor(k / per) * line + above, data = values[name], canvas = canvases[k];
      const image = new ImageData(columns, rows), edges = n => range(n + 1).filter(i => cell >= 11 || i % n === 0).map(i => i * cell);
      data.forEach((v, i) => image.data.set([...colour(share(v)), 255], 4 * i));
      Object.assign(canvas, { width: columns, height: rows }).getContext("2d").putImageData(image, 0, 0);
      canvas.style.cssText = `left:${x}px;top:${y}px;width:${broad}px;height:${tall}px`;
      const lines = [...edges(rows).map(v => `M${x},${y + v}h${broad}`), ...edges(columns).map(v => `M${x + v},${y}v${tall}`)];
      drawn.push(path("hair", lines.join("")));
      if (maps[1]) drawn.push(text(x, y - above + 14, name, "head"));
      if (x === left) {
        drawn.push(text(0, y - 24, heads[0], column_class), text(0, y - 8, heads[1], row_class));
        labels.rows.forEach((words, i) => {
          const cls = i === row ? `name end on ${row_class}` : "name end quiet";
          if (isShown(i, cell, row)) drawn.push(text(x - 8, y + (i + .5) * cell + 4.5, cut(words, left - 8), cls));
        });
      }
      labels.columns.forEach((words, j) => {
        const middle = x + (j + .5) * cell, cls = j === column ? `name on ${column_class}` : "name quiet";
        if (!isShown(j, cell, column)) return;
        drawn.push(turn ? turned(middle + 4.5, y - 8, cut(words, 110), cls) : text(middle, y - 8, words, `mid ${cls}`));
      });
      for (const i of rows * columns <= 25 ? range(rows) : [row]) {
        const cells = data.slice(i * columns, (i + 1) * columns), printed = cells.map(v => number(v, places).replace(/\b0\./, "."));
        if (widest(printed) < cell - 4) cells.forEach((v, j) => drawn.push(
          text(x + (j + .5) * cell, y + (i + .5) * cell + 4, printed[j], "mid", `fill:${inkOn(colour(share(v)))}`)));
      }
      drawn.push(...["around", "chosen"].map(cls => rect(cls, x + column * cell, y + row * cell, cell, cell)));
      markers[k].style.left = `${100 * clamp(share(data[row * columns + column]), 0, 1)}%`;
    });
    if (strip) drawn.push(...beside(values, left + per * (broad + gap) + 4, above, tall, W));
    svg.setAttribute("height", Math.ceil(maps.length / per) * line - 14);
    svg.replaceChildren(...drawn);
  }
  // The strip: dots where there is room, else only numbers
  function beside(values, a, y, tall, W) {
    const dots = W > 560, end = Math.min(W, a + (dots ? 290 : 32)), b = end - 44;
    const at = v => a + (b - a) * clamp(v / spec.strip_top, 0, 1), say = v => number(v, spec.strip_places);
    const drawn = [dots ? text(a, y - 8, strip, "quiet") : text(end, y - 8, strip.split(",")[0], "end quiet")];
    if (dots && level) {
      const [base] = values[level], right = Math.max(at(base), a + width(strip) + width(level) + 8);
      drawn.push(path("baseline", `M${at(base)},${y}v${tall}`), text(right, y - 8, level, "end quiet"),
        text(end, y - 8, say(base), "end quiet"));
    }
    values[strip].forEach((v, i) => {
      const middle = y + (i + .5) * cell;
      if (dots) drawn.push(path("hair", `M${a},${middle}H${b}`), dot([at(v), middle], "stroke:none"));
      if (isShown(i, cell, row)) drawn.push(text(end, middle + 4, say(v), i === row ? "end on" : "end quiet"));
    });
    return drawn;
  }
  function sentence({ values, labels }) {
    const say = (words, noun) => isNaN(words) ? `“${words}”` : `${noun} ${words}`;
    const from = say(labels.rows[row], spec.row_noun), to = say(labels.columns[column], spec.column_noun);
    const cells = maps.map(name => number(values[name][row * columns + column], places) + (maps[1] ? ` (${name})` : "")).join(", ");
    const said = spec.gives ? `${from} gives ${cells} to ${to}.` : `${from}, ${to}: ${cells}.`;
    return said[0].toUpperCase() + said.slice(1);
  }
  return { draw, sentence };
}

// Names at the ends of lines, { y, words, cls, style }, pushed apart where they would touch, with a short leader
function endNames(ends, x, anchor, lowest) {
  ends.sort((a, b) => a.y - b.y);
  ends.forEach((end, i) => { end.at = Math.max(end.y + 4, i ? ends[i - 1].at + 15 : 12); });
  ends.reduceRight((limit, end) => (end.at = Math.min(end.at, limit)) - 15, lowest);
  const leader = end => path("leader", anchor ? "" : `M${x - 9},${end.y}L${x - 3},${end.at - 4}`, end.style);
  return ends.flatMap(end => [leader(end), text(x, end.at, end.words, `halo ${anchor} ${end.cls}`, end.style)]);
}

function lines({ spec, svg }) {
  const { curves, baselines, points, x_label, y_label, x_ticks, y_ticks, log, tokens, range: [lo, hi] } = spec;
  const top = y_label ? 26 : 12, bottom = top + 200, say = v => number(v, spec.places);
  const place = v => log ? Math.log(v) : v, [first, last] = spec.domain.map(place);
  const y = v => bottom - 200 * (v - lo) / (hi - lo), inside = v => clamp(y(v), top, bottom);
  function draw({ values, labels }, W) {
    const n = labels.x.length, words = typeof labels.x[0] === "string", over = [], plot = [];
    const middle = name => values[name].length > n ? values[name].slice(n, 2 * n) : values[name];
    const ends = [...curves, ...baselines].map(name => {
      const v = middle(name).at(-1), colour = tokens[name];
      const style = colour && `--color:var(--${colour});fill:var(--${colour}-text,var(--ink))`;
      return { v, words: `${name} ${say(v)}`.trim(), cls: colour ? "" : "quiet", style };
    });
    const room = widest(ends.map(end => end.words)) + 14, yRoom = widest(y_ticks.map(([, t]) => t));
    const narrow = W - room - yRoom < (ends[2] ? 180 : 260), xTicks = words ? labels.x.map((t, i) => [i, t]) : x_ticks;
    const a = yRoom + 40, b = W - (narrow ? width(xTicks.at(-1)[1]) / 2 + 4 : room);
    const x = v => a + (b - a) * (place(v) - first) / (last - first || 1);
    const at = list => list.map((v, i) => [x(words ? i : labels.x[i]), y(v)]);
    for (const name of baselines) {
      plot.push(path("baseline", values[name].length > 1 ? join(at(values[name])) : `M${a},${y(values[name][0])}H${b}`));
    }
    for (const name of curves) {
      const style = `--color:var(--${tokens[name]})`, curve = middle(name), places = at(curve), all = values[name];
      if (all.length > n) plot.push(path("band", join([...at(all.slice(2 * n)), ...at(all.slice(0, n)).reverse()]), style));
      plot.push(path("curve", join(places), style));
      if (n <= 12) plot.push(...places.map(place => dot(place, style)));
      if (n <= 8 && !curves[1]) curve.slice(0, -1).forEach((v, i) => {  // on the side that the curve turns away from
        const peak = (curve[i - 1] ?? curve[1]) + curve[i + 1] < 2 * v;
        over.push(text(places[i][0], places[i][1] + (peak ? -10 : 20), say(v), "mid halo"));
      });
    }
    for (const name of points) {
      const [u, v] = values[name], said = `${name} ${say(v)}`, half = width(said) / 2;
      over.push(dot([x(u), inside(v)]), text(clamp(x(u), a + half, b - half), inside(v) - 10, said, "mid halo"));
    }
    for (const end of ends) end.y = inside(end.v) - (narrow ? 10 : 0);
    let free = 0;
    const fitting = xTicks.map(([v, t]) => [x(v), t]).filter(([x, t]) => x - width(t) / 2 > free && (free = x + width(t) / 2 + 6));
    const box = { x: a - 8, y: top - 6, width: b - a + 16, height: 212 };
    svg.setAttribute("height", bottom + (x_label ? 46 : 28));
    svg.replaceChildren(
      text(0, 10, y_label, "quiet"), text(b, bottom + 42, x_label, "end quiet"),
      ...y_ticks.flatMap(([v, t]) => [text(yRoom, y(v) + 4, t, "end quiet"), path("tick", `M${yRoom + 6},${y(v)}h6`)]),
      ...fitting.flatMap(([x, t]) => [text(x, bottom + 24, t, "mid quiet"), path("tick", words ? "" : `M${x},${bottom + 4}v6`)]),
      s("svg", { class: "plot", viewBox: Object.values(box).join(" "), ...box }, ...plot),
      ...over, ...endNames(ends, narrow ? b : b + 12, narrow ? "end" : "", bottom + 10));
  }
  return { draw };
}

function bars({ spec, svg }) {
  const { groups, baselines, y_label, range: [lo, hi] } = spec, say = v => number(v, spec.places);
  const gap = 24, top = 18 + (y_label ? 20 : 0) + (groups[1] ? 22 : 0);
  function draw({ values, labels: { columns } }, W) {
    const ends = baselines.map(name => ({ v: values[name][0], words: `${name} ${say(values[name][0])}`, cls: "quiet" }));
    const room = widest(ends.map(end => end.words)) + 14, fit = k => (W - room - gap * (k - 1)) / (k * columns.length);
    const per = perLine(groups.length, fit, 24), slot = Math.min(64, fit(per)), broad = columns.length * slot;
    const long = widest(columns), turn = long > slot - 4, line = top + 160 + (turn ? long + 16 : 26);
    const drawn = [text(0, 10, y_label, "quiet")], over = [];
    groups.forEach((name, k) => {
      const x = (k % per) * (broad + gap), start = Math.floor(k / per) * line + top, data = values[name];
      const y = v => start + 160 * (hi - clamp(v, lo, hi)) / (hi - lo), all = widest(data.map(say)) < slot - 2, most = Math.max(...data);
      if (groups[1]) drawn.push(text(x, start - 24, name, "head"));
      data.forEach((v, i) => {
        const middle = x + (i + .5) * slot;
        drawn.push(rect("column", middle - .31 * slot, Math.min(y(0), y(v)), .62 * slot, Math.abs(y(v) - y(0))));
        if (all || v === most) over.push(text(middle, y(v) + (v < 0 ? 15 : -5), say(v), "mid halo"));
        if (!isShown(i, slot, -1)) return;
        drawn.push(turn ? turned(middle + 4, start + 168, columns[i], "end quiet") : text(middle, start + 178, columns[i], "mid quiet"));
      });
      for (const end of ends) drawn.push(path("baseline", `M${x},${end.y = y(end.v)}h${broad}`));
      drawn.push(path("tick", `M${x},${y(0)}h${broad}`));
      if (k % per === per - 1 || !groups[k + 1]) over.push(...endNames(ends, x + broad + 8, "", start + 160));
    });
    svg.setAttribute("height", Math.ceil(groups.length / per) * line);
    svg.replaceChildren(...drawn, ...over);
  }
  return { draw };
}

function dataTable(spec, { values, labels }) {
  const names = labels.rows || labels.x || labels.columns, n = (labels.columns || names).length;
  const columns = Object.entries(values).flatMap(([name, data]) => {
    const { mark } = spec.entries[name];
    if (mark === "map") return labels.columns.map((head, j) => [spec.maps[1] ? `${name}: ${head}` : head, i => data[i * n + j]]);
    if (mark === "band") return ["lower", name, "upper"].map((head, k) => [head, i => data[k * n + i]]);
    return mark === "level" || mark === "point" ? [] : [[name || "value", i => data[data.length > 1 ? i : 0]]];
  });
  const head = (scope, words) => h("th", { scope }, words);
  return h("table", {}, h("tr", {}, head("col", ""), ...columns.map(([words]) => head("col", words))), ...names.map((name, i) =>
    h("tr", {}, head("row", name), ...columns.map(([, at]) => h("td", {}, number(at(i), spec.places))))));
}

// A slider or menu sets c.value to one of c.stops: the stored settings or, with a kernel, finer ones
const nearest = (values, v) => values.reduce((best, u, i) => Math.abs(u - v) < Math.abs(values[best] - v) ? i : best, 0);
function wire(c, input, output, moved) {
  function tell() {
    if (c.menu) return;
    output.textContent = c.integer ? c.value : setting(c.value);
    input.setAttribute("aria-valuetext", output.textContent);
  }
  c.place = stops => {
    c.stops = stops;
    input.max = stops.length - 1;
    input.value = c.menu ? stops.indexOf(c.value) : nearest(stops, c.value);
    tell();
  };
  input.addEventListener("input", () => {
    c.value = c.stops[input.value];
    tell();
    moved();
  });
  c.value = c.values[c.start];
  c.place(c.values);
}

// A figure: controls, drawing, words. `connect` is what live.js adds to it.
const figures = new Set();
function mount(root, connect) {
  if (root.dataset.mounted) return;
  root.dataset.mounted = "yes";
  root.dataset.lmSuppressShortcuts = "true";  // JupyterLab leaves the arrow keys to the figure
  root.addEventListener("keydown", event => event.stopPropagation());
  const find = selector => root.querySelector(selector), spec = JSON.parse(find("script").textContent);
  const picture = find(".picture"), readout = find(".readout"), details = find("details");
  const svg = s("svg", { role: "img", "aria-label": spec.alt });
  picture.replaceChildren(svg);
  find(".state").textContent = spec.state;
  const drawing = { heatmap, lines, bars }[spec.kind]({ spec, root, picture, svg, redraw }), resized = new ResizeObserver(redraw);
  let frame, kernel;
  function redraw() {
    if (!picture.clientWidth) return;
    pen.font = `13px ${getComputedStyle(root).fontFamily}`;
    drawing.draw(frame, picture.clientWidth);
    const said = `${frame.readout} ${drawing.sentence?.(frame) ?? ""}`.trim();
    if (readout.textContent !== said) readout.textContent = said;
    if (details.open) tabulate();
  }
  function tabulate() { details.lastChild.replaceChildren(dataTable(spec, frame)); }
  function show(next) { frame = next; redraw(); }
  function showStored() {  // the nearest frame; none is near to a text that is not stored
    const places = spec.controls.map(c => c.menu ? c.values.indexOf(c.value) : nearest(c.values, c.value));
    const index = places.reduce((sum, place, i) => sum * spec.controls[i].values.length + place, 0);
    if (!places.includes(-1)) show(readFrame(spec, index));
  }
  function moved() { showStored(); kernel?.ask(); }
  root.querySelectorAll(".controls label").forEach((label, i) => {
    wire(spec.controls[i], label.querySelector("input, select"), label.querySelector("output"), moved);
  });
  find("summary").onclick = details.ontoggle = tabulate;
  showStored();
  figures.add(redraw);
  resized.observe(find(".title"));  // as wide as the picture, but not moved by drawing
  if (connect) kernel = connect({ spec, root, show, showStored, moved });
  return () => { figures.delete(redraw); resized.disconnect(); kernel?.close(); };
}

function start() {
  const redrawAll = () => figures.forEach(redraw => redraw());
  new MutationObserver(redrawAll).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  new MutationObserver(redrawAll).observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  document.querySelectorAll("figure.explore").forEach(root => mount(root));
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
return { mount, h, nearest };
})();
