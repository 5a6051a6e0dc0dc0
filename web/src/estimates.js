// Estimates with their intervals.
import * as Plot from "@observablehq/plot";
import {accent, faint, labelWidth, plotOptions, rule, series, shapes, shortNumber} from "./style.js";

const rowHeight = 22;
const seriesHeight = 15;

const describe = (row) =>
  [row.label, row.series, shortNumber(row.est), `(${shortNumber(row.lower)} to ${shortNumber(row.upper)})`]
    .filter((word) => word !== "")
    .join(" ");

// One interval per row, all on one axis with a line at zero. `rows`: label, est, lower, upper and,
// with several series, which one.
function intervals(rows, labels, names, left) {
  const several = names.length > 1;
  const color = (row) => series[names.indexOf(row.series) % series.length];
  // Series stand below one another within a row of the plot.
  const place = several ? {y: "series", fy: "label"} : {y: "label"};
  const stroke = several ? color : accent;
  const lines = several ? seriesHeight * names.length + 10 : rowHeight;
  const marks = [
    Plot.gridX({ticks: 6, stroke: rule, strokeOpacity: 1}),
    Plot.ruleX([0], {stroke: faint}),
    Plot.ruleY(rows, {...place, x1: "lower", x2: "upper", stroke, strokeWidth: 1.6, className: "interval"}),
    Plot.dot(rows, {
      ...place,
      x: "est",
      r: 3.6,
      fill: stroke,
      symbol: several ? (row) => shapes[names.indexOf(row.series) % shapes.length] : "circle",
      className: "estimate",
      ariaLabel: describe
    }),
    Plot.axisX({label: null, tickSize: 4, ticks: 6})
  ];
  return Plot.plot({
    ...plotOptions,
    marginLeft: left,
    marginRight: 16,
    marginTop: 6,
    marginBottom: 26,
    height: 32 + lines * labels.length,
    x: {nice: true, inset: 6},
    y: {domain: several ? names : labels, axis: several ? null : "left", label: null, tickSize: 0},
    fy: several ? {domain: labels, label: null, axis: "left", padding: 0.12} : undefined,
    symbol: {type: "identity"},
    marks
  });
}

function caption(text) {
  const heading = document.createElement("div");
  heading.className = "plot-title";
  heading.textContent = text;
  return heading;
}

function legend(names) {
  const list = document.createElement("div");
  list.className = "legend";
  names.forEach((name, i) => {
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
    item.append(symbol, name);
    list.append(item);
  });
  return list;
}

function unique(values) {
  return [...new Set(values)];
}

// Sections have scales of their own: a variance and a loading do not share one.
function drawSections(figure, sections, names) {
  const left = labelWidth(sections.flatMap((section) => section.rows.map((row) => row.label)));
  const parts = names.length > 1 ? [legend(names)] : [];
  for (const section of sections) {
    const labels = unique(section.rows.map((row) => row.label));
    const picture = intervals(section.rows, labels, names, left);
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", `${figure.dataset.label}: ${section.title}`);
    const block = document.createElement("div");
    block.className = "plot-block";
    block.append(caption(section.title), picture);
    parts.push(block);
  }
  figure.prepend(...parts);
}

export function drawEstimates(figure, analysis) {
  drawSections(figure, analysis.sections, analysis.series);
}

export function drawComparison(figure, comparison) {
  drawSections(figure, comparison.sections, comparison.series);
}
