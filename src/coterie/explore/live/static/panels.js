// The other parts next to the map: selection, questions, history and exports. `act` holds the actions.

import { PAGE } from "./clusters.js";
import { button, counted, element, get, post, respond, show, swatch } from "./dom.js";
import { featureTables } from "./features.js";
import { aboutRow, colourOf, options, picture, rowList, titleOf } from "./rows.js";

// Rows: the selection, and finding rows

export function selection(app, act) {
  const words = element("input", { id: "words", "aria-label": "Row number or words", placeholder: app.run.searchable ? "row number, or words of the metadata in any order" : "row number" });
  const results = element("div", { class: "results" }, app.results.length ? rowList(app, act, app.results) : null);
  async function find(event) {
    event.preventDefault();
    if (!words.value.trim()) return;
    try {
      app.results = await get("/api/search?words=" + encodeURIComponent(words.value));
      const all = await get("/api/found?words=" + encodeURIComponent(words.value));
      show(results, app.results.length
        ? [button("Select all " + counted(all.length, "row") + " found", () => act.select(all), { id: "select-found" }), rowList(app, act, app.results)]
        : element("p", { class: "about" }, "Nothing found."));
    } catch (error) {
      act.wrong(error);
    }
  }
  return [
    element("form", { class: "line", onsubmit: find }, words, element("button", { type: "submit", id: "find" }, "Find")),
    results,
    element("div", { id: "chosen" }, chosen(app, act)),
  ];
}

// Only the selection is shown again when it changes, so that search results stay and keep the focus.
export function chosen(app, act) {
  const how = "Draw around dots on the map, click a dot, find a row above, or press rows in the list of a cluster.";
  const moved = app.moved.length ? [button("Select the " + counted(app.moved.length, "row") + " on the map that moved last", act.selectMoved, { id: "select-moved" })] : [];
  return [
    element("h2", {}, counted(app.selection.size, "selected row")),
    element("div", { class: "line" }, moved),
    ...(app.selection.size ? selected(app, act) : [element("p", { class: "about" }, how)]),
  ];
}

function selected(app, act) {
  const rows = [...app.selection];
  const target = element("select", { id: "target", "aria-label": "Cluster of the selected rows" }, 
    element("option", { value: "" }, "choose a cluster…"), options(app), element("option", { value: "new" }, "a new cluster"));
  const label = button("Label", () => act.label(rows, target.value === "new" ? null : Number(target.value)), { id: "label", class: "main", disabled: true });
  target.addEventListener("change", () => { label.disabled = !target.value; });
  const list = element("div", { "aria-busy": "true" });
  const summary = element("div", { id: "summary" });
  if (rows.length > 1) post("/api/selection", { rows: rows.slice(0, 20000) }, app.state.steps).then((found) => show(summary, summarised(app, found))).catch(act.wrong);
  get("/api/rows?rows=" + rows.slice(0, PAGE).join(",")).then((described) => {
    show(list, described.length === 1 ? oneRow(app, act, described[0]) : rowList(app, act, described));
    list.removeAttribute("aria-busy");
  }).catch(act.wrong);
  return [
    element(
      "div", { class: "line" },
      element("label", {}, rows.length === 1 ? "It belongs to " : "They belong to ", target),
      label,
    ),
    element(
      "div", { class: "line" },
      button("Keep together", () => act.together(rows), { id: "together", disabled: rows.length < 2 }),
      button("Keep apart", () => act.apart(rows), { id: "apart", disabled: rows.length !== 2 }),
      button("Compare with the rest", () => act.compare("rows", "rest"), { id: "compare-selection" }),
      button("Clear selection", act.clear, { id: "clear" }),
    ),
    element("p", { class: "about" }, "Keep together: two rows or more are in one cluster, whichever that is. Keep apart: two rows are in different clusters."),
    summary,
    list,
    rows.length > PAGE ? element("p", { class: "about" }, "and " + counted(rows.length - PAGE, "more row")) : null,
  ];
}

function oneRow(app, act, row) {
  const alike = element("div", {});
  const more = button("More like this", () => get("/api/like/" + row.row).then((rows) => show(alike, rowList(app, act, rows))).catch(act.wrong), { id: "alike" });
  return [element("article", { class: "card" }, element("h3", {}, "Row " + row.row), element("div", { class: "ask" }, picture(row), aboutRow(app, row))), element("div", { class: "line" }, more), alike];
}

// Of which clusters and classes the selection is, and what sets it apart from all other rows.
function summarised(app, found) {
  const counts = (entries) => entries.map(([name, count]) => name + ": " + count.toLocaleString("en")).join(", ");
  return [
    element("p", { class: "about" }, "By cluster " + counts(found.clusters) + "."),
    found.classes.length ? element("p", { class: "about" }, "By known class " + counts(found.classes) + ".") : null,
    found.features.length ? featureTables(app, found.features, "selected", "elsewhere") : null,
  ];
}

// Questions

