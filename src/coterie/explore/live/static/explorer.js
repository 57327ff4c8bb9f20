// The page: its state, its actions, and when each part is drawn again.

import { button, counted, element, get, post, show, swatch } from "./dom.js";
import * as map from "./map.js";
import * as panels from "./panels.js";
import { clusters } from "./clusters.js";
import { compare } from "./compare.js";
import { bar } from "./filters.js";
import { tip as tipOf } from "./rows.js";

const at = (id) => document.getElementById(id);
const app = {
  run: null, state: null, colouring: null, selection: new Set(), picked: new Set(), moved: [], results: [], tab: "clusters", open: null, compared: null, level: null, filters: [], filtered: null, asking: null, labels: null,
  goodMap: null,
};
const parts = {
  clusters, compare, selection: panels.selection, questions: panels.questions, history: panels.history, export: panels.exporting,
};
const described = new Map();

// A screen reader reads changes aloud: the same words are not set twice, and the passing seconds are hidden from it.
function say(words, kind, seconds) {
  if (at("message").textContent !== words) at("message").textContent = words;
  at("clock").textContent = seconds ? seconds + " s" : "";
  at("status").className = kind || "";
}

const act = {
  wrong: (error) => say(error.message, "wrong"),
  label: (rows, to) => answer("/api/label", { rows, to }, true),
  reply: (row, to) => answer("/api/label", { rows: [row], to }),
  together: (rows) => answer("/api/together", { rows }, true),
  apart: (rows) => answer("/api/apart", { rows }, true),
  merge: (source, into) => answer("/api/merge", { source, into }),
  split: (cluster) => answer("/api/split", { cluster }),
  name: (cluster, name) => answer("/api/name", { cluster, name }),
  again: showPanel,
  toggle: (row) => {
    if (!app.selection.delete(row)) app.selection.add(row);
    selectionChanged();
  },
  clear: () => {
    app.selection.clear();
    selectionChanged();
  },
  select: (rows) => {
    app.selection = new Set(rows);
    selectionChanged();
    openTab("selection");
  },
  selectMoved: () => act.select(app.moved.map(map.rowAt)),
  openCluster: (number) => {
    const left = app.open;
    app.open = number;
    openTab("clusters");
    if (number === null) document.querySelector("[data-cluster='" + left + "']")?.focus();
  },
  download: (what) => panels.download(what, say).catch(act.wrong),
  // Another level of the tree is one more way to colour the map.
  colourByLevel: (level, own) => {
    const list = at("colouring");
    list.querySelector("[data-level]")?.remove();
    if (level !== own) list.append(element("option", { value: "level-" + level, "data-level": level }, counted(level, "cluster") + " by the tree"));
    list.value = level === own ? "cluster" : "level-" + level;
    app.picked.clear();
    colourAgain().catch(act.wrong);
  },
  compare: (first, second) => {
    app.compared = [first, second];
    openTab("compare");
  },
  pick: (number) => {
    app.picked = new Set([app.state.clusters.findIndex((cluster) => cluster.number === number)]);
    at("colouring").value = "cluster";
    colourAgain().catch(act.wrong);
    // On a narrow screen the map is above the part where this was asked for.
    at("map-plot").scrollIntoView({ block: "nearest" });
  },
};

async function answer(address, body, clears) {
  say("Solving…", "busy");
  try {
    const { change, state } = await post(address, body, app.state.steps);
    if (clears) app.selection.clear();
    // Groups are picked by their positions in the legend, which an answer may give to others; a name does not.
    if (address !== "/api/name") app.picked.clear();
    app.moved = change.marked;
    await take(state, true);
    say(change.words);
  } catch (error) {
    if (error.stale) await get("/api/state").then(take).catch(act.wrong);
    act.wrong(error);
  }
}

