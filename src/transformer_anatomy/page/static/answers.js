// Where the reader answers in the built book: predictions, and exercises without a kernel. A classic script, so that it
// also runs from file://. The rules and the words come from each exercise's own data, the same that Python diagnoses with.
(function () {
  "use strict";

  const RING = '<circle cx="8" cy="8" r="7"/>';
  const ICONS = {
    right: '<circle class="solid" cx="8" cy="8" r="7"/><path class="cut" d="M5 8.2l2.1 2.2L11 6"/>',
    wrong: RING + '<path d="M5 8h6"/>',
  };

  // A number as people type it: 0.436, 0,436, −2, 1e-3, 2/3. NaN for anything else.
  function number(text) {
    const parts = text.trim().replace(/−/g, "-").replace(",", ".").split("/");
    const numbers = parts.map(part => (part.trim() === "" ? NaN : Number(part)));
    return numbers.length === 1 ? numbers[0] : numbers.length === 2 ? numbers[0] / numbers[1] : NaN;
  }

  function matches({ choice, low = -Infinity, high = Infinity, open }, answer) {
    if (choice !== undefined) return answer === choice;
    return open ? low < answer && answer < high : low <= answer && answer <= high;
  }

  function diagnose(exercise, text) {
    const answer = exercise.kind === "number" ? number(text) : text;
    if (Number.isNaN(answer)) return { right: false, words: `“${text}” is not a number. Write it like 0.5, 1e-3 or 2/3.` };
    const at = exercise.outcomes.findIndex(outcome => matches(outcome, answer));
    return { right: at === 0, words: at < 0 ? exercise.otherwise : exercise.outcomes[at].words };
  }

  function attempt({ right, words }) {
    const item = document.createElement("li"), line = document.createElement("div"), verdict = document.createElement("b");
    item.innerHTML = `<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">${ICONS[right ? "right" : "wrong"]}</svg>`;
    verdict.textContent = right ? "Right. " : "Not yet. ";
    line.append(verdict, words);
    item.append(line);
    return item;
  }

  document.addEventListener("submit", event => {
    const check = event.target.closest(".check");
    if (!check) return;
    event.preventDefault();
    const text = new FormData(event.target).get("answer");
    check.querySelector(".attempts").append(attempt(diagnose(JSON.parse(check.dataset.exercise), text)));
  });

  document.addEventListener("input", event => {
    const guess = event.target.closest(".predict")?.querySelector(".guess");
    if (guess) guess.textContent = `You said “${event.target.value}”. `;
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