export function questions(app, act) {
  const refine = app.state.refine;
  if (refine.failure) return [element("p", {}, "Corrections are not possible: " + refine.failure)];
  if (!refine.ready) return [element("p", {}, "Still preparing: " + refine.stage + ".")];
  const rows = app.state.ask;
  if (!rows.length) return [element("p", {}, "There is nothing to ask.")];
  const place = Math.max(0, rows.indexOf(app.asking));
  app.asking = rows[place];
  const card = element("div", { "aria-busy": "true" }, "Reading…");
  get("/api/question/" + app.asking).then((found) => {
    show(card, question(app, act, found));
    card.removeAttribute("aria-busy");
  }).catch(act.wrong);
  const go = (step) => { app.asking = rows[(place + step + rows.length) % rows.length]; act.again(); };
  return [
    element("p", { class: "about" }, "Rows whose labels would help most: some represent regions without any label, some are uncertain. Press 1 or 2 for the first or the second cluster, N for the next row, P for the one before."),
    element(
      "div", { class: "line" }, button("Previous", () => go(-1), { id: "previous" }), button("Skip", () => go(1), { id: "skip" }),
      element("span", { class: "about" }, "Question " + (place + 1) + " of " + rows.length),
    ),
    card,
  ];
}

function question(app, act, { row, candidates, features }) {
  const others = element("select", { "aria-label": "Another cluster for row " + row.row },
    element("option", { value: "" }, "another…"), options(app), element("option", { value: "new" }, "a new cluster"));
  others.addEventListener("change", () => {
    if (others.value) act.reply(row.row, others.value === "new" ? null : Number(others.value));
  });
  const reply = ({ number, image }, i) => button(
    [element("kbd", {}, String(i + 1)), swatch(colourOf(app.state, number)), image ? element("img", { src: image, alt: "" }) : null, titleOf(app.state, number)],
    () => act.reply(row.row, number), { "data-to": number },
  );
  return element(
    "article", { class: "card question", "data-row": row.row },
    element("h3", {}, "Row " + row.row + ": which cluster?"),
    element("div", { class: "line answers", role: "group", "aria-label": "Cluster of row " + row.row }, candidates.map(reply), others),
    features.length ? between(app, features, candidates) : null,
    element("div", { class: "ask" }, picture(row), aboutRow(app, { ...row, features: features.length ? [] : row.features })),
  );
}

// Where the row lies between the means of its two candidates, in the features that tell these apart.
function between(app, features, candidates) {
  const several = app.run.views.length > 1;
  const [first, second] = candidates.map(({ number }) => titleOf(app.state, number));
  return element(
    "div", { class: "scroll" },
    element(
      "table", { class: "between" },
      element("caption", {}, "Where the two clusters differ most, and where this row lies between their means"),
      element("thead", {}, element("tr", {}, ["Feature", "Row", first, "", second].map((name, i) => element(i === 3 ? "td" : "th", { scope: i === 3 ? null : "col", title: name }, element("span", { class: "name" }, name))))),
      element("tbody", {}, features.map((feature) => element(
        "tr", {},
        element("th", { scope: "row" }, element("span", { class: "name", title: feature.name }, (several ? feature.view + ": " : "") + feature.name)),
        element("td", {}, String(feature.value)), element("td", {}, String(feature.means[0])),
        element("td", { class: "place" }, element("i", { style: "left:" + 100 * feature.place + "%" })),
        element("td", {}, String(feature.means[1])),
      ))),
    ),
  );
}

// History

export function history(app) {
  if (!app.state.history.length) return [element("p", { class: "about" }, "There are no answers yet.")];
  const items = app.state.history.map((entry) => element("li", {}, entry.words, element("time", { datetime: entry.at }, new Date(entry.at).toLocaleString())));
  return [
    element("p", { class: "about" }, "Every answer is on disk before it is shown. Undo and Redo are above; Ctrl+Z and Ctrl+Shift+Z do the same."),
    element("ol", { class: "history" }, items),
  ];
}

// Exports

const FILES = [
  ["labels.csv", "Labels as CSV", "Row, cluster, name, confidence, and whether you gave the label."],
  ["labels.parquet", "Labels as Parquet", "The same columns; needs less space and keeps their types."],
  ["model", "Refined model", "Labels new rows as these are labelled: coterie predict refined.coterie NEW, or coterie.load."],
  ["answers", "Your answers", "Your answers and the names, as JSON; coterie refine RUN --answers answers.json --out NEW makes a run of it."],
  ["report", "Report", "One HTML file of the current state, readable without this program; takes some seconds."],
];

export function exporting(app, act) {
  return [
    element("p", { class: "about" }, "Each file holds the current state, and is also kept in the folder explore of the run."),
    element("ul", { class: "downloads" }, FILES.map(([what, name, about]) => element(
      "li", {},
      element("button", { type: "button", id: "export-" + what.replace(".", "-"), "aria-describedby": "about-" + what, onclick: () => act.download(what) }, name),
      element("div", { class: "about", id: "about-" + what }, about),
    ))),
  ];
}

// Fetch a file before it is handed to the browser, so that a failure is reported on the page.
export async function download(what, say) {
  const [, name] = FILES.find(([key]) => key === what);
  say(name + ": writing…", "busy");
  const response = await respond("/api/export/" + what);
  const file = response.headers.get("Content-Disposition").match(/filename="([^"]+)"/)[1];
  const address = URL.createObjectURL(await response.blob());
  element("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  say(file + " is written.");
}
