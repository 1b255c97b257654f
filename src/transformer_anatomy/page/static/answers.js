// Where the reader answers in the built book: predictions, and exercises without a kernel. A classic script, so that it
// also runs from file://. The rules and the words come from each exercise's own data, the same that Python diagnoses with.
(function () {
  "use strict";

  const RING = '<circle cx="8" cy="8" r="7"/>';
  const ICONS = {
    right: '<circle class="solid" cx="8" cy="8" r="7"/><path class="cut" d="M5 8.2l2.1 2.2L11 6"/>',
    wrong: RING + '<path d="M5 8h6"/>',
  };
  const KEPT = 2; // attempts that stay on the page

  // Digits as people group them: 1 048 576, 1_048_576, 1,048,576. A single comma is a decimal comma, as in 0,436, except
  // before a decimal point and, with three digits after it, where the answer is in the thousands.
  function ungrouped(text, large) {
    const several = large ? /^[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/ : /^[1-9]\d{0,2}((,\d{3}){2,}(\.\d*)?|,\d{3}\.\d*)$/;
    return text
      .replace(/(?<=\d)[\s_'’](?=\d{3}(?!\d))/g, "")
      .replace(/\d[\d,]*(\.\d*)?/g, figure => (several.test(figure) ? figure.replaceAll(",", "") : figure.replace(",", ".")));
  }

  // A number as people type it: 0.436, −2, 1e-3, 2/3, 4·512^2, sqrt(1/8), ln 2, √2, math.exp(-1). NaN for anything else.
  const NAMES = { e: Math.E, pi: Math.PI, π: Math.PI };
  const FUNCTIONS = { sqrt: Math.sqrt, "√": Math.sqrt, exp: Math.exp, log: Math.log, ln: Math.log };
  const TOKEN = /(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|\*\*|[a-zπ]+|\S/g;

  function number(text, large) {
    const plain = ungrouped(text.toLowerCase(), large).replace(/[−–]/g, "-").replace(/[×·]/g, "*").replace(/\^/g, "**");
    const tokens = plain.replace(/\b(math|np|torch)\./g, "").match(TOKEN) ?? [];
    const take = (...wanted) => (wanted.includes(tokens[0]) ? tokens.shift() : undefined);

    function sum() {
      let value = product();
      for (let sign; (sign = take("+", "-")); ) value += sign === "+" ? product() : -product();
      return value;
    }
    function product() {
      let value = power();
      for (let sign; (sign = take("*", "/")); ) value = sign === "*" ? value * power() : value / power();
      return value;
    }
    function power() {
      const sign = take("+", "-");
      if (sign) return sign === "-" ? -power() : power();
      const base = atom();
      return take("**") ? base ** power() : base; // -2**2 is -4, and 2**3**2 is 2**9, as in Python
    }
    function atom() {
      const token = tokens.shift() ?? "";
      if (Object.hasOwn(FUNCTIONS, token)) return FUNCTIONS[token](atom());
      if (Object.hasOwn(NAMES, token)) return NAMES[token];
      if (token !== "(") return /^[\d.]/.test(token) ? Number(token) : NaN;
      const value = sum();
      return take(")") ? value : NaN;
    }
    const value = sum();
    return tokens.length ? NaN : value;
  }

  function matches({ choice, low = -Infinity, high = Infinity, open }, answer) {
    if (choice !== undefined) return answer === choice;
    return open ? low < answer && answer < high : low <= answer && answer <= high;
  }

  function diagnose({ kind, outcomes, otherwise }, text) {
    if (!text.trim()) return { words: kind === "choice" ? "Choose an answer first." : "Write an answer first.", empty: true };
    const answer = kind === "number" ? number(text, outcomes[0].low >= 1000) : text;
    if (Number.isNaN(answer)) {
      return { right: false, words: `“${escaped(text)}” is not a number. Write it like 0.436, 2/3 or sqrt(2).` };
    }
    const at = outcomes.findIndex(outcome => matches(outcome, answer));
    return { right: at === 0, words: at < 0 ? otherwise : outcomes[at].words };
  }

  function escaped(text) {
    const holder = document.createElement("span");
    holder.textContent = text;
    return holder.innerHTML;
  }

  function attempt({ right, words, empty = false }) {
    const item = document.createElement("li");
    item.classList.toggle("empty", empty);
    item.innerHTML =
      `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">${ICONS[right ? "right" : "wrong"]}</svg>` +
      `<div><b>${right ? "Right." : "Not yet."}</b> ${words}</div>`;
    return item;
  }

  document.addEventListener("submit", event => {
    const check = event.target.closest(".check");
    if (!check) return;
    event.preventDefault();
    const text = new FormData(event.target).get("answer") ?? "";
    const made = attempt(diagnose(JSON.parse(check.dataset.exercise), text));
    const attempts = check.querySelector(".attempts");
    for (const old of [...attempts.children]) if (old.isEqualNode(made) || old.matches(".empty")) old.remove();
    while (attempts.children.length >= KEPT) attempts.firstElementChild.remove();
    attempts.append(made);
  });

  document.addEventListener("input", event => {
    const guess = event.target.closest(".predict")?.querySelector(".guess");
    if (guess) guess.innerHTML = `You said “${event.target.nextElementSibling.innerHTML}”. `;
  });

  // With this script at work the form takes the place of the cell that a kernel would run.
  function unfold() {
    for (const form of document.querySelectorAll(".check form[hidden]")) {
      form.hidden = false;
      form.closest(".cell")?.classList.add("answered-here");
    }
  }
  document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", unfold) : unfold();
})();