// Show a new state of the session. What somebody is typing stays, unless it is what they have just sent.
async function take(state, sent) {
  app.state = state;
  described.clear();
  at("undo").disabled = !state.undo;
  at("redo").disabled = !state.redo;
  countTabs();
  if (app.goodMap !== state.map_settled) {
    app.goodMap = state.map_settled;
    await layOut();
  }
  // A correction may end the merge tree.
  if (sent && at("colouring").value.startsWith("level-")) act.colourByLevel(null, null);
  else await colourAgain();
  if (sent || !document.activeElement.closest("#panel input, #panel select")) showPanel();
  document.documentElement.dataset.version = state.version;
}

// Fetch the map that is chosen.
async function layOut() {
  const key = at("layout").value;
  if (key !== "data") say("Computing this map…", "busy");
  const points = await get("/api/map?of=" + encodeURIComponent(key));
  if (key !== at("layout").value) return;
  map.setPoints(points);
  mapNote(points);
}

function countTabs() {
  const count = (number) => (number ? " (" + number.toLocaleString("en") + ")" : "");
  at("tab-selection").textContent = "Rows" + count(app.selection.size);
  at("tab-questions").textContent = "Questions" + count(app.state.ask.length);
}

function mapNote(points) {
  const how = { "t-SNE": "t-SNE (near rows are alike; distances between far groups mean little)", PCA: "two main directions (PCA)", embedding: "the two columns of the model's embedding" };
  const of = { data: "their values", model: "the model's embedding" }[at("layout").value] || "the values of this view";
  const absent = points.x.filter((x) => x === null).length;
  const whole = app.run.sampled === app.run.rows ? "All " + counted(app.run.rows, "row") : app.run.sampled.toLocaleString("en") + " of " + counted(app.run.rows, "row") + ", small clusters included,";
  const waiting = app.state.map_settled ? "" : " A better map is being computed.";
  at("map-note").textContent = whole + " laid out by " + how[points.method] + " of " + of + "." + (absent ? " " + counted(absent, "row") + " without it left out." : "") + " Diamonds mark the exemplars, circles the rows that moved last." + waiting;
}

async function colourAgain() {
  const key = at("colouring").value;
  app.colouring = await get("/api/colours/" + key);
  const numbers = app.state.clusters.map((cluster) => cluster.number);
  if (key === "cluster") app.labels = app.colouring.marker.color.map((code) => numbers[code]);
  legend();
  draw();
}

// Picking groups and selecting rows replace each other: what was asked for last is highlighted.
function draw() {
  let picked = null;
  if (app.picked.size) picked = pickedPositions();
  else if (app.selection.size) picked = map.positionsOf(app.selection);
  if (app.filtered) {
    const passes = new Set(app.filtered);
    picked = picked === null ? app.filtered : picked.filter((position) => passes.has(position));
  }
  const chosen = at("colouring").selectedOptions[0].textContent;
  const codes = app.colouring.offset || 0;
  const names = app.colouring.groups.map((group, i) => ({ code: i + codes, name: group.name }));
  map.draw(app.colouring.marker, { picked, moved: app.moved, exemplars: app.state.exemplars, front: app.colouring.front || [], names });
  scale();
  at("map-plot").setAttribute("aria-label", "Map of " + counted(app.run.sampled, "row") + ", coloured by " + chosen + ", " + counted(app.selection.size, "row") + " selected");
}

// What the colours of an amount mean.
function scale() {
  const { showscale, colorscale, cmin, cmax } = app.colouring.marker;
  at("scale").hidden = !showscale;
  if (!showscale) return;
  const stops = colorscale.map(([edge, colour]) => colour + " " + 100 * edge + "%").join(",");
  const bar = element("span", { class: "ramp", style: "background:linear-gradient(90deg," + stops + ")", "aria-hidden": "true" });
  show(at("scale"), [Number(cmin.toPrecision(3)), bar, Number(cmax.toPrecision(3))].map((part) => (typeof part === "number" ? String(part) : part)));
}

