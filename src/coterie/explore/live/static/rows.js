// Row details: in a tip at the pointer, in lists, in full.

import { element, pairs, swatch } from "./dom.js";

const STRONGEST = 6;

// What "SD" after a value means; images show no values.
export function valuesNote(app) {
  return app.run.pictures ? "" : " SD: how far a value lies from the mean of its feature, in standard deviations.";
}

function clusterOf(state, number) {
  return state.clusters.find((cluster) => cluster.number === number);
}

export function titleOf(state, number) {
  return clusterOf(state, number)?.title ?? String(number);
}

export function colourOf(state, number) {
  return clusterOf(state, number)?.colour ?? "transparent";
}

export function picture(row, alt) {
  return row.image ? element("img", { src: row.image, alt: alt ?? "Row " + row.row }) : null;
}

export function strongest(app, row) {
  const several = app.run.views.length > 1;
  const furthest = [...row.features].sort((a, b) => Math.abs(b.deviation) - Math.abs(a.deviation));
  return furthest.slice(0, STRONGEST).map((feature) => [(several ? feature.view + " " : "") + feature.name, feature.value + " (" + signed(feature.deviation) + "\u00a0SD)"]);
}

export function signed(number) {
  return (number > 0 ? "+" : "") + number;
}

function metadataOf(row) {
  return row.metadata.filter(([, value]) => value);
}

// All that is known about one row.
export function aboutRow(app, row) {
  const entries = [["Cluster", titleOf(app.state, row.cluster)], ["Confidence", row.confidence.toFixed(2)]];
  if (row.given !== null) entries.push(["Your label", titleOf(app.state, row.given)]);
  if (row.second) entries.push(["Runner-up", titleOf(app.state, row.second.cluster) + " (" + row.second.membership.toFixed(2) + ")"]);
  if (row.class !== null) entries.push(["Known class", row.class]);
  if (row.missing.length) entries.push(["Missing views", row.missing.join(", ")]);
  return pairs([...entries, ...metadataOf(row), ...(row.image ? [] : strongest(app, row))]);
}

export function tip(app, row) {
  return [element("h3", {}, "Row " + row.row), picture(row), aboutRow(app, row)];
}

// Rows as buttons that select and unselect.
function rowButton(app, act, row) {
  const pressed = app.selection.has(row.row);
  const more = ", cluster " + titleOf(app.state, row.cluster) + ", confidence " + row.confidence.toFixed(2);
  const words = app.run.pictures ? [["image", "missing"]] : [...metadataOf(row).slice(0, 2), ...strongest(app, row).slice(0, 2)];
  const small = row.image ? [] : words.map(([name, value]) => element("small", {}, name + ": " + value));
  return element(
    "li", {},
    element(
      "button",
      { type: "button", "aria-pressed": String(pressed), "data-row": row.row, onclick: () => act.toggle(row.row) },
      picture(row, ""), element("span", {}, swatch(colourOf(app.state, row.cluster)), element("span", { class: app.run.pictures ? "hidden" : null }, " Row "), row.row, element("span", { class: "hidden" }, more)), small,
    ),
  );
}

export function rowList(app, act, rows) {
  const pictures = app.run.pictures;
  return element("ul", { class: pictures ? "rows pictures" : "rows" }, rows.map((row) => rowButton(app, act, row)));
}

export function options(app, leaveOut) {
  return app.state.clusters
    .filter((cluster) => cluster.number !== leaveOut)
    .map((cluster) => element("option", { value: cluster.number }, cluster.title));
}
