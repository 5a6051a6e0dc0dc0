// The optimiser's way to the maximum.
import * as Plot from "@observablehq/plot";
import {accent, place, plotOptions, rule, widthOf} from "./style.js";

// Whole iterations, about ten of them.
function iterationTicks(points) {
  const last = Math.max(...points.map((point) => point.iteration));
  const step = Math.max(1, Math.ceil(last / 10));
  return points.map((point) => point.iteration).filter((iteration) => iteration % step === 0);
}

function panel(points, column, width, y) {
  return Plot.plot({
    ...plotOptions,
    width,
    height: 180,
    marginLeft: 80,
    marginTop: 30,
    marginBottom: 38,
    x: {
      label: "iteration",
      labelAnchor: "center",
      labelArrow: "none",
      ticks: iterationTicks(points),
      tickFormat: "d"
    },
    y: {labelArrow: "none", nice: true, ticks: 4, ...y},
    marks: [
      Plot.gridY({ticks: 4, stroke: rule, strokeOpacity: 1}),
      Plot.line(points, {x: "iteration", y: column, stroke: accent, strokeWidth: 1.4}),
      Plot.dot(points, {x: "iteration", y: column, r: 2.6, fill: accent, className: "step"})
    ]
  });
}

export function drawHistory(figure, points) {
  const positive = points.every((point) => point.max_scaled_gradient > 0);
  const width = widthOf(figure);
  place(
    figure,
    panel(points, "log_likelihood", width, {label: "log-likelihood"}),
    panel(points, "max_scaled_gradient", width, {
      label: "largest scaled gradient",
      type: positive ? "log" : "linear",
      tickFormat: (value) => value.toExponential(0)
    })
  );
}