// Groups of the colouring, to highlight on the map. Markers of known groups count from 1, with 0 for none.
function legend() {
  const held = at("legend").contains(document.activeElement) ? document.activeElement.dataset.group : null;
  const codes = app.colouring.offset || 0;
  const chips = app.colouring.groups.map((group, i) => button([swatch(group.colour), element("span", { class: "name", title: group.name }, group.name)], () => {
    if (!app.picked.delete(i + codes)) app.picked.add(i + codes);
    legend();
    draw();
  }, { "aria-pressed": String(app.picked.has(i + codes)), "data-group": i }));
  const rows = pickedPositions().map(map.rowAt);
  const whole = [
    button("Show all", () => { app.picked.clear(); legend(); draw(); }, { "data-group": "all" }),
    button("Select " + (rows.length === 1 ? "this row" : "these " + counted(rows.length, "row")), () => { act.select(rows); at("panel").focus({ preventScroll: true }); }, { id: "select-picked" }),
  ];
  show(at("legend"), app.picked.size ? whole : null, chips);
  if (held) (at("legend").querySelector("[data-group='" + held + "']") || at("legend").querySelector("button")).focus();
}

function pickedPositions() {
  return app.colouring.marker.color.flatMap((group, position) => (app.picked.has(group) ? [position] : []));
}

function lassoed(positions) {
  if (!at("adding").checked) app.selection.clear();
  positions.forEach((position) => app.selection.add(map.rowAt(position)));
  selectionChanged();
  openTab("selection");
}

// The row is described next to the map now; its tip would cover it.
function clicked(position) {
  hideTip();
  act.toggle(map.rowAt(position));
  openTab("selection");
}

function selectionChanged() {
  countTabs();
  say(app.selection.size ? counted(app.selection.size, "row") + " selected." : "Nothing is selected.");
  app.picked.clear();
  legend();
  draw();
  if (at("chosen")) show(at("chosen"), panels.chosen(app, act));
  document.querySelectorAll("#panel [data-row][aria-pressed]").forEach((pressed) => {
    pressed.setAttribute("aria-pressed", String(app.selection.has(Number(pressed.dataset.row))));
  });
}

let hovering = null;
function hideTip() {
  hovering = null;
  at("tip").hidden = true;
}

