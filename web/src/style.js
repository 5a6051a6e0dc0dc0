// What the plots have in common.

export const width = 860;
export const ink = "#1c2733";
export const muted = "#5a6672";
export const faint = "#8a96a3";
export const rule = "#d5dbe1";
export const accent = "#1f5a96";
// Distinguishable in print and for colour-blind readers (Okabe and Ito), and by shape.
export const series = ["#1f5a96", "#d55e00", "#009e73", "#cc79a7", "#7a5c00", "#56b4e9"];
export const shapes = ["circle", "square", "triangle", "diamond", "star", "wye"];

export const plotOptions = {
  className: "plot",
  width,
  style: {fontSize: "12px", color: ink, fontFamily: "inherit", overflow: "visible"}
};

// The picture goes before the caption; its words are the figure's label.
export function place(figure, ...pictures) {
  for (const picture of pictures) {
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", figure.dataset.label);
  }
  figure.prepend(...pictures);
}

// Room for the longest label of an axis, in pixels.
export function labelWidth(labels) {
  const longest = labels.reduce((most, label) => Math.max(most, label.length), 0);
  return Math.min(340, 24 + 7 * longest);
}

// Three significant digits, no exponent between 0.001 and 99999.
export function shortNumber(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e5)) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}
