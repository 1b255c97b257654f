/* The kind "layers" of explore.js: one sample through a stack, steered by layer, head and row. A page that has such a
   figure loads this script before explore.js. */
var anatomyLayers = function ({ spec, root, picture, svg, redraw, tools }) {
  const { h, text, path, rect, s, range, clamp, largest, number, widest, cut, isShown, colourScale } = tools;
  const { maps, spread, likeness, level } = spec.names, { size: [L, H] } = spec.chosen, LAYERS = range(L);
  const heads = spec.chosen.heads.map(head => head - 1), say = v => number(v, spec.places);
  let { layer, row } = spec.chosen, rows = [], n, flow, step, painted, ink;
  layer--;

  // Native radio buttons: one tab stop a group, arrow keys inside it
  const choice = (group, label, set, ...inside) => h("label", {},
    h("input", { type: "radio", name: `${root.id}-${group}`, "aria-label": label, input: () => { set(); redraw(); } }), ...inside);
  const group = (cls, name, ...kids) => h("fieldset", { class: cls, "aria-label": name }, ...kids);
  const grid = attributes => h("div", { class: "grid", ...attributes }, h("canvas", {}));
  const names = group("names", "Layer", ...LAYERS.map(l => choice("layer", `Layer ${l + 1}`, () => { layer = l; }, `Layer ${l + 1}`)));
  const thumbs = LAYERS.map(l => group("thumbs", `Head of layer ${l + 1}`, ...range(H).map(k =>
    choice(`head-${l}`, `Layer ${l + 1}, head ${k + 1}`, () => { heads[l] = k; layer = l; }, h("canvas", {})))));
  const pick = (l, i) => { layer = l; row = clamp(i, 0, n - 1); redraw(); };
  const large = LAYERS.map(l => grid({ pointerdown: e => pick(l, Math.floor(e.offsetY / e.currentTarget.clientHeight * n)) }));
  const tokens = group("tokens", "Row"), beside = s("svg", { "aria-hidden": "true" });
  const side = h("div", { class: "side" }, tokens, beside), body = h("div", { class: "body", pointerdown: atStream }, names, ...thumbs, ...large, svg);
  picture.append(h("div", { class: "layers", tabindex: 0, role: "group", "aria-label": "The layers, left to right" }, side, body));
  function atStream(event) {
    const i = Math.floor((event.clientY - body.getBoundingClientRect().top - flow) / step);
    if (i >= 0 && i < n) pick(layer, i);
  }

  const weights = ({ values }, l, i = row) => values[maps].slice(((l * H + heads[l]) * n + i) * n, ((l * H + heads[l]) * n + i + 1) * n);
  const spreadOf = ({ values }, l, k = heads[l]) => values[spread][(l * H + k) * n + row];
  const alike = ({ values }, l, j) => values[likeness][(l * n + row) * n + j];  // l = 0 is before the first layer
  const notes = ({ labels }, l) => labels.notes[l * n + row].split("\n");

  function draw(frame, W) {
    const { values, labels } = frame, drawn = [], named = [], colour = colourScale(root, spec.tokens);
    if (labels.rows.join("\n") !== rows.join("\n")) {
      row = rows.length ? Math.min(row, labels.rows.length - 1) : row;
      rows = labels.rows;
      n = rows.length;
      tokens.replaceChildren(...rows.map((word, i) => choice("row", name(i), () => { row = i; }, h("span", {}, word))));
    }
    const left = Math.ceil(Math.min(.3 * W, widest(rows)) + 15), first = likeness ? 58 : 8, bar = likeness ? 26 : 8;
    const column = Math.max(94, Math.floor((W - left - first) / L)), total = first + L * column, wide = column - 6;
    const x = l => first + l * column, broad = column - bar - 6, thumb = Math.floor((wide - 6) / 4), lines = labels.notes[0].split("\n").length;
    const same = painted === frame && ink === `${colour(1)}`;  // then the small maps are as they were
    painted = frame;
    ink = `${colour(1)}`;
    const paint = (canvas, l, k) => {
      const image = new ImageData(n, n), from = (l * H + k) * n * n;
      for (let i = 0; i < n * n; i++) image.data.set([...colour(values[maps][from + i]), 255], 4 * i);
      Object.assign(canvas, { width: n, height: n }).getContext("2d").putImageData(image, 0, 0);
    };
    const caption = (y, words) => drawn.push(text(first, y, words, "quiet"));
    const place = (element, left, top, width, height) =>
      element.style.cssText = `left:${left}px;top:${top}px;width:${width}px;height:${height}px`;
    step = Math.round(clamp(260 / n, 13, 22));
    flow = 52 + Math.ceil(H / 4) * (thumb + 2);
    const top = flow + n * step + 36, cell = wide / n, line = Math.max(cell, Math.min(12, 200 / n)), tall = n * line;
    const long = Math.min(72, widest(rows)), base = top + tall + long + 14;
    const y = i => flow + (i + .5) * step;

    // The streams, what the chosen row reads in each layer, and after it how alike all rows are to the chosen one
    if (likeness) drawn.push(text(0, 15, "Input", "on"));
    caption(flow - 8, `Strokes: weights of the chosen head.${likeness ? ` Bars: ${likeness}.` : ""}`);
    LAYERS.forEach(l => drawn.push(rect(l === layer ? "block now" : "block", x(l), flow, broad, n * step)));
    drawn.push(...rows.map((_, i) => path(i === row ? "stream q" : "stream", `M${first - bar - 4},${y(i)}H${total}`)));
    range(likeness ? L + 1 : 0).forEach(l => rows.forEach((_, j) => drawn.push(
      rect(j === row ? "like q" : "like", x(l) - bar - 3, y(j) - 3, bar * clamp(alike(frame, l, j), 0, 1), 6))));
    LAYERS.forEach(l => {
      const w = weights(frame, l), a = x(l) + 6, b = x(l) + broad - 6, m = (a + b) / 2, best = largest(w);
      const seen = range(n).filter(j => w[j] > .015).sort((i, j) => w[i] - w[j]);
      for (const j of seen) drawn.push(path("stroke", `M${a},${y(j)}C${m},${y(j)} ${m},${y(row)} ${b},${y(row)}`, `stroke-width:${Math.max(.75, 16 * w[j])}`));
      for (const j of seen) drawn.push(s("circle", { class: "key", cx: a, cy: y(j), r: 2 + 3 * Math.sqrt(w[j]) }));
      drawn.push(s("circle", { class: "query", cx: b, cy: y(row), r: 5 }));
      for (const j of seen) if (w[j] >= .2 || j === best)
        named.push(text(a + 8, y(j) + (j > row || !j ? 12 + 8 * w[j] : -4 - 8 * w[j]), say(w[j]), j === best ? "halo on" : "halo"));

      place(names.children[l], x(l), 0, wide, 22);
      place(thumbs[l], x(l), 30, wide, 0);
      [...thumbs[l].children].forEach((label, k) => {
        label.style.cssText = `width:${thumb}px;height:${thumb}px`;
        label.firstChild.checked = k === heads[l];
        if (!same) paint(label.lastChild, l, k);
      });
      drawn.push(text(x(l) + wide, 15, `head ${heads[l] + 1}`, "end quiet"));
      names.children[l].firstChild.checked = l === layer;

      // The chosen head's map, the words, the spread among the heads of the layer
      paint(large[l].firstChild, l, heads[l]);
      place(large[l], x(l), top, wide, tall);
      large[l].style.backgroundSize = cell >= 8 ? `${cell}px ${line}px` : `${wide}px ${tall}px`;
      named.push(rect("row q", x(l), top + row * line, wide, line));
      rows.forEach((word, j) => {
        const u = x(l) + (j + .5) * cell + 4, v = top + tall + 6;
        if (isShown(j, cell, best)) drawn.push(text(u, v, cut(word, 72), `end small ${j === best ? "on k" : "quiet"}`, `transform-origin:${u}px ${v}px;rotate:-90deg`));
      });
    });
    caption(top - 8, "All rows of the chosen head.");
    if (labels.notes[0]) {
      caption(base + 8, `${spec.note_label}, before the first layer and after each.`);
      range(L + 1).forEach(l => notes(frame, l).forEach((word, i) => drawn.push(text(l ? x(l - 1) : 0, base + 28 + 17 * i,
        cut(word, (l ? column : first) - 8), l === layer + 1 ? i ? "" : "on" : i ? "quiet" : ""))));
    }
    const low = base + (labels.notes[0] ? 36 + 17 * lines : 0) + 38;
    if (spread) {
      const at = v => low + 52 * (1 - v / spec.spread_top), middle = l => x(l) + wide / 2, spots = LAYERS.map(l => [middle(l), at(spreadOf(frame, l))]);
      caption(low - 22, `${spread[0].toUpperCase()}${spread.slice(1)}: the chosen head (dot) among those of its layer, for the chosen row.`);
      if (level) drawn.push(path("baseline", `M${first},${at(values[level][0])}H${total}`), text(total, at(values[level][0]) - 5, `${level} ${say(values[level][0])}`, "end quiet"));
      LAYERS.forEach(l => range(H).forEach(k => drawn.push(path("tick", `M${middle(l) - 7},${at(spreadOf(frame, l, k))}h14`))));
      drawn.push(path("curve", `M${spots.join("L")}`, "--color:var(--w3)"), ...spots.map(spot => tools.dot(spot)));
      LAYERS.forEach(l => drawn.push(text(middle(l), low + 74, say(spreadOf(frame, l)), l === layer ? "mid on" : "mid")));
    }
    const height = spread ? low + 80 : low;
    place(tokens, 0, flow, left - 6, n * step);
    [...tokens.children].forEach((label, i) => {
      label.style.cssText = `height:${step}px;line-height:${step}px;font-size:min(var(--label), ${step - 2}px)`;  // the chosen one covers no other
      label.firstChild.checked = i === row;
    });
    const right = (y, words, cls = "quiet") => text(left - 8, y, cut(words, left - 8), `end ${cls}`);
    beside.replaceChildren(...rows.flatMap((word, i) => isShown(i, line, row) ? right(top + (i + .5) * line + 4, word, i === row ? "small on q" : "small quiet") : []));
    side.style.cssText = `width:${left}px;height:${height}px`;
    beside.style.cssText = `width:${left}px;height:${height}px`;
    body.style.cssText = `width:${total}px;height:${height}px`;
    return [height, ...drawn, ...named];
  }

  // A word that stands there twice is told apart: the second “the”
  function name(i) {
    const twins = range(n).filter(j => rows[j] === rows[i]), k = twins.indexOf(i);
    return twins[1] === undefined ? `“${rows[i]}”` : `the ${["first", "second", "third"][k] ?? `${k + 1}th`} “${rows[i]}”`;
  }
  function sentence(frame) {
    const w = weights(frame, layer), [what, unit = ""] = (spread ?? "").split(", ");
    const told = spread ? `, ${what} ${say(spreadOf(frame, layer))}${level ? ` of ${say(frame.values[level][0])}` : ""} ${unit}`.trimEnd() : "";
    const near = frame.labels.notes[0] ? ` ${spec.note_label} after it: ${notes(frame, layer + 1).join(", ")}.` : "";
    return `Layer ${layer + 1}, head ${heads[layer] + 1}: ${name(row)} reads most from ${name(largest(w))} (${say(Math.max(...w))})${told}.${near}`;
  }
  function table(frame) {
    const line = (scope, first, cells) => h("tr", {}, h("th", { scope }, first), ...cells.map(cell => h(scope === "col" ? "th" : "td", {}, cell)));
    const after = range(likeness ? L + 1 : 0), blank = after.map(() => ""), read = LAYERS.map(l => weights(frame, l));
    return h("table", {}, line("col", `${name(row)} reads`, [...LAYERS.map(l => `layer ${l + 1}, head ${heads[l] + 1}`), ...after.map(l => l ? `${likeness}, after layer ${l}` : likeness)]),
      ...rows.map((word, j) => line("row", word, [...read.map(w => say(w[j])), ...after.map(l => say(alike(frame, l, j)))])),
      ...spread ? [line("row", spread, [...LAYERS.map(l => say(spreadOf(frame, l))), ...blank])] : [],
      ...frame.labels.notes[0] ? [line("row", spec.note_label, [...LAYERS.map(() => ""), ...after.map(l => notes(frame, l).join(", "))])] : []);
  }
  return { draw, sentence, table };
};
