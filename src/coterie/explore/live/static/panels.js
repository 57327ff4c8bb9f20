// The other parts beside the map: the selection, questions and history. `act` holds what buttons do.

import { PAGE } from "./clusters.js";
import { button, counted, element, get, show, swatch } from "./dom.js";
import { aboutRow, colourOf, options, picture, rowList, titled, valuesNote } from "./rows.js";

// Rows: the selection, and finding rows

export function selection(app, act) {
  const words = element("input", { id: "words", "aria-label": "Row number or words", placeholder: app.run.searchable ? "row number, or words in the metadata" : "row number" });
  const found = element("div", { class: "found" }, app.found.length ? rowList(app, act, app.found) : null);
  async function find(event) {
    event.preventDefault();
    if (!words.value.trim()) return;
    try {
      app.found = await get("/api/search?words=" + encodeURIComponent(words.value));
      show(found, app.found.length ? rowList(app, act, app.found) : element("p", { class: "about" }, "Nothing found."));
    } catch (error) {
      act.wrong(error);
    }
  }
  return [
    element("form", { class: "line", onsubmit: find }, words, element("button", { type: "submit", id: "find" }, "Find")),
    found,
    element("div", { id: "chosen" }, chosen(app, act)),
  ];
}

// The selection alone is shown again when it changes, so that what was found stays and keeps the focus.
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
  const target = element("select", { id: "target", "aria-label": "Cluster of the selected rows" }, options(app), element("option", { value: "new" }, "a new cluster"));
  const list = element("div", { "aria-busy": "true" });
  get("/api/rows?rows=" + rows.slice(0, PAGE).join(",")).then((described) => {
    show(list, described.length === 1 ? oneRow(app, described[0]) : rowList(app, act, described));
    list.removeAttribute("aria-busy");
    if (described.length) target.value = String(described[0].cluster);
  }).catch(act.wrong);
  return [
    element(
      "div", { class: "line" },
      element("label", {}, rows.length === 1 ? "It is of " : "They are of ", target),
      button("Label", () => act.label(rows, target.value === "new" ? null : Number(target.value)), { id: "label", class: "main" }),
    ),
    element(
      "div", { class: "line" },
      button("Keep together", () => act.together(rows), { id: "together", disabled: rows.length < 2 }),
      button("Keep apart", () => act.apart(rows), { id: "apart", disabled: rows.length !== 2 }),
      button("Clear selection", act.clear, { id: "clear" }),
    ),
    element("p", { class: "about" }, "Two rows or more can be kept together: they are of one cluster, whichever that is. Two can be kept apart."),
    list,
    rows.length > PAGE ? element("p", { class: "about" }, "and " + counted(rows.length - PAGE, "more row")) : null,
  ];
}

function oneRow(app, row) {
  return element("article", { class: "card" }, element("h3", {}, "Row " + row.row), element("div", { class: "ask" }, picture(row), aboutRow(app, row)));
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
  return [element("p", { class: "about" }, "Rows whose answer tells most: some stand for regions nobody spoke of, some are unsure. Which cluster is each of?" + valuesNote(app)), list];
}

// The questions, and the images that stand for the clusters among the answers.
async function asked(app, act) {
  if (!app.state.ask.length) return [];
  const rows = await get("/api/rows?rows=" + app.state.ask.join(","));
  const likely = new Set(rows.flatMap((row) => [row.cluster, ...(row.second ? [row.second.cluster] : [])]));
  const standing = app.state.clusters.filter((cluster) => likely.has(cluster.number) && cluster.exemplar !== null);
  const images = new Map();
  if (app.run.pictures && standing.length) {
    const described = await get("/api/rows?rows=" + standing.map((cluster) => cluster.exemplar).join(","));
    standing.forEach((cluster, i) => images.set(cluster.number, described[i].image));
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
  const say = (number) => button(
    [swatch(colourOf(app.state, number)), images.get(number) ? element("img", { src: images.get(number), alt: "" }) : null, titled(app.state, number)],
    () => act.reply(row.row, number), { "data-to": number, "aria-label": "Row " + row.row + " is of cluster " + titled(app.state, number) },
  );
  return element(
    "article", { class: "card question", "data-row": row.row },
    element("h3", {}, "Row " + row.row),
    element("div", { class: "ask" }, picture(row), aboutRow(app, row)),
    element("div", { class: "line answers", role: "group", "aria-label": "Cluster of row " + row.row }, likely.map(say), others),
  );
}

// History

export function history(app) {
  if (!app.state.history.length) return [element("p", { class: "about" }, "You have said nothing yet.")];
  const items = app.state.history.map((entry) => element("li", {}, entry.words, element("time", { datetime: entry.at }, new Date(entry.at).toLocaleString())));
  return [
    element("p", { class: "about" }, "Every answer is on disk before it is shown. Undo and Redo are above; Ctrl+Z and Ctrl+Shift+Z do the same."),
    element("ol", { class: "history" }, items),
  ];
}
