// What the plots have in common.

// As wide as there is room, from a telephone to the page's own width.
export const widthOf = (figure) => Math.max(260, Math.min(860, figure.clientWidth));
export const ink = "#1c2733";
export const muted = "#5a6672";
export const faint = "#8a96a3";
export const rule = "#d5dbe1";
export const accent = "#1f5a96";
// The colours of report.css, and shapes.
export const series = [1, 2, 3, 4, 5, 6].map((number) => `var(--series-${number})`);
export const shapes = ["circle", "square", "triangle", "diamond", "star", "wye"];

export const plotOptions = {
  className: "plot",
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

// Room for the longest label of an axis, in pixels: at most two fifths of the picture. What is longer
// is cut; the tables have it in full.
const character = 7;
export function labelRoom(labels, width) {
  const longest = labels.reduce((most, label) => Math.max(most, label.length), 0);
  return Math.min(Math.round(0.4 * width), 24 + character * longest);
}
export function cutTo(text, room) {
  const most = Math.max(4, Math.floor((room - 24) / character));
  return text.length > most ? `${text.slice(0, most - 1)}\u2026` : text;
}

// Three significant digits, no exponent between 0.001 and 99999.
export function shortNumber(value) {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size < 0.001 || size >= 1e5) return value.toExponential(1);
  return String(Number(value.toPrecision(3)));
}
