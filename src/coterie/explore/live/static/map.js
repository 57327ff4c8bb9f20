// The map: dots for rows, rings for rows that moved, diamonds for exemplars, names of groups; lasso, click and hover.

import { Camera, Grid, Painter, inside, paints, radiusOf } from "./canvas.js";

const plots = coteriePlots;
const holder = document.getElementById("map-plot");
const FEW = 20;
const NEAR = 9;
const STILL = 5;
const MOST_NAMES = 60;
const LONGEST_NAME = 34;
const dotted = holder.appendChild(document.createElement("canvas"));
const drawn = holder.appendChild(document.createElement("canvas"));
const painter = new Painter(dotted);
const camera = new Camera();
let points = { x: [], y: [], rows: [] };
let grid = new Grid(points);
let drag = plots.narrow.matches ? false : "lasso";
let shown = null;
let outline = [];
let waiting = false;

export function setPoints(given) {
  points = given;
  grid = new Grid(points);
  measure();
  camera.fit(points);
}

export function setDrag(mode) {
  drag = mode;
  // A finger that scrolls the page must not drag on the map before it is asked to.
  holder.style.touchAction = mode ? "none" : "auto";
  holder.style.cursor = mode === "pan" ? "grab" : "crosshair";
}

export function rowAt(position) {
  return points.rows[position];
}

export function positionsOf(rows) {
  const wanted = new Set(rows);
  return points.rows.flatMap((row, position) => (wanted.has(row) ? [position] : []));
}

export function zoom(factor) {
  camera.zoom(factor, camera.width / 2, camera.height / 2);
  paint();
}

export function fit() {
  camera.fit(points);
  paint();
}

// The picture as it is, as a file.
export function save(name) {
  const whole = document.createElement("canvas");
  [whole.width, whole.height] = [dotted.width, dotted.height];
  const context = whole.getContext("2d");
  [dotted, drawn].forEach((layer) => context.drawImage(layer, 0, 0));
  const link = document.createElement("a");
  [link.href, link.download] = [whole.toDataURL("image/png"), name];
  link.click();
}

// Positions of the picked dots (null for all), of those that moved, of exemplars, and of those that go in front;
// and the names of the groups by which the dots are coloured, with the code of each.
export function draw(marker, { picked, moved, exemplars, front, names }) {
  const colours = paints(marker);
  shown = { colours, picked, moved, exemplars, front, names: spots(marker.color, names) };
  holder.map = { colours: marker.color, picked, names: [], place, scale: () => camera.scale };
  measure();
  paint();
}

// The place of each group: its member that is nearest to the medians of both coordinates.
function spots(codes, names) {
  if (!names.length || names.length > MOST_NAMES) return [];
  const members = new Map(names.map(({ code }) => [code, []]));
  codes.forEach((code, i) => { if (points.x[i] !== null && members.has(code)) members.get(code).push(i); });
  return names.flatMap(({ code, name }) => {
    const own = members.get(code);
    if (!own.length) return [];
    const [x, y] = [points.x, points.y].map((values) => own.map((i) => values[i]).sort((a, b) => a - b)[own.length >> 1]);
    const away = (i) => (points.x[i] - x) ** 2 + (points.y[i] - y) ** 2;
    const middle = own.reduce((best, i) => (away(i) < away(best) ? i : best));
    const text = name.length > LONGEST_NAME ? name.slice(0, LONGEST_NAME - 1) + "…" : name;
    return [{ text, size: own.length, x: points.x[middle], y: points.y[middle] }];
  }).sort((a, b) => b.size - a.size);
}

function place(position) {
  const box = holder.getBoundingClientRect();
  const [left, top] = camera.place(points.x[position], points.y[position]);
  return [box.left + left, box.top + top];
}

function measure() {
  const density = window.devicePixelRatio || 1;
  const [width, height] = [holder.clientWidth, holder.clientHeight];
  [camera.width, camera.height] = [width, height];
  for (const layer of [dotted, drawn]) {
    const size = [Math.round(width * density), Math.round(height * density)];
    if (layer.width !== size[0] || layer.height !== size[1]) [layer.width, layer.height] = size;
  }
}

// All changes of a frame are drawn at once.
function paint() {
  if (waiting || !shown) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    paintDots();
    paintMarks();
  });
}

function paintDots() {
  const { colours, picked, front } = shown;
  const radius = radiusOf(points.rows.length);
  const all = points.rows.map((_, i) => i);
  painter.clear(plots.colour("--paper"), window.devicePixelRatio || 1);
  if (picked === null) {
    painter.dots(all, points, camera, colours, radius, 0.85);
  } else {
    const chosen = new Set(picked);
    painter.dots(all.filter((i) => !chosen.has(i)), points, camera, colours, radius, 0.2);
    // A few picked dots would be lost among all the pale ones.
    painter.dots(picked, points, camera, colours, picked.length <= FEW ? 6 : radius, 0.95);
  }
  painter.dots(front, points, camera, colours, 5, 1);
  painter.show();
}

