// The clusters: a list of all, or the details of one.

import { button, counted, element, get, pairs, show, swatch } from "./dom.js";
import { featureTables } from "./features.js";
import { overview } from "./overview.js";
import { colourOf, options, picture, rowList, strongest, titleOf, valuesNote } from "./rows.js";

export const PAGE = 24;
const MOST_IMAGES = 60;

// How many rows of each cluster on the map pass the filters, where there are any.
function passing(app) {
  if (!app.filtered || !app.labels) return null;
  const counts = new Map();
  app.filtered.forEach((position) => counts.set(app.labels[position], (counts.get(app.labels[position]) || 0) + 1));
  return counts;
}

export function clusters(app, act) {
  const passed = passing(app);
  if (app.open === "overview") return overview(app, act);
  if (app.open !== null && app.state.clusters.some((cluster) => cluster.number === app.open)) return openCluster(app, act);
  const items = [...app.state.clusters].sort((a, b) => b.size - a.size).map((cluster) => element(
    "li", {},
    element(
      "button",
      { type: "button", "data-cluster": cluster.number, onclick: () => act.openCluster(cluster.number) },
      swatch(cluster.colour), app.run.pictures ? element("span", { class: "thumb", "data-of": cluster.exemplar }) : null,
      element("span", { class: "name" }, cluster.title),
      element("span", { class: "count" }, (passed ? (passed.get(cluster.number) || 0).toLocaleString("en") + " pass of " : "") + counted(cluster.size, "row")), confidenceBar(cluster),
    ),
  ));
  const list = element("ul", { class: app.run.pictures ? "clusters pictures" : "clusters" }, items);
  if (app.run.pictures) showExemplars(app, list).catch(act.wrong);
  return [
    element("p", { class: "about" }, "Open a cluster to see what it is like, to name it, merge it or split it. Bars and numbers show the mean confidence."),
    element("div", { class: "line" }, button("Overview", () => act.openCluster("overview"), { id: "overview" })),
    list,
  ];
}

// The images of the exemplars, as soon as they arrive.
async function showExemplars(app, list) {
  const wanted = app.state.clusters.map((cluster) => cluster.exemplar).filter((row) => row !== null).slice(0, MOST_IMAGES);
  if (!wanted.length) return;
  for (const row of await get("/api/rows?rows=" + wanted.join(","))) {
    if (row.image) show(list.querySelector("[data-of='" + row.row + "']"), picture(row, ""));
  }
}

function confidenceBar(cluster) {
  if (cluster.confidence === null) return element("span", {});
  return element(
    "span", { class: "confidence" },
    element("span", { class: "bar", "aria-hidden": "true" }, element("i", { style: "width:" + 100 * cluster.confidence + "%;background:" + cluster.colour })),
    element("span", { class: "hidden" }, "mean confidence "), cluster.confidence.toFixed(2),
  );
}

function openCluster(app, act) {
  const cluster = app.state.clusters.find(({ number }) => number === app.open);
  const body = element("div", { "aria-busy": "true" }, "Reading…");
  let merges = false;
  get("/api/clusters/" + cluster.number)
    .then((details) => {
      // The nearest cluster is the likeliest to be meant.
      if (!merges && details.neighbours.length) target.value = String(details.neighbours[0]);
      return clusterBody(app, act, details);
    })
    .then((parts) => { show(body, parts); body.removeAttribute("aria-busy"); })
    .catch(act.wrong);
  const name = element("input", { id: "name", value: cluster.name, maxlength: 200, placeholder: cluster.suggested || "no name yet" });
  const naming = element(
    "form", { class: "line", onsubmit: (event) => { event.preventDefault(); act.name(cluster.number, name.value); } },
    element("label", { for: "name" }, "Name ", name), element("button", { type: "submit" }, "Save name"),
  );
  const splitting = element("div", { id: "splitting" });
  const target = element("select", { "aria-label": "Cluster to merge into or to compare with", onchange: () => { merges = true; } }, options(app, cluster.number));
  const merging = element(
    "div", { class: "line" },
    element("label", {}, "Other ", target),
    button("Merge", () => act.merge(cluster.number, Number(target.value)), { id: "merge", disabled: app.state.clusters.length < 2 }),
    button("Split in two", () => preview(app, act, cluster.number, splitting).catch(act.wrong), { id: "split" }),
    button("Compare", () => act.compare("cluster-" + cluster.number, "cluster-" + target.value), { id: "compare-with", disabled: app.state.clusters.length < 2 }),
    button("Show on the map", () => act.pick(cluster.number), { id: "show" }),
  );
  return [
    element("p", { class: "line" }, button("← All clusters", () => act.openCluster(null), { id: "back" })),
    element("h2", {}, swatch(cluster.colour), " Cluster " + cluster.title),
    element("p", { class: "about" }, counted(cluster.size, "row") + (cluster.confidence === null ? "" : ", mean confidence " + cluster.confidence.toFixed(2))),
    naming, merging, splitting, body,
  ];
}

