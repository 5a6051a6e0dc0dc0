// The path diagram of a model: squares are observed variables, ellipses latent ones, arrows with one
// head loadings and regressions, arrows with two heads covariances. Positions come from dagre; only
// directed paths take part in the layout, covariances are drawn as arcs over it.
import dagre from "@dagrejs/dagre";
import {ink, place, shortNumber, widthOf} from "./style.js";

const namespace = "http://www.w3.org/2000/svg";

function element(name, attributes, ...children) {
  const node = document.createElementNS(namespace, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Beyond this a label is cut; the tables have it in full.
const longest = 22;
const cut = (text) => (text.length > longest ? `${text.slice(0, longest - 1)}\u2026` : text);

const valueOf = (edge) => (edge.est === null ? "" : shortNumber(edge.est));

// Of a value beside an edge, with its halo.
const labelSize = (text) => ({width: 6.6 * text.length + 8, height: 15});

function layout(graph, options) {
  const g = new dagre.graphlib.Graph({multigraph: true});
  g.setGraph({rankdir: "TB", nodesep: 18, ranksep: 64, edgesep: 12, marginx: 8, marginy: 8});
  g.setDefaultEdgeLabel(() => ({}));
  graph.nodes.forEach((node, i) => {
    const size = 26 + 7.2 * cut(node.name).length;
    g.setNode(String(i), {
      width: Math.max(node.latent ? 72 : 52, size),
      height: node.latent ? 40 : 30
    });
  });
  graph.edges.forEach((edge, i) => {
    if (edge.kind === "covariance") return;
    const space = {width: labelSize(valueOf(edge)).width, height: 14, labelpos: "c"};
    g.setEdge(String(edge.from), String(edge.to), space, String(i));
  });
  dagre.layout(g, options);
  return g;
}

function crossings(g) {
  const segments = g.edges().flatMap((edge) => {
    const {points} = g.edge(edge);
    return points.slice(1).map((p, i) => [points[i], p]);
  });
  const side = (a, b, c) => Math.sign((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x));
  let count = 0;
  segments.forEach(([a, b], i) => {
    for (const [c, d] of segments.slice(i + 1)) {
      if (side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0) ++count;
    }
  });
  return count;
}

// Variables in the order of the model, as its author expects them, unless that crosses more lines.
function bestLayout(graph) {
  const inOrder = layout(graph, {disableOptimalOrderHeuristic: true});
  if (crossings(inOrder) === 0) return inOrder;
  const optimised = layout(graph, {});
  return crossings(optimised) < crossings(inOrder) ? optimised : inOrder;
}

// Where the line from the middle of a node towards `at` leaves the node.
function border(node, at, round) {
  const dx = at.x - node.x;
  const dy = at.y - node.y;
  if (dx === 0 && dy === 0) return {x: node.x, y: node.y};
  const scale = round
    ? 1 / Math.hypot(dx / (node.width / 2), dy / (node.height / 2))
    : 1 / Math.max(Math.abs(dx) / (node.width / 2), Math.abs(dy) / (node.height / 2));
  return {x: node.x + dx * scale, y: node.y + dy * scale};
}

// Twice: the first in the colour of the paper, so that lines do not run through the words.
function label(at, text, kind) {
  const words = (name) => element("text", {x: at.x, y: at.y, dy: "0.34em", class: name}, text);
  return [words("halo"), words(`value ${kind}`)];
}

const boxAt = (at, {width, height}) => ({
  left: at.x - width / 2,
  right: at.x + width / 2,
  top: at.y - height / 2,
  bottom: at.y + height / 2
});

const meet = (a, b) =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

// The first place where the text meets nothing that is there already, which it joins; null: none.
function freePlace(taken, places, text) {
  for (const at of places) {
    const box = boxAt(at, labelSize(text));
    if (taken.some((other) => meet(box, other))) continue;
    taken.push(box);
    return at;
  }
  return null;
}

// From the middle outwards.
const shares = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82];

// Points of a polyline at these shares of its length.
function along(points) {
  const lengths = points.slice(1).map((p, i) => Math.hypot(p.x - points[i].x, p.y - points[i].y));
  const whole = lengths.reduce((sum, length) => sum + length, 0);
  return shares.map((share) => {
    let left = share * whole;
    let i = 0;
    while (i + 1 < lengths.length && left > lengths[i]) left -= lengths[i++];
    const t = lengths[i] > 0 ? left / lengths[i] : 0;
    const [a, b] = [points[i], points[i + 1]];
    return {x: a.x + t * (b.x - a.x), y: a.y + t * (b.y - a.y)};
  });
}

function drawPath(g, graph, edge, i, id) {
  const points = g.edge({v: String(edge.from), w: String(edge.to), name: String(i)});
  const from = g.node(String(edge.from));
  const to = g.node(String(edge.to));
  const middle = points.points.slice(1, -1);
  const first = border(from, middle[0] ?? to, graph.nodes[edge.from].latent);
  const last = border(to, middle.at(-1) ?? from, graph.nodes[edge.to].latent);
  const all = [first, ...middle, last];
  const d = all.map((p, k) => `${k === 0 ? "M" : "L"}${p.x.toFixed(1)},${p.y.toFixed(1)}`).join("");
  return {
    line: element("path", {d, class: "path", "marker-end": `url(#${id})`}),
    places: [{x: points.x, y: points.y}, ...along(all)],
    text: valueOf(edge),
    kind: "of-path"
  };
}

const between = (p, control, q, t) => ({
  x: (1 - t) ** 2 * p.x + 2 * t * (1 - t) * control.x + t ** 2 * q.x,
  y: (1 - t) ** 2 * p.y + 2 * t * (1 - t) * control.y + t ** 2 * q.y
});

// How many variables an arc or its label runs into.
function collisions(g, arc, edge) {
  const inside = (node, point, margin) =>
    Math.abs(point.x - node.x) < node.width / 2 + margin &&
    Math.abs(point.y - node.y) < node.height / 2 + margin;
  let count = 0;
  for (const name of g.nodes()) {
    const node = g.node(name);
    if (inside(node, arc.top, 12)) ++count;
    if (name === String(edge.from) || name === String(edge.to)) continue;
    for (let t = 0.05; t < 1; t += 0.05) {
      if (inside(node, between(arc.p, arc.control, arc.q, t), 2)) {
        ++count;
        break;
      }
    }
  }
  return count;
}

// An arc of a given height between two variables; positive: above, or to the right.
function arcBetween(g, graph, edge, height) {
  const a = g.node(String(edge.from));
  const b = g.node(String(edge.to));
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const upright = Math.abs(b.x - a.x) < 1;
  const sign = (upright ? b.y < a.y : b.x < a.x) ? -1 : 1;
  const normal = {x: (sign * (b.y - a.y)) / length, y: (-sign * (b.x - a.x)) / length};
  const control = {
    x: (a.x + b.x) / 2 + normal.x * height,
    y: (a.y + b.y) / 2 + normal.y * height
  };
  const p = border(a, control, graph.nodes[edge.from].latent);
  const q = border(b, control, graph.nodes[edge.to].latent);
  return {p, control, q, top: between(p, control, q, 0.5), places: shares.map((t) => between(p, control, q, t))};
}

// The flattest arc that runs into the fewest variables: above for the upper half, else below.
function bestArc(g, graph, edge) {
  const a = g.node(String(edge.from));
  const b = g.node(String(edge.to));
  const length = Math.hypot(b.x - a.x, b.y - a.y);
  const up = (a.y + b.y) / 2 <= g.graph().height / 2 ? 1 : -1;
  let best = null;
  for (const share of [0.32, 0.6, 1, 1.5]) {
    for (const side of [up, -up]) {
      const arc = arcBetween(g, graph, edge, side * (36 + share * length));
      const count = collisions(g, arc, edge);
      if (best === null || count < best.count) best = {arc, count};
    }
  }
  return best.arc;
}

function drawCovariance(g, graph, edge, id) {
  const {p, control, q, places} = bestArc(g, graph, edge);
  const at = (point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`;
  const d = `M${at(p)}Q${at(control)} ${at(q)}`;
  const ends = {"marker-end": `url(#${id})`, "marker-start": `url(#${id})`};
  return {
    line: element("path", {d, class: "covariance", ...ends}),
    places,
    text: valueOf(edge),
    kind: "of-covariance"
  };
}

function drawNode(node, place) {
  const shape = node.latent
    ? element("ellipse", {cx: place.x, cy: place.y, rx: place.width / 2, ry: place.height / 2})
    : element("rect", {
        x: place.x - place.width / 2,
        y: place.y - place.height / 2,
        width: place.width,
        height: place.height
      });
  const text = element("text", {x: place.x, y: place.y, dy: "0.34em"}, cut(node.name));
  return element("g", {class: node.latent ? "node latent" : "node observed"}, shape, text);
}

// Every diagram has an arrow head of its own.
let heads = 0;
const head = (id) =>
  element(
    "defs",
    {},
    element(
      "marker",
      {id, viewBox: "0 0 8 8", refX: 7.2, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse"},
      element("path", {d: "M0,0.8L8,4L0,7.2Z", fill: ink})
    )
  );

// Values where they meet neither variables nor one another; those of paths come first.
function labels(g, drawn) {
  const taken = g.nodes().map((name) => boxAt(g.node(name), g.node(name)));
  const elements = [];
  let without = 0;
  for (const kind of ["of-path", "of-covariance"]) {
    for (const edge of drawn) {
      if (edge.kind !== kind || edge.text === "") continue;
      const at = freePlace(taken, edge.places, edge.text);
      if (at === null) ++without;
      else elements.push(...label(at, edge.text, kind));
    }
  }
  return {elements, without};
}

function note(without) {
  const text = document.createElement("div");
  text.className = "note";
  text.textContent = `${without} of the values found no room; the table has them.`;
  return text;
}

export function drawDiagram(figure, graph) {
  const g = bestLayout(graph);
  const id = `head-${++heads}`;
  const drawn = graph.edges.map((edge, i) =>
    edge.kind === "covariance" ? drawCovariance(g, graph, edge, id) : drawPath(g, graph, edge, i, id)
  );
  const {elements, without} = labels(g, drawn);
  const picture = element(
    "svg",
    {class: "diagram"},
    head(id),
    ...drawn.map((edge) => edge.line),
    ...graph.nodes.map((node, i) => drawNode(node, g.node(String(i)))),
    ...elements
  );
  place(figure, picture);
  // Arcs reach beyond the layout's own box.
  const box = picture.getBBox();
  const margin = 10;
  const size = {width: box.width + 2 * margin, height: box.height + 2 * margin};
  picture.setAttribute("viewBox", `${box.x - margin} ${box.y - margin} ${size.width} ${size.height}`);
  // What would become illegible scrolls instead.
  const scale = Math.max(0.75, Math.min(1, widthOf(figure) / size.width));
  picture.setAttribute("width", Math.round(size.width * scale));
  picture.setAttribute("height", Math.round(size.height * scale));
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  picture.replaceWith(scroll);
  scroll.append(picture);
  if (without > 0) scroll.after(note(without));
}
