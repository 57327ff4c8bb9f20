// The other parts next to the map: selection, questions, history and exports. `act` holds the actions.

import { PAGE } from "./clusters.js";
import { button, counted, element, get, post, respond, show, swatch } from "./dom.js";
import { featureTables } from "./features.js";
import { aboutRow, colourOf, options, picture, rowList, titleOf, valuesNote } from "./rows.js";

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
  const list = element("div", { "aria-busy": "true" }, "Reading…");
  asked(app, act).then((cards) => {
    show(list, cards.length ? cards : "There is nothing to ask.");
    list.removeAttribute("aria-busy");
  }).catch(act.wrong);
  return [element("p", { class: "about" }, "Rows whose labels would help most: some represent regions without any label, some are uncertain. Which cluster does each belong to?" + valuesNote(app)), list];
}

// The questions, and the images that stand for the clusters among the answers.
async function asked(app, act) {
  if (!app.state.ask.length) return [];
  const rows = await get("/api/rows?rows=" + app.state.ask.join(","));
  const likely = new Set(rows.flatMap((row) => [row.cluster, ...(row.second ? [row.second.cluster] : [])]));
  const candidates = app.state.clusters.filter((cluster) => likely.has(cluster.number) && cluster.exemplar !== null);
  const images = new Map();
  if (app.run.pictures && candidates.length) {
    const described = await get("/api/rows?rows=" + candidates.map((cluster) => cluster.exemplar).join(","));
    candidates.forEach((cluster, i) => images.set(cluster.number, described[i].image));
  }
  return rows.map((row) => question(app, act, row, images));
}

function question(app, act, row, images) {
  const likely = [row.cluster, ...(row.second ? [row.second.cluster] : [])];
  const others = element("select", { "aria-label": "Another cluster for row " + row.row },
    element("option", { value: "" }, "another…"), options(app), element("option", { value: "new" }, "a new cluster"));
  others.addEventListener("change", () => {
    if (others.value) act.reply(row.row, others.value === "new" ? null : Number(others.value));
  });
  const reply = (number) => button(
    [swatch(colourOf(app.state, number)), images.get(number) ? element("img", { src: images.get(number), alt: "" }) : null, titleOf(app.state, number)],
    () => act.reply(row.row, number), { "data-to": number, "aria-label": "Row " + row.row + " belongs to cluster " + titleOf(app.state, number) },
  );
  return element(
    "article", { class: "card question", "data-row": row.row },
    element("h3", {}, "Row " + row.row),
    element("div", { class: "ask" }, picture(row), aboutRow(app, row)),
    element("div", { class: "line answers", role: "group", "aria-label": "Cluster of row " + row.row }, likely.map(reply), others),
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
