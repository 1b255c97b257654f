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
const path = (cls, d, style = "") => s("path", { class: cls, d, style });
const rect = (cls, x, y, width, height) => s("rect", { class: cls, x, y, width, height });
const dot = ([cx, cy], style = "") => s("circle", { class: "dot", cx, cy, r: 4.5, style });
const join = points => "M" + points.join("L");
const range = n => [...Array(n).keys()];
const clamp = (v, lo, hi) => Math.min(hi, Math.max(lo, v));
const largest = list => list.indexOf(Math.max(...list));

// Numbers with a true minus
const minus = words => words.replace(/^-(?=[0.]+$)/, "").replaceAll("-", "−");
const number = (v, places) => minus(places > 5 ? v.toExponential(1) : v.toFixed(places));
const setting = (v, digits) => minus(String(Math.abs(v) < 10 ** digits ? +v.toPrecision(digits) : Math.round(v)));

// Text is measured in the reader's font; labels of rows that would touch are left out, never the chosen one
const pen = document.createElement("canvas").getContext("2d");
const width = words => pen.measureText(words).width;
const widest = list => Math.max(0, ...list.map(width));
const cut = (words, most) =>
  width(words) <= most ? words : words.slice(0, Math.max(1, words.length * most / width(words) - 1)) + "…";
function isShown(i, pixels, chosen) {
  const every = pixels < 11 ? Math.ceil(22 / pixels) : 1;
  return i === chosen || (i % every === 0 && Math.abs(i - chosen) >= every);
}
// How many panels stand in a line: all if they fit, else evenly on several lines
function perLine(count, fit, least) {
  const most = range(count).map(i => count - i).find(k => k === 1 || fit(k) >= least);
  return Math.ceil(count / Math.ceil(count / most));
}
// Words in the middle of a place, or upright where they would be too wide
const upright = (turn, x, y, words, cls) => turn
  ? text(x + 4, y, words, cls, `transform-origin:${x + 4}px ${y}px;rotate:-90deg`) : text(x, y, words, `${cls} mid`);
const yAxis = (ticks, x, y) =>
  ticks.flatMap(([v, words]) => [text(x, y(v) + 4, words, "end quiet"), path("tick", `M${x + 6},${y(v)}h6`)]);

// A label takes the place [x, y, anchor, words, penalty] where it covers least of `ink`: points on lines and other labels
function labeller(drawn, ink, left, right, bottom) {
  return (places, cls, style) => {
    let best, least = Infinity;
    for (const [x, y, anchor, words, penalty = 0] of places) {
      const w = width(words), l = x - w * { mid: .5, end: 1, "": 0 }[anchor], r = l + w;
      let cost = penalty + 30 * (l < left || r > right || y < 12 || y > bottom);
      const covers = ([u, v]) => u > l - 3 && u < r + 3 && v > y - 12 && v < y + 3;
      ink.some(point => (cost += 2 * covers(point)) >= least);
      if (cost < least) [best, least] = [{ x, y, anchor, words, l, r }, cost];
    }
    const { x, y, anchor, words, l, r } = best;
    for (let u = l; u <= r; u += 4) ink.push([u, y - 11], [u, y + 2]);
    drawn.push(text(x, y, words, `halo ${anchor} ${cls}`, style));
  };
}
const SIDES = [[0, -10, "mid"], [0, 20, "mid"], [-7, -7, "end"], [7, -7, ""], [-7, 16, "end"], [7, 16, ""], [-10, 4, "end"], [10, 4, ""]];
const around = ([x, y], words, penalty = () => 0, far = 1) =>
  SIDES.map(([right, down, anchor]) => [x + far * right, y + far * down, anchor, words, penalty(down)]);
const beside = ({ y, words }, x, penalty = 0) =>
  range(16).map(i => [x, y + 4 + 1.5 * (i % 2 ? i : -i), "", words, penalty + i / 9]);

