// What a test for one person can achieve: misses against false alarms, and delta against epsilon.
import * as Plot from "@observablehq/plot";
import {accent, faint, muted, place, plotOptions, rule, widthOf} from "./style.js";

const falseAlarms = 0.05;

export function drawTradeOff(figure, {points}) {
  const reached = points.some((point) => point.upper < 1 - point.alpha);
  // Only where it was computed: between two points a straight line would promise too much.
  const marks = points.filter((point) => point.alpha === falseAlarms);
  const width = Math.min(460, widthOf(figure));
  place(
    figure,
    Plot.plot({
      ...plotOptions,
      width,
      height: width - 20,
      marginLeft: 60,
      marginBottom: 44,
      x: {label: "false alarms (type I error)", labelAnchor: "center", labelArrow: "none", domain: [0, 1]},
      y: {label: "misses (type II error)", labelArrow: "none", domain: [0, 1]},
      marks: [
        Plot.gridX({stroke: rule, strokeOpacity: 1}),
        Plot.gridY({stroke: rule, strokeOpacity: 1}),
        Plot.areaY(points, {x: "alpha", y1: "lower", y2: (point) => 1 - point.alpha, fill: accent, fillOpacity: 0.12}),
        Plot.line([[0, 1], [1, 0]], {stroke: faint, strokeDasharray: "4,3", className: "diagonal"}),
        ...(reached
          ? [Plot.line(points, {x: "alpha", y: "upper", stroke: muted, strokeWidth: 1, strokeDasharray: "2,2", className: "reached"})]
          : []),
        Plot.line(points, {x: "alpha", y: "lower", stroke: accent, strokeWidth: 1.8, className: "guarantee"}),
        Plot.dot(marks, {x: "alpha", y: "lower", r: 3.5, fill: accent, className: "five-percent"}),
        Plot.text(marks, {
          x: "alpha",
          y: "lower",
          text: (mark) => `misses at least ${Math.floor(1000 * mark.lower) / 10} % at 5 % false alarms`,
          textAnchor: "start",
          dx: 10,
          dy: -8,
          fill: muted
        })
      ]
    })
  );
}

export function drawProfile(figure, points) {
  // A logarithmic axis has no 0; what is below its end is drawn at the end.
  const smallest = 1e-12;
  const rows = points.map((point) => ({
    epsilon: point.epsilon,
    lower: Math.max(point.lower, smallest),
    upper: Math.max(point.upper, smallest)
  }));
  place(
    figure,
    Plot.plot({
      ...plotOptions,
      width: widthOf(figure),
      height: 320,
      marginLeft: 80,
      marginBottom: 44,
      x: {label: "epsilon", labelAnchor: "center", labelArrow: "none"},
      y: {label: "delta", labelArrow: "none", type: "log", tickFormat: (value) => value.toExponential(0), ticks: 6},
      marks: [
        Plot.gridX({stroke: rule, strokeOpacity: 1}),
        Plot.gridY({stroke: rule, strokeOpacity: 1, ticks: 6}),
        Plot.areaY(rows, {x: "epsilon", y1: "lower", y2: "upper", fill: accent, fillOpacity: 0.25}),
        Plot.line(rows, {x: "epsilon", y: "upper", stroke: accent, strokeWidth: 1.6, className: "profile"})
      ]
    })
  );
}
