// What a party did when: one bar per phase on the clock of the run, and the bytes beside it.
import * as Plot from "@observablehq/plot";
import {accent, cutTo, labelRoom, muted, place, plotOptions, rule, shortNumber, widthOf} from "./style.js";

const noteRoom = 230;
const narrow = 620;

export function drawTraffic(figure, phases) {
  const width = widthOf(figure);
  const room = labelRoom(phases.map((phase) => phase.phase), width);
  const end = Math.max(...phases.map((phase) => phase.start + phase.seconds));
  const unit = end < 1 ? {factor: 1000, name: "milliseconds"} : {factor: 1, name: "seconds"};
  const bars = phases.map((phase, i) => ({
    row: i,
    phase: phase.phase,
    start: phase.start * unit.factor,
    end: (phase.start + phase.seconds) * unit.factor,
    note: phase.note
  }));
  // Where there is no room for the bytes beside the bars, the table alone has them.
  const notes = width < narrow ? [] : bars;
  place(
    figure,
    Plot.plot({
      ...plotOptions,
      width,
      marginLeft: room,
      marginRight: width < narrow ? 20 : noteRoom,
      marginTop: 6,
      marginBottom: 36,
      height: 46 + 24 * phases.length,
      x: {label: `${unit.name}, one phase after the other`, labelArrow: "none", labelAnchor: "center", ticks: width < narrow ? 4 : 6},
      y: {type: "band", domain: bars.map((bar) => bar.row), tickFormat: (row) => cutTo(bars[row].phase, room), label: null, tickSize: 0, padding: 0.35},
      marks: [
        Plot.gridX({stroke: rule, strokeOpacity: 1, ticks: width < narrow ? 4 : 6}),
        Plot.rect(bars, {x1: "start", x2: "end", y: "row", fill: accent, className: "phase", ariaLabel: (bar) => `${bar.phase}: ${shortNumber(bar.end - bar.start)} ${unit.name}`}),
        // A phase shorter than a pixel still has a mark.
        Plot.tickX(bars, {x: "start", y: "row", stroke: accent, strokeWidth: 2}),
        Plot.text(notes, {
          x: "end",
          y: "row",
          text: "note",
          textAnchor: "start",
          dx: 8,
          fill: muted
        })
      ]
    })
  );
}