// Colours are the tokens of the style sheet, in the theme that is on
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
const ARRAYS = { u1: Uint8Array, u2: Uint16Array, f4: Float32Array };
function readFrame({ entries, labels, readouts }, i) {
  const pick = ({ items, places }) => items[places ? places[i] : 0], values = {}, words = {};
  for (const { name, dtype, lo, step, data } of entries) {
    const bytes = Uint8Array.from(atob(pick(data)), c => c.charCodeAt(0));
    values[name] = Array.from(new ARRAYS[dtype](bytes.buffer), v => lo + step * v);
  }
  for (const axis in labels) words[axis] = pick(labels[axis]);
  return { values, labels: words, readout: pick(readouts) };
}

// Each kind of figure draws a frame at a width: its height, and what its svg holds
function heatmap({ spec, root, picture, svg, redraw }) {
  const { maps, strip, level, heads, row_class, column_class, places, range: [lo, hi] } = spec, many = maps.length > 1;
  const canvases = maps.map(() => h("canvas", {})), grids = canvases.map(canvas => h("div", { class: "grid" }, canvas));
  const mark = root.querySelector(".bar i").appendChild(h("b", {})), listen = { keydown: step, pointerdown: point };
  picture.append(h("div", { class: "map", tabindex: 0, role: "application", "aria-label": spec.hint, ...listen }, ...grids, svg));
  // A row is chosen and, in each map, its strongest column, until the reader chooses one column for all maps
  let row = spec.row, column = null, map = 0, shown, rows, columns, at, cell, line, above;

  function choose(i, j, k = map) {
    row = clamp(i, 0, rows - 1);
    column = j && clamp(j, 0, columns - 1);
    map = k;
    redraw();
  }
  function point({ target, offsetX, offsetY }) {  // at a cell or, beside the maps, at a row
    const k = grids.indexOf(target), y = k < 0 ? offsetY % line - above : offsetY, i = Math.floor(y / cell);
    if (i >= 0 && i < rows) choose(i, k < 0 ? null : Math.floor(offsetX / cell), k < 0 ? map : k);
  }
  function step(event) {
    const to = { ArrowUp: [row - 1, null], ArrowDown: [row + 1, null], PageUp: [0, null], PageDown: [rows, null],
      ArrowLeft: [row, at[map] - 1], ArrowRight: [row, at[map] + 1], Home: [row, 0], End: [row, columns] }[event.key];
    if (!to) return;
    event.preventDefault();
    choose(...to);
  }
  function draw(frame, W) {
    const { values, labels } = frame, gap = 20, drawn = [];
    rows = labels.rows.length;
    columns = labels.columns.length;
    row = Math.min(row, rows - 1);
    if (frame !== shown) column = null;
    shown = frame;
    const chosen = maps.map(name => values[name].slice(row * columns, (row + 1) * columns));
    at = chosen.map(v => column ?? largest(v));
    if (column === null) map = largest(chosen.map(v => Math.max(...v)));

    const left = Math.ceil(Math.min(.34 * W, widest([...labels.rows, ...heads])) + 8), side = !strip ? 0 : W > 560 ? 200 : 56;
    const fit = k => (W - left - side - (k - 1) * gap) / (k * columns), per = perLine(maps.length, fit, 12);
    cell = Math.min(46, fit(per));
    if (cell >= 8) cell = Math.floor(cell);  // hairlines on whole pixels
    const tall = rows * cell, broad = columns * cell, middle = i => (i + .5) * cell;
    const ruled = cell >= 11 ? `${cell}px ${cell}px` : `${broad}px ${tall}px`, long = widest(labels.columns), turn = long > cell - 2;
    above = Math.max(42, turn ? Math.min(long, 110) + 14 : 0) + (many ? 18 : 0);
    line = above + tall + 16;
    const colour = colourScale(root, spec.tokens), share = v => (v - lo) / (hi - lo);
    const look = (on, cls) => `${cell < 15 ? "small" : "name"} ${on ? `on ${cls}` : "quiet"}`;
    maps.forEach((name, k) => {
      const x = left + k % per * (broad + gap), y = Math.floor(k / per) * line + above, data = values[name];
      const image = new ImageData(columns, rows), box = [x + at[k] * cell, y + row * cell, cell, cell];
      data.forEach((v, i) => image.data.set([...colour(share(v)), 255], 4 * i));
      Object.assign(canvases[k], { width: columns, height: rows }).getContext("2d").putImageData(image, 0, 0);
      grids[k].style.cssText = `left:${x}px;top:${y}px;width:${broad}px;height:${tall}px;background-size:${ruled}`;
      if (many) drawn.push(text(x, y - above + 14, spec.headings[k], "head"));
      if (x === left) {
        drawn.push(text(0, y - 24, heads[0], column_class), text(0, y - 8, heads[1], row_class));
        labels.rows.forEach((words, i) => isShown(i, cell, row) &&
          drawn.push(text(x - 8, y + middle(i) + 4.5, cut(words, left - 8), `end ${look(i === row, row_class)}`)));
      }
      labels.columns.forEach((words, j) => isShown(j, cell, at[k]) &&
        drawn.push(upright(turn, x + middle(j), y - 8, cut(words, 110), look(j === at[k], column_class))));
      for (const i of rows * columns <= 25 ? range(rows) : [row]) {
        const cells = data.slice(i * columns, (i + 1) * columns), printed = cells.map(v => number(v, places).replace(/\b0\./, "."));
        if (widest(printed) < cell - 4) cells.forEach((v, j) => drawn.push(
          text(x + middle(j), y + middle(i) + 4, printed[j], "mid", `fill:${inkOn(colour(share(v)))}`)));
      }
      if (many) drawn.push(rect(`row ${row_class}`, x, y + row * cell, broad, cell));
      if (!many || column !== null) drawn.push(rect("around", ...box), rect("chosen", ...box));
    });
    mark.style.left = `${100 * clamp(share(chosen[map][at[map]]), 0, 1)}%`;
    if (strip) drawn.push(...dots(values, left + per * (broad + gap) + 4, tall, W));
    return [Math.ceil(maps.length / per) * line - 14, ...drawn];
  }
  // A number for each row and, where there is room, its dot
  function dots(values, a, tall, W) {
    const broad = W > 560, end = Math.min(W, a + (broad ? 290 : 32)), b = end - 44, say = v => number(v, spec.strip_places);
    const x = v => a + (b - a) * clamp(v / spec.strip_top, 0, 1), head = (x, words) => text(x, above - 8, words, "end quiet");
    const drawn = [head(broad ? a + width(strip) : end, broad ? strip : strip.split(",")[0])];
    if (broad && level) {
      const [base] = values[level], right = Math.max(x(base), a + width(strip + level) + 8);
      drawn.push(path("baseline", `M${x(base)},${above}v${tall}`), head(right, level), head(end, say(base)));
    }
    values[strip].forEach((v, i) => {
      const y = above + (i + .5) * cell;
      if (broad) drawn.push(path("hair", `M${a},${y}H${b}`), dot([x(v), y], "stroke:none"));
      if (isShown(i, cell, row)) drawn.push(text(end, y + 4, say(v), i === row ? "end on" : "end quiet"));
    });
    return drawn;
  }
  function sentence({ values, labels }) {
    const say = (words, noun) => isNaN(words) ? `“${words}”` : `${noun} ${words}`, most = many && column === null;
    const told = (maps[2] ? [map] : range(maps.length)).map(k => {
      const to = say(labels.columns[at[k]], spec.column_noun), v = number(values[maps[k]][row * columns + at[k]], places);
      const name = many ? ` (${maps[k]})` : "";
      return !spec.gives ? `${to}: ${v}${name}` : most ? `${to} (${maps[k]}, ${v})` : `${v} to ${to}${name}`;
    });
    const from = say(labels.rows[row], spec.row_noun), verb = !spec.gives ? ", " : most ? " reads most from " : " gives ";
    return `${from[0].toUpperCase()}${from.slice(1)}${verb}${told.join(" and ")}.`;
  }
  return { draw, sentence };
}