async function hovered(position, event) {
  const row = map.rowAt(position);
  hovering = row;
  try {
    if (!described.has(row)) described.set(row, (await get("/api/rows?rows=" + row))[0]);
  } catch (error) {
    act.wrong(error);
    return;
  }
  if (hovering !== row) return;
  const tip = at("tip");
  show(tip, tipOf(app, described.get(row)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = Math.max(4, Math.min(event.clientX + 16, innerWidth - width - 8)) + "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 16, innerHeight - height - 8)) + "px";
}

// Tabs, with the arrow keys of the pattern for tabs.
function openTab(name) {
  app.tab = name;
  document.querySelectorAll("[role=tab]").forEach((tab) => {
    const mine = tab.id === "tab-" + name;
    tab.setAttribute("aria-selected", String(mine));
    tab.tabIndex = mine ? 0 : -1;
  });
  at("panel").setAttribute("aria-labelledby", "tab-" + name);
  showPanel();
  // Someone who scrolled down a long part would find themselves in the middle of the next.
  if (at("side").getBoundingClientRect().top < 0) at("side").scrollIntoView();
}

// The keyboard focus stays where it was, or goes to the top of the part.
function showPanel() {
  const held = at("panel").contains(document.activeElement) ? document.activeElement : null;
  show(at("panel"), parts[app.tab](app, act));
  if (!held) return;
  const again = held.id ? at(held.id) : null;
  (again && !again.disabled ? again : at("panel")).focus({ preventScroll: true });
}

function tabKeys(event) {
  const tabs = [...document.querySelectorAll("[role=tab]")];
  const here = tabs.indexOf(event.target);
  const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const next = tabs[(to + tabs.length) % tabs.length];
  next.focus();
  next.click();
}

function keys(event) {
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "Escape" && !typing && app.selection.size) act.clear();
  if (!typing && app.tab === "questions" && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const key = event.key.toLowerCase();
    const pressed = { n: "#skip", p: "#previous", 1: "[data-to]", 2: "[data-to] + [data-to]" }[key];
    const found = pressed && document.querySelector("#panel " + pressed);
    if (found) found.click();
  }
  if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
  event.preventDefault();
  const step = at(event.shiftKey ? "redo" : "undo");
  if (!step.disabled) step.click();
}

// Poll as long as something is being prepared.
async function watch() {
  const waiting = () => !app.state.map_settled || !(app.state.refine.ready || app.state.refine.failure);
  while (waiting()) {
    if (!app.state.refine.ready && !app.state.refine.failure) {
      const before = app.state.undo ? " Your earlier answers are shown then." : "";
      say("Preparing corrections: " + app.state.refine.stage + ". You can look around meanwhile." + before, "busy", Math.round(app.state.refine.seconds));
    }
    await new Promise((done) => { setTimeout(done, 700); });
    const state = await get("/api/state");
    const wasReady = app.state.refine.ready;
    if (state.version !== app.state.version || state.refine.ready !== wasReady || state.map_settled !== app.goodMap) await take(state);
    else app.state = state;
    if (state.refine.failure) say("Corrections are not possible: " + state.refine.failure, "wrong");
    else if (state.refine.ready && !wasReady) say("Ready for corrections.");
  }
}

async function start() {
  const [run, state] = await Promise.all([get("/api/run"), get("/api/state")]);
  app.run = run;
  document.title = run.title + " · coterie";
  at("title").textContent = run.title;
  const views = run.views.map((view) => view.name + " (" + counted(view.features, "feature") + ")").join(", ");
  at("facts").textContent = run.method + ", " + counted(run.rows, "row") + ", " + (run.views.length > 1 ? "views " + views : counted(run.views[0].features, "feature"));
  document.querySelector(".layouts").hidden = run.maps.length < 2;
  show(at("layout"), run.maps.map((one) => element("option", { value: one.key }, one.name)));
  at("layout").addEventListener("change", () => {
    layOut().then(() => { draw(); say("The map is drawn."); }).catch(act.wrong);
  });
  show(at("filters"), bar(app, {
    filter: (positions) => {
      app.filtered = positions;
      if (at("tab-clusters").getAttribute("aria-selected") === "true" && app.open === null) showPanel();
      draw();
    },
    select: () => act.select(app.filtered.map(map.rowAt)),
    wrong: act.wrong,
  }));
  at("zoom-in").addEventListener("click", () => map.zoom(1.5));
  at("zoom-out").addEventListener("click", () => map.zoom(1 / 1.5));
  at("zoom-fit").addEventListener("click", map.fit);
  at("save-map").addEventListener("click", () => map.save(run.title + ".png"));
  map.listen(lassoed, clicked, hovered, hideTip);
  show(at("colouring"), run.colourings.map((way) => element("option", { value: way.key }, way.name)));
  at("colouring").addEventListener("change", () => { app.picked.clear(); colourAgain().catch(act.wrong); });
  const modes = [...document.querySelectorAll("[data-drag]")];
  const press = (chosen) => modes.forEach((mode) => mode.setAttribute("aria-pressed", String(mode === chosen)));
  modes.forEach((mode) => mode.addEventListener("click", () => {
    press(mode);
    map.setDrag(mode.dataset.drag);
    draw();
  }));
  // A finger that scrolls the page must not drag on the map before it is asked to.
  if (coteriePlots.narrow.matches) press(null);
  document.querySelectorAll("[role=tab]").forEach((tab) => {
    tab.addEventListener("click", () => openTab(tab.id.replace("tab-", "")));
    tab.addEventListener("keydown", tabKeys);
  });
  at("undo").addEventListener("click", () => answer("/api/undo"));
  at("redo").addEventListener("click", () => answer("/api/redo"));
  document.addEventListener("keydown", keys);
  [coteriePlots.dark, coteriePlots.narrow].forEach((media) => media.addEventListener("change", draw));
  await take(state);
  say(state.notice || (state.refine.ready ? "Ready for corrections." : "Preparing corrections…"));
  document.documentElement.dataset.readyAfter = String(performance.now());
  document.documentElement.dataset.ready = "yes";
  await watch();
}

start().catch(act.wrong);
