// Every text in sight, of HTML and of SVG, with its contrast (WCAG 2) against what is painted behind it, lowest first.
// `within` selects where to look. Pictures are replaced by the SVG that they hold. Leaves the page scrolled.
async within => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = color => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return [r, g, b, a];
  };
  const over = ([r, g, b, a], ground) => [r, g, b].map((v, i) => a * v + (1 - a) * ground[i]);
  const faded = ([r, g, b, a], by) => [r, g, b, a * by];
  const luminance = rgb => rgb.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + .05) / (low + .05);
  };
  const shades = new Map([[null, 1]]);
  const shade = element => {  // its opacity and that of all around it
    if (!shades.has(element)) shades.set(element, getComputedStyle(element).opacity * shade(element.parentElement));
    return shades.get(element);
  };

  for (const image of document.querySelectorAll("img.picture")) {
    if (!image.checkVisibility()) continue;
    image.loading = "eager";
    await image.decode();
    const box = document.createElement("div"), { width, height } = image.getBoundingClientRect();
    box.innerHTML = await (await fetch(image.currentSrc)).text();
    const svg = box.querySelector("svg");
    for (const [name, value] of Object.entries({ width, height, class: "picture" })) svg.setAttribute(name, value);
    image.replaceWith(svg);
    for (const part of svg.querySelectorAll("image")) {
      part.shown = Object.assign(new Image(), { src: part.href.baseVal });
      await part.shown.decode();
    }
  }

  // One pixel of a canvas, or of an image in an SVG, at a point of the window
  const pixel = (element, x, y) => {
    const box = element.getBoundingClientRect(), source = element.shown ?? element;
    const [w, h] = [source.naturalWidth ?? source.width, source.naturalHeight ?? source.height];
    pen.clearRect(0, 0, 1, 1);
    pen.drawImage(source, Math.floor((x - box.x) / box.width * w), Math.floor((y - box.y) / box.height * h), 1, 1, 0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  // What one element paints at a point, lowest first
  const paints = (element, x, y) => {
    const look = getComputedStyle(element), by = shade(element);
    if (element.tagName === "CANVAS" || element.shown) return [pixel(element, x, y)];
    if (!(element instanceof SVGGeometryElement)) return [faded(rgba(look.backgroundColor), by)];
    const at = new DOMPoint(x, y).matrixTransform(element.getScreenCTM().inverse()), made = [];
    if (look.fill !== "none" && element.isPointInFill(at)) made.push(faded(rgba(look.fill), by * look.fillOpacity));
    if (look.stroke !== "none" && element.isPointInStroke(at)) made.push(faded(rgba(look.stroke), by * look.strokeOpacity));
    return made;
  };
  const WHITE = [255, 255, 255], papers = new Map([[null, WHITE]]);
  const paper = element => {  // behind HTML stand the elements that hold it
    if (!papers.has(element)) papers.set(element, over(rgba(getComputedStyle(element).backgroundColor), paper(element.parentElement)));
    return papers.get(element);
  };
  const ground = (element, x, y) => {  // behind SVG stands what is hit below it; null where it is clipped
    const stack = document.elementsFromPoint(x, y), at = stack.indexOf(element);
    return at < 0 ? null : stack.slice(at + 1).reverse().filter(e => !(e instanceof SVGTextContentElement))
      .flatMap(e => paints(e, x, y)).reduce((under, color) => over(color, under), WHITE);
  };
  const spread = ({ left, top, width, height }) =>
    [.1, .3, .5, .7, .9].flatMap(fx => [.3, .7].map(fy => [left + fx * width, top + fy * height]));

  const found = [];
  const put = (element, words, color, grounds) => grounds.length && found.push({
    words: words.trim().slice(0, 40), where: `${element.tagName}.${element.getAttribute("class") ?? ""} in #${element.closest("[id]")?.id}`,
    svg: element instanceof SVGElement,
    ratios: grounds.map(behind => contrast(over(faded(color, shade(element)), behind), behind)).sort((a, b) => a - b),
  });
  const hit = document.head.appendChild(document.createElement("style"));
  hit.textContent = "*, ::before, ::after { pointer-events: auto !important; scroll-behavior: auto !important; }";
  for (const root of document.querySelectorAll(within)) {
    for (const element of root.querySelectorAll("input:not([type=radio], [type=checkbox], [type=range]), select")) {
      const look = getComputedStyle(element), empty = element.placeholder && !element.value;
      if (element.checkVisibility() && (element.value || empty))
        put(element, element.value || element.placeholder, rgba(empty ? getComputedStyle(element, "::placeholder").color : look.color), [paper(element)]);
    }
    for (const element of [root, ...root.querySelectorAll(":not(mjx-container *)")]) for (const side of ["::before", "::after"]) {
      const look = getComputedStyle(element, side);
      if (!/["(].*\w/.test(look.content) || look.opacity === "0" || !element.checkVisibility()) continue;
      put(element, `${side} ${look.content}`, rgba(look.color), [over(rgba(look.backgroundColor), paper(element))]);
    }
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), range = document.createRange();
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement, words = node.textContent;
      if (!words.trim() || ["SCRIPT", "STYLE", "OPTION", "TITLE"].includes(element.tagName)) continue;
      range.selectNodeContents(node);
      let box = range.getBoundingClientRect();
      if (box.width < 2 || box.height < 2 || !element.checkVisibility({ visibilityProperty: true })) continue;
      const look = getComputedStyle(element);
      if (!(element instanceof SVGElement)) {
        put(element, words, rgba(look.color), [paper(element)]);
        continue;
      }
      if (box.top < 0 || box.bottom > innerHeight) {
        scrollBy(0, box.top - innerHeight / 3);
        box = range.getBoundingClientRect();
      }
      const halo = look.paintOrder.startsWith("stroke") && parseFloat(look.strokeWidth) >= 2;
      const grounds = halo ? [over(rgba(look.stroke), WHITE)] : spread(box).map(([x, y]) => ground(element, x, y)).filter(Boolean);
      put(element, words, rgba(look.fill), grounds);
    }
  }
  hit.remove();
  return found;
}
