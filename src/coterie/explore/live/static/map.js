// The map: dots for rows, rings for rows that moved, diamonds for exemplars; lasso, click and hover.

const plots = coteriePlots;
const holder = document.getElementById("map-plot");
const FEW = 20;
const ECHO_MS = 1000;
let points = { x: [], y: [], rows: [], layout: {} };
let drag = plots.narrow.matches ? false : "lasso";
let listening = false;

export function setPoints(given) {
  points = given;
}

export function setDrag(mode) {
  drag = mode;
}

export function rowAt(position) {
  return points.rows[position];
}

export function positionsOf(rows) {
  const wanted = new Set(rows);
  return points.rows.flatMap((row, position) => (wanted.has(row) ? [position] : []));
}

function trace(positions, marker) {
  return {
    type: "scatter", mode: "markers", hoverinfo: "skip", marker,
    x: positions.map((position) => points.x[position]), y: positions.map((position) => points.y[position]),
  };
}

// Positions of the picked dots (null for all), of those that moved, of exemplars, and of those that go in front.
export function draw(marker, { picked, moved, exemplars, front }) {
  const size = points.rows.length > 2000 ? 5 : 7;
  // A few picked dots would be lost among all the pale ones.
  const larger = picked !== null && picked.length <= FEW ? 12 : size;
  const dots = {
    type: "scatter", mode: "markers", x: points.x, y: points.y, hoverinfo: "none",
    selected: { marker: { opacity: 0.95, size: larger } }, unselected: { marker: { opacity: 0.2 } },
    marker: { ...marker, size, opacity: 0.85, colorbar: plots.colorbar("") },
  };
  if (picked !== null) dots.selectedpoints = picked;
  const ink = plots.colour("--ink");
  const ahead = trace(front, { ...marker, color: front.map((position) => marker.color[position]), size: 10, line: { color: ink, width: 1 } });
  // Many rings would hide the dots in them.
  const many = moved.length > FEW;
  const rings = trace(moved, { symbol: "circle-open", size: many ? size + 3 : 11, color: ink, opacity: many ? 0.3 : 0.8, line: { width: many ? 1 : 1.5 } });
  const diamonds = trace(exemplars, { symbol: "diamond-open", size: 11, color: ink, line: { width: 2 } });
  const layout = { ...points.layout, ...plots.theme(), dragmode: drag, selections: [] };
  // The zoom stays; the lasso's outline does not, or it would outlive the selection.
  ["xaxis", "yaxis"].forEach((axis) => { layout[axis] = { ...layout[axis], uirevision: "kept" }; });
  layout.margin = { ...layout.margin, b: marker.showscale ? 56 : 10 };
  const options = plots.mapOptions(["zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]);
  return Plotly.react(holder, [dots, ahead, diamonds, rings], layout, options);
}

export function listen(picked, clicked, hovered, left) {
  if (listening) return;
  listening = true;
  const positions = (event) => event.points.filter((point) => point.curveNumber === 0).map((point) => point.pointIndex);
  // Plotly keeps the outline after this event, so it is removed later, which fires the event again without an outline.
  holder.on("plotly_selected", (event) => { if (event && event.lassoPoints) setTimeout(() => picked(positions(event))); });
  // Browsers make a mouse of every touch afterwards, which would click once more, perhaps on a neighbour.
  let touched = -Infinity;
  const touches = (event) => { touched = event.timeStamp; };
  ["touchstart", "touchend"].forEach((name) => holder.addEventListener(name, touches, { capture: true, passive: true }));
  const meant = (event) => event.event.type.startsWith("touch") || event.event.timeStamp - touched > ECHO_MS;
  const first = (event) => (meant(event) ? positions(event).slice(0, 1) : []);
  holder.on("plotly_click", (event) => { first(event).forEach(clicked); });
  holder.on("plotly_hover", (event) => { first(event).forEach((position) => hovered(position, event.event)); });
  holder.on("plotly_unhover", left);
}
