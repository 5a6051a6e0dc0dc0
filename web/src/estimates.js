// Estimates with their intervals.
import * as Plot from "@observablehq/plot";
import {accent, cutTo, faint, labelRoom, plotOptions, rule, series, shapes, shortNumber, widthOf} from "./style.js";

const rowHeight = 22;
const seriesHeight = 15;
const panelWidth = 400;  // of a parameter with an axis of its own, at most

const describe = (row) =>
  [row.label, row.series, shortNumber(row.est), `(${shortNumber(row.lower)} to ${shortNumber(row.upper)})`]
    .filter((word) => word !== "")
    .join(" ");

// Whether an axis that reaches to zero would leave nothing to see.
function farFromZero(rows) {
  const low = Math.min(...rows.map((row) => row.lower));
  const high = Math.max(...rows.map((row) => row.upper));
  return low * high > 0 && Math.min(Math.abs(low), Math.abs(high)) > 4 * (high - low);
}

// Intervals on one axis with a line at zero, unless that is far away: `rows` with label, est, lower, upper, each in the row of
// the plot that `place` says, of which `domain` has all.
function intervals(rows, names, width, place, domain, y) {
  const stroke = (row) =>
    names.length > 1 ? series[names.indexOf(row.series) % series.length] : accent;
  const ticks = Math.max(3, Math.round((width - y.room) / 90));
  return Plot.plot({
    ...plotOptions,
    width,
    marginLeft: y.room,
    marginRight: 22,
    marginTop: 6,
    marginBottom: 26,
    height: 32 + y.height * domain.length,
    x: {nice: true, inset: 6},
    y: {domain, label: null, tickSize: 0, ...y.axis},
    symbol: {type: "identity"},
    marks: [
      Plot.gridX({ticks, stroke: rule, strokeOpacity: 1}),
      Plot.ruleX(farFromZero(rows) ? [] : [0], {stroke: faint}),
      Plot.ruleY(rows, {y: place, x1: "lower", x2: "upper", stroke, strokeWidth: 1.6, className: "interval"}),
      Plot.dot(rows, {
        y: place,
        x: "est",
        r: 3.6,
        fill: stroke,
        symbol: (row) => (names.length > 1 ? shapes[names.indexOf(row.series) % shapes.length] : "circle"),
        className: "estimate",
        ariaLabel: describe
      }),
      Plot.axisX({label: null, tickSize: 4, ticks})
    ]
  });
}

function element(kind, ...children) {
  const block = document.createElement("div");
  block.className = kind;
  block.append(...children);
  return block;
}

function legend(names) {
  return element(
    "legend",
    ...names.map((name, i) => {
      const item = document.createElement("span");
      const symbol = Plot.plot({
        className: "plot",
        width: 14,
        height: 14,
        margin: 0,
        axis: null,
        x: {domain: [-1, 1], range: [0, 14]},
        y: {domain: [-1, 1], range: [14, 0]},
        symbol: {type: "identity"},
        marks: [
          Plot.dot([[0, 0]], {r: 4, fill: series[i % series.length], symbol: shapes[i % shapes.length]})
        ]
      });
      symbol.setAttribute("aria-hidden", "true");
      const words = document.createElement("span");
      words.textContent = name;
      item.append(symbol, words);
      return item;
    })
  );
}

const unique = (values) => [...new Set(values)];

function picture(figure, title, drawn) {
  drawn.setAttribute("role", "img");
  drawn.setAttribute("aria-label", `${figure.dataset.label}: ${title}`);
  return drawn;
}

// In standard deviations all parameters of a kind share an axis.
function oneAxis(figure, section, names, room) {
  const labels = unique(section.rows.map((row) => row.label));
  const drawn = intervals(section.rows, names, widthOf(figure), "label", labels, {
    room,
    height: rowHeight,
    axis: {axis: "left", tickFormat: (label) => cutTo(label, room)}
  });
  return element(
    "plot-block",
    element("plot-title", `${section.title}, standardised`),
    picture(figure, section.title, drawn)
  );
}

// In units of their own every parameter has an axis.
function ownAxes(figure, section, names) {
  const width = Math.min(panelWidth, widthOf(figure));
  const panels = unique(section.rows.map((row) => row.label)).map((label) => {
    const rows = section.rows.filter((row) => row.label === label);
    const drawn = intervals(rows, names, width, "series", names, {
      room: 10,
      height: names.length > 1 ? seriesHeight : rowHeight,
      axis: {axis: null}
    });
    return element("panel", element("panel-title", label), picture(figure, label, drawn));
  });
  return element(
    "plot-block",
    element("plot-title", section.title),
    element("panels", ...panels)
  );
}

function drawSections(figure, sections, names) {
  // The same room for the labels of all sections, so that their axes begin below one another.
  const labels = sections.flatMap((section) => section.rows.map((row) => row.label));
  const room = labelRoom(labels, widthOf(figure));
  const parts = sections.map((section) =>
    (section.scale === "own" ? ownAxes : oneAxis)(figure, section, names, room)
  );
  figure.prepend(...(names.length > 1 ? [legend(names)] : []), ...parts);
}

export function drawEstimates(figure, analysis) {
  drawSections(figure, analysis.sections, analysis.series);
}

export function drawComparison(figure, comparison) {
  drawSections(figure, comparison.sections, comparison.series);
}