function lines({ spec }) {
  const { points, x_label, y_label, y_ticks, log, range: [lo, hi] } = spec, say = v => number(v, spec.places);
  const top = y_label ? 26 : 14, bottom = top + 200, place = v => log ? Math.log(v) : v, [first, last] = spec.domain.map(place);
  const y = v => bottom - 200 * (v - lo) / (hi - lo), inside = v => clamp(y(v), top, bottom);
  function draw({ values, labels }, W) {
    const n = labels.x.length, named = typeof labels.x[0] === "string", over = [], plot = [], ink = [];
    const lines = spec.lines.map(({ name, cls, style }) => {
      const all = values[name], flat = all.length < n, v = flat ? Array(n).fill(all[0]) : all.length > n ? all.slice(n, 2 * n) : all;
      return { name, cls, style, all, flat, v, y: inside(v[n - 1]), words: `${name} ${say(v[n - 1])}`.trim() };
    });
    const room = widest(lines.map(line => line.words)) + 14, left = widest(y_ticks.map(tick => tick[1]));
    const narrow = W - room - left < 220, few = n <= 8 && spec.single, curve = lines.at(-1);
    const a = left + 44, b = W - (narrow ? 20 : room), x = v => a + (b - a) * (place(v) - first) / (last - first || 1);
    const at = list => list.map((v, i) => [x(named ? i : labels.x[i]), y(v)]);
    for (const line of lines) {
      const { all, style, cls } = line, ends = line.at = at(line.v);
      if (all.length > n) plot.push(path("band", join([...at(all.slice(2 * n)), ...at(all.slice(0, n)).reverse()]), style));
      plot.push(path(cls, join(ends), style));
      if (style && n <= 12) plot.push(...ends.map(place => dot(place, style)));
      ends.slice(1).forEach(([u, v], i) => {
        const [p, q] = ends[i], steps = Math.ceil(Math.hypot(u - p, v - q) / 8);
        ink.push(...range(steps).map(k => [p + (u - p) * k / steps, q + (v - q) * k / steps]));
      });
    }
    const put = labeller(over, ink, left + 14, W, bottom + 10);
    const dots = points.map(name => [x(values[name][0]), inside(values[name][1])]);
    ink.push(...dots.flatMap(([u, v]) => [[u - 4, v], [u + 4, v]]));
    put([[0, 10, "", y_label]], "quiet");
    points.forEach((name, i) => {
      const words = `${name} ${say(values[name][1])}`;
      over.push(dot(dots[i]));
      put([...around(dots[i], words), ...around(dots[i], words, () => 3, 2.4).slice(0, 2)], "");
    });
    // A line is named at its end or, where that is shared, where the line is most by itself
    for (const line of lines.sort((a, b) => a.y - b.y)) {
      const { name, flat, words, style, at } = line, others = lines.filter(other => other !== line);
      const below = (k, down) => others.map(other => (other.at[k][1] - at[k][1]) * Math.sign(down));
      const gap = (k, down) => Math.min(40, ...below(k, down).filter(v => v >= 0));
      const along = range(n).reverse().filter((_, i) => i % Math.ceil(n / 32) === 0).flatMap((k, i) => around(
        at[k], flat || narrow && !few && !i ? words : name, down => 22 - gap(k, down) / 3 - gap(k, -down) / 8 + i / 9));
      const shared = !flat && Math.min(gap(n - 1, 1), gap(n - 1, -1)) < 6;
      put(narrow ? along : [...beside(line, b + 12, shared ? 12 : 0), ...along], style ? "of" : "quiet", style);
    }
    if (few) curve.at.slice(0, narrow ? n : -1).forEach((place, i) => put(around(place, say(curve.v[i])), ""));
    const xTicks = named ? labels.x.map((t, i) => [i, t]) : spec.x_ticks, every = k => xTicks.filter((_, i) => i % k === 0);
    const fits = list => list.every(([v, t], i) => !i || x(v) - x(list[i - 1][0]) > width(t) + 8);
    const ticks = xTicks.map((_, i) => every(i + 1)).find(fits);
    const box = { x: a - 8, y: top - 6, width: b - a + 16, height: 212 };
    return [bottom + (x_label ? 46 : 28), text(b, bottom + 42, x_label, "end quiet"), ...yAxis(y_ticks, left, y),
      ...ticks.flatMap(([v, t]) => [text(x(v), bottom + 24, t, "mid quiet"), path("tick", named ? "" : `M${x(v)},${bottom + 4}v6`)]),
      s("svg", { class: "plot", viewBox: Object.values(box).join(" "), ...box }, ...plot), ...over];
  }
  return { draw };
}

