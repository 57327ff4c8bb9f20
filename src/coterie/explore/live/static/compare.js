// Two groups of rows side by side: a cluster, a known class, the selection, or the rest.

import { button, counted, element, post, show } from "./dom.js";
import { featureTables } from "./features.js";
import { rowList } from "./rows.js";

// The groups that can be compared, by the values of their options.
function groups(app) {
  return [
    ...app.state.clusters.map((cluster) => ["cluster-" + cluster.number, "Cluster " + cluster.title]),
    ...app.run.classes.map((name, code) => ["class-" + code, "Known class " + name]),
    ...(app.selection.size ? [["rows", "The selection (" + counted(app.selection.size, "row") + ")"]] : []),
    ["rest", "The rest"],
  ];
}

function group(app, value) {
  const [kind, number] = value.split("-");
  if (kind === "rows") return { kind, rows: [...app.selection] };
  return kind === "rest" ? { kind } : { kind, number: Number(number) };
}

function chooser(app, id, name, chosen) {
  const entries = groups(app);
  const known = entries.some(([value]) => value === chosen) ? chosen : entries[0][0];
  return element(
    "label", {}, name + " ",
    element("select", { id }, entries.map(([value, words]) => element("option", { value, selected: value === known }, words))),
  );
}

export function compare(app, act) {
  const largest = [...app.state.clusters].sort((a, b) => b.size - a.size)[0];
  const [first, second] = app.compared || ["cluster-" + largest.number, "rest"];
  const found = element("div", { id: "compared" });
  const run = async () => {
    const [one, other] = ["compare-first", "compare-second"].map((id) => document.getElementById(id).value);
    app.compared = [one, other];
    show(found, "Comparing…");
    try {
      show(found, result(app, act, await post("/api/compare", { first: group(app, one), second: group(app, other) }, app.state.steps)));
    } catch (error) {
      show(found);
      act.wrong(error);
    }
  };
  if (app.compared) setTimeout(run);
  return [
    element("p", { class: "about" }, "How do two groups of rows differ? Compare clusters, known classes, the selection, or all the rest."),
    element("div", { class: "line" }, chooser(app, "compare-first", "Compare", first), chooser(app, "compare-second", "with", second)),
    element("div", { class: "line" }, button("Compare", run, { id: "compare", class: "main" })),
    found,
  ];
}

function result(app, act, answer) {
  const rows = new Map(answer.rows.map((row) => [row.row, row]));
  const listed = (heading, numbers) => [element("h3", {}, heading), rowList(app, act, numbers.map((row) => rows.get(row)))];
  const parts = [element("h2", {}, answer.titles[0][0].toUpperCase() + answer.titles[0].slice(1) + " and " + answer.titles[1]), element("p", { class: "about" }, counted(answer.sizes[0], "row") + " and " + counted(answer.sizes[1], "row") + ".")];
  if (answer.pictures) {
    const { first, second, difference } = answer.pictures;
    const figures = [[first, "mean of " + answer.titles[0]], [second, "mean of " + answer.titles[1]], [difference, "difference: white is more in the first"]];
    parts.push(element("div", { class: "pair" }, figures.map(([src, words]) => element(
      "figure", {}, element("img", { src, alt: words }), element("figcaption", { class: "about" }, words),
    ))));
  }
  if (answer.features.length) parts.push(element("h3", {}, "Where they differ most"), featureTables(app, answer.features, "first", "second"));
  else if (!answer.pictures) parts.push(element("p", {}, "They differ in no feature."));
  parts.push(...answer.columns.map(column));
  parts.push(...listed("Typical of " + answer.titles[0], answer.typical[0]), ...listed("Typical of " + answer.titles[1], answer.typical[1]), ...listed("Between the two", answer.between));
  return parts;
}

function column(found) {
  const percent = (share) => Math.round(100 * share) + "%";
  return element(
    "div", { class: "scroll" },
    element(
      "table", {}, element("caption", {}, found.name),
      element("thead", {}, element("tr", {}, ["Value", "First", "Second"].map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, found.values.map((line) => element(
        "tr", {}, element("th", { scope: "row", class: "wrap" }, line.value || "no value"), element("td", {}, percent(line.first)), element("td", {}, percent(line.second)),
      ))),
    ),
  );
}
