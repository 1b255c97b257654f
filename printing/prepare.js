// Makes an opened page ready for its sheets: all of it loaded, answers moved behind the questions, marks where other pages
// point at, and the head and foot of each sheet. Returns the page's title.
async ({ book, first, targets }) => {
  const turn = () => new Promise(done => requestAnimationFrame(done));
  const quoted = words => JSON.stringify(words).replaceAll("\\n", " ");
  const element = (tag, attributes, ...kids) => {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(...kids);
    return made;
  };
  const article = document.querySelector("article.bd-article"), heading = article.querySelector("h1").cloneNode(true);
  heading.querySelectorAll(".headerlink").forEach(link => link.remove());
  const title = heading.textContent.trim();

  // What a page loads only when it comes near
  for (const image of document.images) image.loading = "eager";
  for (const figure of document.querySelectorAll("figure.explore")) {
    figure.scrollIntoView();
    for (let turns = 0; !figure.dataset.mounted && turns < 600; turns++) await turn();
    if (!figure.dataset.mounted) throw Error(`this figure was never drawn: ${figure.querySelector(".title").textContent}`);
  }
  await Promise.all([...document.images].filter(image => image.checkVisibility()).map(image => image.decode()));
  await window.MathJax?.startup?.promise;

  // A style sheet's gradients would come out blurred, so the lines between the cells of a map are drawn into it
  function rule(grid) {
    const canvas = grid.querySelector("canvas"), pen = canvas.getContext("2d");
    const [across, down = across] = grid.style.backgroundSize.split(" ").map(parseFloat);
    const scale = canvas.width / grid.clientWidth;
    pen.fillStyle = getComputedStyle(grid).getPropertyValue("border-color");
    for (let x = 0; x < canvas.width; x += across * scale) pen.fillRect(x, 0, scale, canvas.height);
    for (let y = 0; y < canvas.height; y += down * scale) pen.fillRect(0, y, canvas.width, scale);
    pen.fillRect(canvas.width - scale, 0, scale, canvas.height);
    pen.fillRect(0, canvas.height - scale, canvas.width, scale);
  }

  // What is folded on the screen stands at the end of the chapter, in the order of the text, each thing under a link back
  const chapter = article.querySelector("section");
  const plain = source => {
    const copy = source.cloneNode(true);
    copy.querySelectorAll(".headerlink").forEach(link => link.remove());
    return copy.childNodes;
  };
  function gather(id, name, before, entries) {
    const section = element("section", { id, className: "gathered" }, element("h2", {}, name));
    entries.forEach(([from, words, ...content], i) => {
      from.id ||= `${id}-of-${i}`;
      const head = element("p", { className: "from" }, element("a", { href: `#${from.id}` }, ...words));
      section.append(element("div", { id: `${id}-${i}` }, head, ...content));
    });
    if (entries.length) chapter.insertBefore(section, before);
  }

  gather("answers", "Answers", chapter.querySelector(":scope > #sources"), [...article.querySelectorAll(".predict details, section.exercise details")].map((fold, i) => {
    const panel = fold.closest(".answer"), [, ...answer] = fold.children;
    fold.replaceWith(element("p", { className: "turn" }, element("a", { href: `#answers-${i}` }, "The answer is at the end of the chapter.")));
    return [panel, plain(panel.querySelector("legend, h3")), ...answer];
  }));

  const figures = [...article.querySelectorAll("figure.explore")];
  const labelled = cell => {
    const figure = cell.querySelector("figure.explore"), cards = [...cell.querySelectorAll("article.claim")];
    if (figure) return [`Figure ${1 + figures.indexOf(figure)}: `, ...plain(figure.querySelector(".title"))];
    if (cards.length) return [cards.map(card => card.id).join(", ")];
    const heading = cell.closest("section").querySelector("h1, h2, h3, h4");
    return ["In “", ...plain(cell.querySelector("legend") ?? heading), "”"];
  };
  gather("folded-code", "Folded code", null, [...article.querySelectorAll("div.cell details.hide")].map(fold => {
    const cell = fold.closest(".cell"), [, ...code] = fold.children;
    fold.remove();
    return [cell, labelled(cell), ...code];
  }));

  // Chromium marks the places that a link on the same page points at, seen or not
  article.append(element("nav", { hidden: true }, ...targets.map(id => element("a", { href: `#${id}` }, id))));

  document.head.append(element("style", {}, `
    @page {
      size: A4; margin: 24mm 22mm 22mm;
      font: 8pt "Helvetica Neue", Arial, sans-serif; color: #48566b;
      @top-left { content: ${quoted(book)}; } @top-right { content: ${quoted(title)}; }
      @bottom-right { content: counter(page); }
    }
    @page :first { counter-set: page ${first}; @top-left { content: none; } @top-right { content: none; } }
    .gathered > div { margin: 0 0 var(--s4); font-size: var(--note); }
    .gathered p { margin: 0 0 var(--s1); }
    .gathered .sd-summary-content { padding: 0 !important; }
    .gathered .from { font-weight: 600; break-after: avoid; }
    #answers > div { break-inside: avoid; }
    #folded-code > div { margin-bottom: var(--s3); font-size: var(--tiny); }
    #folded-code .cell_input { background: var(--panel); border-radius: var(--r2); }
    #folded-code :is(.highlight, pre) { background: none !important; }
    #folded-code pre { padding: var(--s1) var(--s3); font-size: 11px; line-height: 1.35; break-inside: auto; }
    .explore .grid { border: 0 solid var(--line); }
    .explore .grid::after { content: none; }
    .answer .turn { margin: var(--s2) 0 0; font-size: var(--label); }
  `));
  scrollTo(0, 0);
  dispatchEvent(new Event("beforeprint"));
  await turn();
  document.querySelectorAll(".explore .grid").forEach(rule);
  return title;
}