function bars({ spec }) {
  const { groups, y_label, y_ticks, range: [lo, hi] } = spec, say = v => number(v, spec.places);
  const gap = 24, top = 18 + (y_label ? 20 : 0) + (groups[1] ? 22 : 0);
  function draw({ values, labels: { columns } }, W) {
    const ends = spec.lines.map(({ name, cls }) => ({ cls, v: values[name][0], words: `${name} ${say(values[name][0])}` }));
    const left = widest(y_ticks.map(tick => tick[1])), a = left + 20, room = a + widest(ends.map(end => end.words)) + 14;
    const fit = k => (W - room - gap * (k - 1)) / (k * columns.length), per = perLine(groups.length, fit, 24);
    const slot = Math.min(120, fit(per)), broad = columns.length * slot, long = widest(columns), turn = long > slot - 4;
    const line = top + 160 + (turn ? long + 16 : 26), drawn = [text(0, 10, y_label, "quiet")], over = [];
    const put = labeller(over, [], 0, W, Infinity);
    ends.sort((a, b) => a.v - b.v);
    groups.forEach((name, k) => {
      const x = a + k % per * (broad + gap), start = Math.floor(k / per) * line + top, data = values[name];
      const y = v => start + 160 * (hi - clamp(v, lo, hi)) / (hi - lo), all = widest(data.map(say)) < slot - 2;
      if (groups[1]) drawn.push(text(x, start - 24, spec.headings[k], "head"));
      if (x === a) drawn.push(...yAxis(y_ticks, left, y));
      data.forEach((v, i) => {
        const middle = x + (i + .5) * slot;
        drawn.push(rect("column", middle - .31 * slot, Math.min(y(0), y(v)), .62 * slot, Math.abs(y(v) - y(0))));
        // Above a baseline that would strike it through; zeros are left out where they would crowd
        const clear = (at, end) => y(end.v) < at + 4 && y(end.v) > at - 13 ? y(end.v) - 5 : at;
        const at = ends.reduce(clear, Math.min(y(v), y(0)) - 5);
        if (i === largest(data) || all && (slot > 56 || +v.toFixed(spec.places))) over.push(text(middle, at, say(v), "mid halo"));
        if (isShown(i, slot, -9)) drawn.push(upright(turn, middle, start + (turn ? 168 : 178), columns[i], turn ? "end quiet" : "quiet"));
      });
      for (const end of ends) drawn.push(path(end.cls, `M${x},${end.y = y(end.v)}h${broad}`));
      drawn.push(path("tick", `M${x},${y(0)}h${broad}`));
      if (k % per === per - 1 || !groups[k + 1]) ends.forEach(end => put(beside(end, x + broad + 8), "quiet"));
    });
    return [Math.ceil(groups.length / per) * line, ...drawn, ...over];
  }
  return { draw };
}