// What a split would make of a cluster; nothing changes until it is taken.
async function preview(app, act, number, place) {
  show(place, "Looking for two parts…");
  let found = null;
  try {
    found = await get("/api/split/" + number);
  } finally {
    show(place);
  }
  const part = (which, i) => [element("h4", {}, which + " part, " + Math.round(100 * found.shares[i]) + "% of the rows"), rowList(app, act, found.rows[i])];
  show(
    place, element("h3", {}, "A split would make these two"),
    found.features.length ? featureTables(app, found.features, "larger", "smaller") : null,
    part("Larger", 0), part("Smaller", 1),
    element("div", { class: "line" }, button("Split it", () => act.split(number), { id: "split-now", class: "main" }), button("Leave it", () => show(place), { id: "leave" })),
  );
}

async function clusterBody(app, act, details) {
  const wanted = [...new Set([details.exemplar, ...details.typical, ...details.unsure])].filter((row) => row !== null);
  const rows = new Map((await get("/api/rows?rows=" + wanted.join(","))).map((row) => [row.row, row]));
  const parts = [];
  if (details.commonest) parts.push(element("p", { class: "about" }, "Mostly of the known class " + details.commonest[0] + " (" + Math.round(100 * details.commonest[1]) + "%)."));
  if (details.features.length) parts.push(element("h3", {}, "What sets it apart"), featureTables(app, details.features, "here", "elsewhere"));
  parts.push(element("p", { class: "about" }, "Press a row to select it." + valuesNote(app)));
  if (!details.size) parts.push(element("p", {}, "No row is in this cluster now."));
  if (details.decoded || details.exemplar !== null) parts.push(element("h3", {}, "Exemplar"), exemplars(app, act, rows, details));
  const listed = (heading, numbers) => (numbers.length ? [element("h3", {}, heading), rowList(app, act, numbers.map((row) => rows.get(row)))] : []);
  parts.push(...listed("Most typical rows", details.typical), ...listed("Least certain rows", details.unsure));
  if (details.neighbours.length) parts.push(element("h3", {}, "Nearest clusters"), neighbours(app, act, details));
  parts.push(element("h3", {}, "All its rows"), allRows(app, act, details));
  return parts;
}

function exemplars(app, act, rows, details) {
  const figures = [];
  if (details.decoded) figures.push(figure(element("img", { src: details.decoded, alt: "Decoded exemplar" }), "decoded"));
  const real = rows.get(details.exemplar);
  if (real && real.image) figures.push(figure(picture(real), "row " + real.row));
  const images = figures.length ? [element("div", { class: "pair" }, figures)] : [];
  const listed = real && !real.image ? [rowList(app, act, [real])] : [];
  const decoded = app.run.pictures || !details.decoded_features.length
    ? []
    : [element("p", { class: "about" }, "As the model decodes it:"), pairs(strongest(app, { features: details.decoded_features }))];
  return [...images, ...listed, ...decoded];
}

function figure(image, caption) {
  return element("figure", { style: "margin:0" }, image, element("figcaption", { class: "about" }, caption));
}

function neighbours(app, act, details) {
  const chips = details.neighbours.map((number) => button(
    [swatch(colourOf(app.state, number)), titleOf(app.state, number)], () => act.openCluster(number), {},
  ));
  return element("div", { class: "chips" }, chips);
}

function allRows(app, act, details) {
  const orders = [["unsure", "least certain first"], ["sure", "most certain first"], ["row", "by row number"]];
  const order = element("select", { "aria-label": "Order of the rows" }, orders.map(([key, name]) => element("option", { value: key }, name)));
  const list = element("div", {});
  const more = button("More rows", () => load(), { hidden: true });
  let shown = 0;
  async function load() {
    try {
      const rows = await get("/api/clusters/" + details.number + "/rows?order=" + order.value + "&offset=" + shown + "&most=" + PAGE);
      shown += rows.length;
      list.append(rowList(app, act, rows));
      more.hidden = shown >= details.size;
    } catch (error) {
      act.wrong(error);
    }
  }
  const reload = () => { shown = 0; show(list); load(); };
  order.addEventListener("change", reload);
  return element("div", {}, element("div", { class: "line" }, order, button("List", reload, {})), list, more);
}
