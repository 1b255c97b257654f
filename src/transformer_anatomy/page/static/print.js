/* Before a page is printed: light paper, whatever the reader's theme, and maps whose cells no printer smooths. */
(function () {
  "use strict";
  const page = document.documentElement, SHARP = 32; // pixels to a cell
  let theme;

  function enlarge(canvas) {
    if (!canvas.width || canvas.width > 100) return;
    const copy = document.createElement("canvas"), { width, height } = canvas;
    copy.width = width;
    copy.height = height;
    copy.getContext("2d").drawImage(canvas, 0, 0);
    canvas.width = SHARP * width;
    canvas.height = SHARP * height;
    const pen = canvas.getContext("2d");
    pen.imageSmoothingEnabled = false;
    pen.drawImage(copy, 0, 0, canvas.width, canvas.height);
  }

  addEventListener("beforeprint", () => {
    theme = page.dataset.theme;
    page.dataset.theme = "light"; // and the figures redraw themselves
    queueMicrotask(() => document.querySelectorAll(".explore canvas").forEach(enlarge));
  });
  addEventListener("afterprint", () => { page.dataset.theme = theme; });
})();