// What lies above the dots: marks, names, the outline of a lasso.
function paintMarks() {
  const context = drawn.getContext("2d");
  const density = window.devicePixelRatio || 1;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, camera.width, camera.height);
  context.strokeStyle = plots.colour("--ink");
  const many = shown.moved.length > FEW;
  context.globalAlpha = many ? 0.35 : 0.8;
  context.lineWidth = many ? 1 : 1.5;
  mark(shown.moved, (left, top) => context.arc(left, top, many ? 4 : 6, 0, 2 * Math.PI), context);
  context.globalAlpha = 1;
  context.lineWidth = 2;
  mark(shown.exemplars, (left, top) => {
    [[0, -6], [6, 0], [0, 6], [-6, 0]].forEach(([x, y]) => context.lineTo(left + x, top + y));
    context.closePath();
  }, context);
  nameGroups(context);
  if (outline.length < 2) return;
  context.setLineDash([5, 4]);
  context.beginPath();
  outline.forEach(([left, top]) => context.lineTo(left, top));
  context.closePath();
  context.stroke();
  context.setLineDash([]);
}

function mark(positions, shape, context) {
  for (const i of positions) {
    if (points.x[i] === null) continue;
    context.beginPath();
    shape(...camera.place(points.x[i], points.y[i]));
    context.stroke();
  }
}

// Names of large groups first; one that would cover another moves up or down, or is left out.
function nameGroups(context) {
  context.font = "600 12px " + getComputedStyle(document.body).fontFamily;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  const taken = [];
  for (const { text, x, y } of shown.names) {
    const [middle, line] = camera.place(x, y);
    if (middle < 0 || middle > camera.width || line < 0 || line > camera.height) continue;
    const half = context.measureText(text).width / 2 + 3;
    const left = Math.min(Math.max(middle, half), Math.max(half, camera.width - half));
    const free = [0, -16, 16, -32, 32].map((shift) => [left - half, line + shift - 8, left + half, line + shift + 8])
      .find(([a, b, c, d]) => b >= 0 && d <= camera.height && !taken.some(([e, f, g, h]) => a < g && e < c && b < h && f < d));
    if (!free) continue;
    taken.push(free);
    const [at, height] = [(free[0] + free[2]) / 2, (free[1] + free[3]) / 2];
    context.strokeStyle = plots.colour("--paper");
    context.lineWidth = 4;
    context.strokeText(text, at, height);
    context.fillStyle = plots.colour("--ink");
    context.fillText(text, at, height);
  }
  holder.map.names = taken.length;
  context.strokeStyle = plots.colour("--ink");
  context.lineWidth = 1.5;
}

export function listen(picked, clicked, hovered, left) {
  let start = null;
  let moved = false;
  const at = (event) => {
    const box = holder.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const nearest = (event) => grid.nearest(...camera.point(...at(event)), NEAR / camera.scale);
  holder.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    start = at(event);
    moved = false;
    outline = [];
    if (drag) holder.setPointerCapture(event.pointerId);
  });
  holder.addEventListener("pointermove", (event) => {
    const here = at(event);
    if (!start) {
      const position = event.pointerType === "touch" ? null : nearest(event);
      if (position === null) left();
      else hovered(position, event);
      return;
    }
    if (drag === "pan" && Math.hypot(here[0] - start[0], here[1] - start[1]) > (moved ? 0 : STILL)) {
      camera.move(here[0] - start[0], here[1] - start[1]);
      moved = true;
      start = here;
      paint();
    } else if (drag === "lasso" && (outline.length || Math.hypot(here[0] - start[0], here[1] - start[1]) > STILL)) {
      if (!outline.length) outline.push(start);
      outline.push(here);
      paintMarks();
    }
  });
  const end = (event) => {
    if (!start) return;
    const drew = outline;
    start = null;
    outline = [];
    if (event.type === "pointerup" && !drew.length && !moved) {
      const position = nearest(event);
      if (position !== null) clicked(position);
    } else if (event.type === "pointerup" && drew.length) {
      picked(inside(points, drew.map(([right, down]) => camera.point(right, down))));
    }
    if (drag === "lasso") paintMarks();
  };
  ["pointerup", "pointercancel"].forEach((name) => holder.addEventListener(name, end));
  holder.addEventListener("pointerleave", left);
  holder.addEventListener("dblclick", fit);
  holder.addEventListener("wheel", (event) => {
    if (drag !== "pan" && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    camera.zoom(Math.exp(-event.deltaY / 300), ...at(event));
    paint();
  }, { passive: false });
  new ResizeObserver(() => {
    if (!shown) return;
    measure();
    paint();
  }).observe(holder);
  setDrag(drag);
}
