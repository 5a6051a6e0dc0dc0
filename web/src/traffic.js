// What a party did when: one bar per phase on the clock of the run, and the bytes beside it.
import * as Plot from "@observablehq/plot";
import {accent, labelWidth, muted, place, plotOptions, rule, shortNumber} from "./style.js";

export function drawTraffic(figure, phases) {
  const labels = phases.map((phase) => phase.phase);
  const end = Math.max(...phases.map((phase) => phase.start + phase.seconds));
  const unit = end < 1 ? {factor: 1000, name: "milliseconds"} : {factor: 1, name: "seconds"};
  const bars = phases.map((phase) => ({
    phase: phase.phase,
    start: phase.start * unit.factor,
    end: (phase.start + phase.seconds) * unit.factor,
    note: phase.note
  }));
  place(
    figure,
    Plot.plot({
      ...plotOptions,
      marginLeft: labelWidth(labels),
      marginRight: 230,
      marginTop: 6,
      marginBottom: 36,
      height: 46 + 24 * phases.length,
      x: {label: `${unit.name}, one phase after the other`, labelArrow: "none", labelAnchor: "center"},
      y: {domain: labels, label: null, tickSize: 0, padding: 0.35},
      marks: [
        Plot.gridX({stroke: rule, strokeOpacity: 1}),
        Plot.rect(bars, {x1: "start", x2: "end", y: "phase", fill: accent, className: "phase", ariaLabel: (bar) => `${bar.phase}: ${shortNumber(bar.end - bar.start)} ${unit.name}`}),
        // A phase shorter than a pixel still has a mark.
        Plot.tickX(bars, {x: "start", y: "phase", stroke: accent, strokeWidth: 2}),
        Plot.text(bars, {
          x: "end",
          y: "phase",
          text: "note",
          textAnchor: "start",
          dx: 8,
          fill: muted
        })
      ]
    })
  );
}