function dataTable({ entries, places }, { values, labels }) {
  const names = labels.rows || labels.x || labels.columns, th = (scope, words) => h("th", { scope }, words);
  const columns = entries.flatMap(({ name, heads, prefix }) => heads
    ? heads.map((head, j) => [head, i => values[name][j * names.length + i] ?? values[name][0]])
    : labels.columns.map((head, j) => [prefix + head, i => values[name][i * labels.columns.length + j]]));
  return h("table", {}, h("tr", {}, h("td", {}), ...columns.map(([head]) => th("col", head))), ...names.map((name, i) =>
    h("tr", {}, th("row", name), ...columns.map(([, at]) => h("td", {}, number(at(i), places))))));
}

// A slider or menu sets c.value to one of c.stops: the stored settings or, with a kernel, finer ones
const nearest = (values, v) => values.reduce((best, u, i) => Math.abs(u - v) < Math.abs(values[best] - v) ? i : best, 0);
function wire(c, input, output, moved) {
  function tell() {
    if (c.menu) return;
    output.textContent = c.integer ? minus(`${c.value}`) : setting(c.value, c.digits);
    input.setAttribute("aria-valuetext", output.textContent);
  }
  c.place = stops => {
    c.stops = stops;  // written with as many digits as tell them apart
    const different = digits => c.menu || new Set(stops.map(v => setting(v, digits))).size === stops.length;
    c.digits = [3, 4, 5, 6, 7, 8].find(different) ?? 9;
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

// What layers.js, which only some pages have, draws with
const tools = { h, s, text, path, rect, dot, range, clamp, largest, number, widest, cut, isShown, colourScale };

function whenNear(element, act) {
  const near = new IntersectionObserver(([{ isIntersecting }]) => {
    if (isIntersecting) near.disconnect(), act();
  }, { rootMargin: "100%" });
  near.observe(element);
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
  const drawing = ({ heatmap, lines, bars }[spec.kind] ?? anatomyLayers)({ spec, root, picture, svg, redraw, tools });
  const resized = new ResizeObserver(() => picture.clientWidth === drawnAt || redraw());
  let frame, kernel, touched, drawnAt;
  function redraw() {
    drawnAt = picture.clientWidth;
    if (!drawnAt) return;
    pen.font = `13px ${getComputedStyle(root).fontFamily}`;
    const [height, ...drawn] = drawing.draw(frame, drawnAt);
    svg.setAttribute("height", height);
    svg.replaceChildren(...drawn);
    const said = `${frame.readout} ${drawing.sentence?.(frame) ?? ""}`.trim();
    if (readout.textContent !== said) readout.textContent = said;
    if (details.open) tabulate();
  }
  function tabulate() { details.lastChild.replaceChildren(drawing.table?.(frame) ?? dataTable(spec, frame)); }
  function show(next) { frame = next; redraw(); }
  function showStored() {  // the nearest frame; none is near to a text that is not stored
    const places = spec.controls.map(c => c.menu ? c.values.indexOf(c.value) : nearest(c.values, c.value));
    const index = places.reduce((sum, place, i) => sum * spec.controls[i].values.length + place, 0);
    if (!places.includes(-1)) show(readFrame(spec, index));
  }
  function moved() { touched = true; showStored(); kernel?.ask(); }
  function fetchFrames() {  // all of them, which take the place of the first; a script, since nothing else loads from disk
    const script = h("script", { src: root.dataset.frames, error: () => { find(".problem").textContent = "The other frames of this figure could not be loaded."; } });
    script.receive = all => {
      Object.assign(spec, all);
      root.removeAttribute("data-frames");
      if (touched) showStored();
    };
    document.head.append(script);
  }
  root.querySelectorAll(".controls label").forEach((label, i) => {
    wire(spec.controls[i], label.querySelector("input, select"), label.querySelector("output"), moved);
  });
  find("summary").onclick = details.ontoggle = tabulate;
  showStored();
  figures.add(redraw);
  resized.observe(find(".title"));  // as wide as the picture, but not moved by drawing
  if (root.dataset.frames) whenNear(root, fetchFrames);
  if (connect) kernel = connect({ spec, root, show, showStored, moved });
  return () => { figures.delete(redraw); resized.disconnect(); kernel?.close(); };
}

function start() {
  const redrawAll = () => figures.forEach(redraw => redraw());
  const observer = new MutationObserver(redrawAll), attributeFilter = ["data-theme", "data-jp-theme-light"];
  for (const root of [document.documentElement, document.body]) observer.observe(root, { attributeFilter });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  document.querySelectorAll("figure.explore").forEach(root => mount(root));
}
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();
return { mount, h, nearest };
})();
