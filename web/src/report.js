// Draws the plots of a report from the numbers in the page. Everything that a plot shows stands in a
// table beside it, so a page without JavaScript loses nothing but the pictures. Names and labels are
// text of others: they reach the page as text nodes only.
import {drawDiagram} from "./diagram.js";
import {drawComparison, drawEstimates} from "./estimates.js";
import {drawHistory} from "./history.js";
import {drawProfile, drawTradeOff} from "./trade_off.js";
import {drawTraffic} from "./traffic.js";

const data = JSON.parse(document.getElementById("report-data").textContent);

const painters = {
  estimates: (figure) => drawEstimates(figure, data.analyses[figure.dataset.analysis]),
  diagram: (figure) =>
    drawDiagram(figure, data.analyses[figure.dataset.analysis].graphs[figure.dataset.group]),
  history: (figure) => drawHistory(figure, data.analyses[figure.dataset.analysis].history),
  comparison: (figure) => drawComparison(figure, data.comparison),
  traffic: (figure) => drawTraffic(figure, data.traffic),
  "trade-off": (figure) => drawTradeOff(figure, data.privacy[figure.dataset.row]),
  profile: (figure) => drawProfile(figure, data.profile)
};

const figures = [...document.querySelectorAll("[data-plot]")];

// In the room that each has; whatever was drawn before goes.
function draw() {
  for (const figure of figures) {
    figure.replaceChildren(...figure.querySelectorAll(":scope > figcaption"));
    painters[figure.dataset.plot](figure);
  }
}

let drawnFor = document.body.clientWidth;
window.addEventListener("resize", () => {
  if (document.body.clientWidth === drawnFor) return;
  drawnFor = document.body.clientWidth;
  draw();
});
draw();
document.documentElement.dataset.drawn = "yes";
