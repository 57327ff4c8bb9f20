// All clusters at a glance: a heat map of clusters and features, with the merge tree next to it.

import { button, counted, element, get, show, swatch } from "./dom.js";

const LINE = 30;
const STEP = 16;
const STRONG = 2.5;

export function overview(app, act) {
  const body = element("div", { "aria-busy": "true" }, "Reading…");
  const load = async (level) => {
    try {
      const found = await get("/api/overview" + (level ? "?level=" + level : ""));
      app.level = found.level === found.own ? null : found.level;
      show(body, parts(app, act, found, load));
      body.removeAttribute("aria-busy");
      if (level) act.colourByLevel(found.level, found.own);
    } catch (error) {
      act.wrong(error);
    }
  };
  load(app.level);
  return [
    element("p", { class: "line" }, button("← All clusters", () => act.openCluster(null), { id: "back" })),
    element("h2", {}, "Overview"), body,
  ];
}

function parts(app, act, found, load) {
  const made = [];
  if (found.most) {
    const level = element("input", { id: "level", type: "number", min: 1, max: found.most, value: found.level });
    level.addEventListener("change", () => { if (level.value) load(Number(level.value)); });
    made.push(
      element("div", { class: "line" }, element("label", {}, "Number of clusters ", level), found.level === found.own ? null : button("Back to " + found.own, () => load(found.own), { id: "own-level" })),
      element("p", { class: "about" }, "Another number cuts the merge tree elsewhere: the map, the names and the sizes show it. Labels stay as they are."),
    );
  }
  if (found.merges.length) made.push(advice(act, found));
  made.push(element("p", { class: "about" }, found.columns.length
    ? "Each line is a cluster, each column one of the features that tell clusters apart: blue where its mean is higher than that of all rows, orange where it is lower."
    : "Rows are pictures, so there are no features to compare; the tree shows which clusters are alike."));
  made.push(table(act, found));
  return made;
}

function advice(act, found) {
  const [first, second] = found.merges[0].map((at) => found.clusters[at]);
  const own = found.level === found.own;
  const which = own ? "" : "At this level, ";
  return element(
    "div", { class: "line" },
    element("p", { class: "about" }, which + (own ? "M" : "m") + "ost alike by the tree: " + first.title + " and " + second.title + "."),
    own ? button("Compare them", () => act.compare("cluster-" + first.number, "cluster-" + second.number), { id: "compare-merge" }) : null,
    own ? button("Merge them", () => act.merge(second.number, first.number), { id: "merge-advised" }) : null,
  );
}

function table(act, found) {
  const own = found.level === found.own;
  const lines = found.clusters.map((cluster, i) => element(
    "tr", {},
    i ? null : (found.merges.length ? element("td", { rowspan: found.clusters.length, class: "tree" }, tree(found)) : null),
    element("th", { scope: "row" }, own
      ? button([swatch(cluster.colour), element("span", { class: "name", title: cluster.title }, cluster.title)], () => act.openCluster(cluster.number), {})
      : element("span", { class: "line" }, swatch(cluster.colour), element("span", { class: "name", title: cluster.title }, cluster.title))),
    element("td", { class: "count" }, cluster.size.toLocaleString("en")),
    found.columns.map((name, j) => cell(found, name, i, j)),
  ));
  return element(
    "div", { class: "scroll overview", tabindex: 0, role: "region", "aria-label": "Clusters and features" },
    element(
      "table", {}, element("caption", { class: "hidden" }, "Mean of each feature in each cluster"),
      element("thead", {}, element(
        "tr", {}, found.merges.length ? element("td", {}) : null, element("th", { scope: "col" }, "Cluster"), element("th", { scope: "col" }, "Rows"),
        found.columns.map((name) => element("th", { scope: "col", class: "upright", title: name }, element("span", {}, name))),
      )),
      element("tbody", {}, lines),
    ),
  );
}

function cell(found, name, i, j) {
  const away = found.cells[i][j];
  const words = name + ": mean " + found.means[i][j] + " in " + found.clusters[i].title + " (" + (away > 0 ? "+" : "") + away + " SD)";
  const strength = Math.round(Math.min(1, Math.abs(away) / STRONG) * 90);
  const paint = "background:color-mix(in srgb, var(" + (away > 0 ? "--high" : "--low") + ") " + strength + "%, transparent)";
  return element("td", { class: "heat", style: paint, title: words }, element("span", { class: "hidden" }, String(away)));
}

// The merges above the clusters, from left to right in the order in which they happen.
function tree(found) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const n = found.clusters.length;
  const width = STEP * Math.min(12, found.merges.length + 1);
  const step = width / (found.merges.length + 1);
  const at = new Map(found.clusters.map((_, i) => [i, { x: width, y: LINE * (i + 0.5) }]));
  let path = "";
  found.merges.forEach(([into, gone], i) => {
    const [a, b] = [at.get(into), at.get(gone)];
    const x = width - step * (i + 1);
    path += "M" + a.x + " " + a.y + "H" + x + "V" + b.y + "H" + b.x;
    at.set(into, { x, y: (a.y + b.y) / 2 });
  });
  made.setAttribute("viewBox", "0 0 " + width + " " + LINE * n);
  made.setAttribute("width", width);
  made.setAttribute("height", LINE * n);
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", "Merge tree of " + counted(n, "cluster"));
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  made.append(line);
  return made;
}
