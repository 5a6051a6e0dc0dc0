// Measures the pages in the frames of this document (LayoutFaults in browser.h) and writes what is
// wrong into #faults, one line each.

const slack = 1.5; // pixels, for rounding
const smallest = 9; // height of a line of text, in pixels

const inside = (box, bound) =>
  box.left >= bound.left - slack && box.right <= bound.right + slack;

// The part of a line of text that letters fill.
const core = (box) => ({
  left: box.left,
  right: box.right,
  top: box.top + 0.2 * box.height,
  bottom: box.bottom - 0.2 * box.height
});

const over = (a, b) =>
  Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;

function texts(doc) {
  const found = [];
  const walker = doc.createTreeWalker(doc.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (node.data.trim() === "" || parent.closest("script, style, noscript, title, .halo")) continue;
    const range = doc.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width > 0 && box.height > 0) found.push({words: node.data.trim().slice(0, 40), parent, box});
    }
  }
  return found;
}

// The nearest element at or above one that matches, or null; each element is asked once.
function ancestors(matches) {
  const known = new Map();
  const find = (element) => {
    if (!element) return null;
    if (!known.has(element)) known.set(element, matches(element) ? element : find(element.parentElement));
    return known.get(element);
  };
  return find;
}

const isPaper = (frame) => frame.name.endsWith(", paper");

function faults(frame) {
  const doc = frame.contentDocument;
  const style = (element) => frame.contentWindow.getComputedStyle(element);
  const paper = isPaper(frame);
  const found = [];
  const complain = (what) => found.push(`${frame.name}: ${what}`);
  const page = {left: 0, right: doc.documentElement.clientWidth};
  const scroller = ancestors((element) => ["auto", "scroll"].includes(style(element).overflowX));
  const clipper = ancestors((element) => element.tagName !== "svg" && style(element).overflowX === "hidden");
  if (doc.documentElement.scrollWidth > page.right + slack) {
    complain(`the page is ${doc.documentElement.scrollWidth} pixels wide`);
  }
  const pictures = new Map();
  for (const {words, parent, box} of texts(doc)) {
    if (!scroller(parent) && !inside(box, page)) complain(`outside the page: ${words}`);
    const clips = clipper(parent);
    if (clips && !inside(box, clips.getBoundingClientRect())) complain(`clipped: ${words}`);
    const picture = parent.closest("svg");
    if (!picture) continue;
    const figure = picture.closest("figure");
    const bound = style(picture).overflow === "visible" ? figure : picture;
    if (!inside(box, bound.getBoundingClientRect())) complain(`outside its picture: ${words}`);
    const whole = picture.getBoundingClientRect();
    if (box.top < whole.top - slack - 4 || box.bottom > whole.bottom + slack + 4) {
      complain(`above or below its picture: ${words}`);
    }
    if (!paper && box.height < smallest) complain(`too small (${box.height.toFixed(1)}): ${words}`);
    if (!pictures.has(picture)) pictures.set(picture, []);
    pictures.get(picture).push({words, box: core(box)});
  }
  for (const drawn of pictures.values()) {
    drawn.forEach((a, i) => {
      for (const b of drawn.slice(0, i)) {
        if (over(a.box, b.box)) complain(`one over the other: ${a.words} | ${b.words}`);
      }
    });
  }
  for (const entry of doc.querySelectorAll(".legend > span")) {
    if (!inside(entry.getBoundingClientRect(), entry.closest("figure").getBoundingClientRect())) {
      complain(`legend outside its figure: ${entry.textContent}`);
    }
  }
  for (const figure of doc.querySelectorAll("figure")) {
    if (!figure.querySelector("svg")) complain("a figure without a picture");
  }
  return found;
}

window.addEventListener("load", () => {
  const frames = [...document.querySelectorAll("iframe")];
  for (const frame of frames) {
    if (isPaper(frame)) continue;
    for (const details of frame.contentDocument.querySelectorAll("details")) details.open = true;
  }
  document.getElementById("faults").textContent = frames.flatMap(faults).join("\n");
});
