// What scrolls sideways (a formula, code, a table) can be reached and moved by keyboard, and has a name.
(function () {
  const SCROLLERS = "mjx-container[display], main pre, .cell_output > .output, .results, .health, .data > div, .pst-scrollable-table-container";
  function reach() {
    for (const element of document.querySelectorAll(SCROLLERS)) {
      if (element.scrollWidth > element.clientWidth) {
        const table = element.querySelector("table"), formula = element.matches("mjx-container");
        const name = table ? table.caption?.textContent || "Table" : formula ? "Formula" : "Code";
        Object.assign(element, { tabIndex: 0, role: "group", ariaLabel: `${name}, scrolls sideways` });
      } else {
        element.removeAttribute("tabindex");
        element.role = element.ariaLabel = null;
      }
    }
  }
  // A formula that is set, a fold that opens and a window that narrows all change the height of the page
  new ResizeObserver(reach).observe(document.querySelector("main"));
})();
