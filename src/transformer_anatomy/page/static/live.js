
/* Appended to explore.js for JupyterLab, where a kernel can compute what lies between the stored frames. */

// About 200 stops, as many between any two stored settings, which stay exactly where they are; of integers only as many
// as there are between the nearest two.
function fineStops({ values, log, integer }) {
  const gaps = values.slice(1).map((b, i) => b - values[i]), steps = Math.min(Math.ceil(200 / gaps.length), ...integer ? gaps : []);
  const between = (a, b, share) => log ? a * (b / a) ** share : a + (b - a) * share;
  const fine = values.slice(1).flatMap((b, i) => Array.from({ length: steps }, (_, k) => between(values[i], b, k / steps)));
  return [...fine, values.at(-1)].map(v => integer ? Math.round(v) : v);
}

// A menu becomes a text field that suggests the stored texts; it asks when one of them is chosen, or on Enter.
function textField(c, menu, id, moved) {
  const { h } = anatomyExplore, set = value => { if (value !== c.value) { c.value = value; moved(); } };
  const field = h("input", { type: "text", list: id, "aria-label": menu.getAttribute("aria-label"), change: () => set(field.value),
    input: () => c.values.includes(field.value) && set(field.value) });
  field.value = c.value;
  c.field = field;
  menu.closest("label").classList.add("text");
  menu.replaceWith(field);
  field.after(h("datalist", { id }, ...c.values.map(value => h("option", { value }))));
}

// The figure is live once the kernel answers "hello". The kernel gets one question at a time; its answer is shown unless
// a newer question waits; after 8 s without one, or when the kernel is gone, the figure falls back to what is stored.
function connect(model, { spec, root, show, showStored, moved }) {
  const { h, nearest } = anatomyExplore, me = Math.random();
  const menu = h("select", { "aria-label": "device", input: ask }), labels = [...root.querySelectorAll(".controls label")];
  const state = root.querySelector(".state"), problem = root.querySelector(".problem");
  let live = false, wanted = 0, asked = 0, pause, patience;

  function tell(words) {
    root.toggleAttribute("data-live", live);
    state.replaceChildren(...live ? ["live ", ...menu.length ? ["on ", menu] : [], ` ${words}`] : [words]);
  }
  function setStops(c, label, stops) {
    let last = -1;
    c.place(stops);
    for (const tick of label.querySelectorAll("small span")) {
      const at = stops.findIndex(v => v >= tick.dataset.value) / (stops.length - 1);
      tick.style.setProperty("--at", at);
      tick.hidden = at - last < .06 && at < 1;
      if (!tick.hidden) last = at;
    }
  }
  function goLive(devices) {
    live = true;
    menu.replaceChildren(...devices.map(name => h("option", {}, name)));
    spec.controls.forEach((c, i) => {
      if (!c.menu) setStops(c, labels[i], fineStops(c));
      else if (c.free_text && !c.field) textField(c, labels[i].querySelector("select"), `${root.id}-${i}`, moved);
    });
    tell("");
  }
  function giveUp(why) {
    live = false;
    asked = 0;
    clearTimeout(patience);
    root.removeAttribute("data-stale");
    problem.textContent = "";
    spec.controls.forEach((c, i) => {
      if (c.menu) c.value = c.values[Math.max(0, c.values.indexOf(c.value))];
      else c.value = c.values[nearest(c.values, c.value)];
      if (c.field) c.field.value = c.value;
      else setStops(c, labels[i], c.values);
    });
    showStored();
    tell(`${spec.state}; ${why}`);
  }
  function post(message) {
    try { model.send(message); } catch { giveUp("its kernel is gone: run the cell again"); }  // after a restart
  }
  function ask() {
    wanted++;
    if (!live) return post({ type: "hello" });  // perhaps the kernel has time again
    tell("computing…");
    clearTimeout(pause);
    pause = setTimeout(send, 40);
  }
  function send() {
    if (asked) return;  // its answer will bring us back here
    asked = wanted;
    const controls = Object.fromEntries(spec.controls.map(c => [c.name, c.value]));
    patience = setTimeout(giveUp, 8000, "the kernel has not answered for 8 s");
    post({ type: "compute", id: [me, asked], controls, device: menu.value });
  }
  function receive(message, buffers) {
    if (message.type === "hello" && !live) goLive(message.devices);
    if (!message.id || message.id[0] !== me || message.id[1] !== asked) return;
    clearTimeout(patience);
    asked = 0;
    if (message.id[1] !== wanted) return send();
    root.toggleAttribute("data-stale", message.type === "error");
    problem.textContent = message.type === "error" ? message.text : "";
    if (message.type === "error") return tell("");
    const numbers = ({ buffer, byteOffset, byteLength }) => Array.from(new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength)));
    const values = Object.fromEntries(spec.entries.map(({ name }, i) => [name, numbers(buffers[i])]));
    show({ values, labels: message.labels, readout: message.readout });
    tell(`${message.ms.toFixed(message.ms < 10 ? 1 : 0)} ms`);
  }
  model.on("msg:custom", receive);
  post({ type: "hello" });
  return {
    ask,
    close() {
      model.off("msg:custom", receive);
      clearTimeout(pause);
      clearTimeout(patience);
    },
  };
}

export default {
  render({ model, el }) {
    el.innerHTML = model.get("html");
    const figure = el.querySelector("figure"), title = figure.querySelector(".title");
    figure.id += `-${Math.random().toString(36).slice(2)}`;  // a model may have several views
    title.id = `${figure.id}-title`;
    figure.setAttribute("aria-labelledby", title.id);
    return anatomyExplore.mount(figure, parts => connect(model, parts));
  },
};
