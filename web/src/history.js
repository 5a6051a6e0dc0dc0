// The optimiser's way to the maximum.
import * as Plot from "@observablehq/plot";
import {accent, place, plotOptions, rule} from "./style.js";

export function drawHistory(figure, points) {
  const panel = (y, label, type) =>
    Plot.plot({
      ...plotOptions,
      height: 170,
      marginLeft: 80,
      x: {label: "iteration", labelArrow: "none", tickFormat: "d"},
      y: {label, type, labelArrow: "none", nice: true},
      marks: [
        Plot.gridY({stroke: rule, strokeOpacity: 1}),
        Plot.line(points, {x: "iteration", y, stroke: accent, strokeWidth: 1.4}),
        Plot.dot(points, {x: "iteration", y, r: 2.6, fill: accent, className: "step"})
      ]
    });
  const positive = points.every((point) => point.max_scaled_gradient > 0);
  place(
    figure,
    panel("log_likelihood", "log-likelihood", "linear"),
    panel("max_scaled_gradient", "largest scaled gradient", positive ? "log" : "linear")
  );
}
