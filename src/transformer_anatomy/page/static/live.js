
/* Appended to explore.js for JupyterLab, where a kernel can compute what lies between the stored frames. */

// About 200 stops, as many between any two stored settings, which stay exactly where they are.
function fineStops({ values, log, integer }) {
  const steps = Math.ceil(200 / (values.length - 1)), between = (a, b, share) => log ? a * (b / a) ** share : a + (b - a) * share;
  const fine = values.slice(1).flatMap((b, i) => Array.from({ length: steps }, (_, k) => between(values[i], b, k / steps)));
  const stops = [...fine, values.at(-1)];
  return integer ? [...new Set(stops.map(Math.round))] : stops;
}

// A menu becomes a text field that suggests the stored texts; it asks when one of them is chosen, or on Enter.
function textField(c, menu, id, moved) {
  const { h } = anatomyExplore, set = value => { if (value !== c.value) { c.value = value; moved(); } };
  const field = h("input", { type: "text", list: id, "aria-label": menu.getAttribute("aria-label"), change: () => set(field.value),
    input: () => c.values.includes(field.value) && set(field.value) });
  field.value = c.value;
  c.field = field;
  menu.replaceWith(field);
  field.after(h("datalist", { id }, ...c.values.map(value => h("option", { value }))));
}

// The figure is live once the kernel answers "hello". The kernel gets one question at a time; its answer is shown unless
// a newer question waits; after 8 s without one the figure falls back to what is stored.
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
  function giveUp() {
    live = false;
    asked = 0;
    spec.controls.forEach((c, i) => {
      if (c.menu) c.value = c.values[Math.max(0, c.values.indexOf(c.value))];
      else c.value = c.values[nearest(c.values, c.value)];
      if (c.field) c.field.value = c.value;
      else setStops(c, labels[i], c.values);
    });
    showStored();
    tell(`${spec.state}; the kernel has not answered for 8 s`);
  }
  function ask() {
    wanted++;
    if (!live) return model.send({ type: "hello" });  // perhaps the kernel has time again
    tell("computing…");
    clearTimeout(pause);
    pause = setTimeout(send, 40);
  }
  function send() {
    if (asked) return;  // its answer will bring us back here
    asked = wanted;
    const controls = Object.fromEntries(spec.controls.map(c => [c.name, c.value]));
    model.send({ type: "compute", id: [me, asked], controls, device: menu.value });
    patience = setTimeout(giveUp, 8000);
  }
  function receive(message, buffers) {
    if (message.type === "hello" && !live) goLive(message.devices);
    if (!message.id || message.id[0] !== me || message.id[1] !== asked) return;
    clearTimeout(patience);
    asked = 0;
    if (message.id[1] !== wanted) return send();
    problem.textContent = message.type === "error" ? message.text : "";
    if (message.type === "error") return tell("");
    const numbers = ({ buffer, byteOffset, byteLength }) => Array.from(new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength)));
    const values = Object.fromEntries(Object.keys(spec.entries).map((name, i) => [name, numbers(buffers[i])]));
    show({ values, labels: message.labels, readout: message.readout });
    tell(`${message.ms.toFixed(message.ms < 10 ? 1 : 0)} ms`);
  }
  model.on("msg:custom", receive);
  model.send({ type: "hello" });
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
    return anatomyExplore.mount(el.querySelector("figure"), figure => connect(model, figure));
  },
};
