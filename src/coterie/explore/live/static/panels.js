// The parts beside the map. Each is a function from the page's state to elements; `act` holds what buttons do.

import { button, counted, element, get, pairs, show, swatch } from "./dom.js";

const PAGE = 24;

function titled(state, number) {
  const found = state.clusters.find((cluster) => cluster.number === number);
  return found ? found.title : String(number);
}

function colourOf(state, number) {
  const found = state.clusters.find((cluster) => cluster.number === number);
  return found ? found.colour : "transparent";
}

function picture(row, alt) {
  return row.image ? element("img", { src: row.image, alt: alt || "Row " + row.row }) : null;
}

function strongest(app, row) {
  const several = app.run.views.length > 1;
  return row.features.slice(0, 6).map((feature) => [(several ? feature.view + " " : "") + feature.name, feature.value + " (" + signed(feature.away) + " SD)"]);
}

function signed(number) {
  return (number > 0 ? "+" : "") + number;
}

// All that is known about one row.
export function aboutRow(app, row) {
  const entries = [["Cluster", titled(app.state, row.cluster)], ["Confidence", row.confidence.toFixed(2)]];
  if (row.said !== null) entries.push(["You said", titled(app.state, row.said)]);
  if (row.second) entries.push(["Runner-up", titled(app.state, row.second.cluster) + " (" + row.second.membership.toFixed(2) + ")"]);
  if (row.class !== null) entries.push(["Known class", row.class]);
  if (row.missing.length) entries.push(["Missing views", row.missing.join(", ")]);
  return pairs([...entries, ...row.metadata, ...(row.image ? [] : strongest(app, row))]);
}

export function tip(app, row) {
  return [element("h3", {}, "Row " + row.row), picture(row), aboutRow(app, row)];
}

// Rows as buttons that select and unselect.
function rowButton(app, act, row) {
  const pressed = app.selection.has(row.row);
  const label = "Row " + row.row + ", cluster " + titled(app.state, row.cluster) + ", confidence " + row.confidence.toFixed(2);
  const small = row.image
    ? []
    : [...row.metadata.slice(0, 2), ...strongest(app, row).slice(0, 2)].map(([name, value]) => element("small", {}, name + ": " + value));
  return element(
    "li", {},
    element(
      "button",
      { type: "button", "aria-pressed": String(pressed), "aria-label": label, "data-row": row.row, onclick: () => act.toggle(row.row) },
      picture(row, ""), element("span", {}, swatch(colourOf(app.state, row.cluster)), " " + row.row), small,
    ),
  );
}

function rowList(app, act, rows) {
  const pictures = rows.some((row) => row.image);
  return element("ul", { class: pictures ? "rows pictures" : "rows" }, rows.map((row) => rowButton(app, act, row)));
}

function options(app, chosen, leaveOut) {
  return app.state.clusters
    .filter((cluster) => cluster.number !== leaveOut)
    .map((cluster) => element("option", { value: cluster.number, selected: cluster.number === chosen }, cluster.title));
}

// Clusters

export function clusters(app, act) {
  if (app.open !== null && app.state.clusters.some((cluster) => cluster.number === app.open)) return oneCluster(app, act);
  const items = [...app.state.clusters].sort((a, b) => b.size - a.size).map((cluster) => element(
    "li", {},
    element(
      "button",
      { type: "button", "data-cluster": cluster.number, onclick: () => act.openCluster(cluster.number) },
      swatch(cluster.colour), element("span", { class: "name" }, cluster.title),
      element("span", { class: "count" }, counted(cluster.size, "row")), confidenceBar(cluster),
    ),
  ));
  return [
    element("p", { class: "about" }, "Open a cluster to see what it is like, to name it, merge it or split it. Bars show the mean confidence."),
    element("ul", { class: "clusters" }, items),
  ];
}

function confidenceBar(cluster) {
  if (cluster.confidence === null) return element("span", {});
  const percent = Math.round(100 * cluster.confidence);
  return element(
    "span", { class: "bar", role: "img", "aria-label": "mean confidence " + percent + "%", title: "mean confidence " + percent + "%" },
    element("i", { style: "width:" + percent + "%;background:" + cluster.colour }),
  );
}

function oneCluster(app, act) {
  const cluster = app.state.clusters.find((one) => one.number === app.open);
  const body = element("div", { "aria-busy": "true" }, "Reading…");
  get("/api/clusters/" + cluster.number)
    .then((found) => clusterBody(app, act, found))
    .then((parts) => { show(body, parts); body.removeAttribute("aria-busy"); })
    .catch(act.wrong);
  const name = element("input", { id: "name", value: cluster.name, maxlength: 200, placeholder: "no name yet" });
  const naming = element(
    "form", { class: "line", onsubmit: (event) => { event.preventDefault(); act.name(cluster.number, name.value); } },
    element("label", { for: "name" }, "Name ", name), element("button", { type: "submit" }, "Save name"),
  );
  const target = element("select", { "aria-label": "Cluster to merge into" }, options(app, null, cluster.number));
  const merging = element(
    "div", { class: "line" },
    element("label", {}, "Same as ", target),
    button("Merge", () => act.merge(cluster.number, Number(target.value)), { id: "merge", disabled: app.state.clusters.length < 2 }),
    button("Split in two", () => act.split(cluster.number), { id: "split" }),
    button("Show on the map", () => act.pick(cluster.number), {}),
  );
  return [
    element("p", { class: "line" }, button("← All clusters", () => act.openCluster(null), { id: "back" })),
    element("h2", {}, swatch(cluster.colour), " Cluster " + cluster.title),
    element("p", { class: "about" }, counted(cluster.size, "row") + (cluster.confidence === null ? "" : ", mean confidence " + cluster.confidence.toFixed(2))),
    naming, merging, body,
  ];
}

async function clusterBody(app, act, found) {
  const wanted = [...new Set([found.exemplar, ...found.typical, ...found.unsure])].filter((row) => row !== null);
  const rows = new Map((await get("/api/rows?rows=" + wanted.join(","))).map((row) => [row.row, row]));
  const parts = [];
  if (found.commonest) parts.push(element("p", { class: "about" }, "Mostly of the known class " + found.commonest[0] + " (" + Math.round(100 * found.commonest[1]) + "%)."));
  if (found.decoded || found.exemplar !== null) parts.push(element("h3", {}, "Exemplar"), exemplars(rows, found));
  parts.push(element("h3", {}, "Most typical rows"), rowList(app, act, found.typical.map((row) => rows.get(row))));
  parts.push(element("h3", {}, "Least certain rows"), rowList(app, act, found.unsure.map((row) => rows.get(row))));
  if (found.features.length) parts.push(element("h3", {}, "What sets it apart"), featureTables(found));
  if (found.neighbours.length) parts.push(element("h3", {}, "Nearest clusters"), neighbours(app, act, found));
  parts.push(element("h3", {}, "All its rows"), allRows(app, act, found));
  return parts;
}

function exemplars(rows, found) {
  const figures = [];
  if (found.decoded) figures.push(figure(element("img", { src: found.decoded, alt: "Decoded exemplar" }), "decoded"));
  const real = rows.get(found.exemplar);
  if (real && real.image) figures.push(figure(picture(real), "row " + real.row));
  else if (real) figures.push(element("p", { class: "about" }, "Row " + real.row + " stands for it."));
  return element("div", { class: "pair" }, figures);
}

function figure(image, caption) {
  return element("figure", { style: "margin:0" }, image, element("figcaption", { class: "about" }, caption));
}

function featureTables(found) {
  const widest = Math.max(...found.features.map((feature) => Math.abs(feature.difference)));
  const views = [...new Set(found.features.map((feature) => feature.view))];
  return views.map((view) => element(
    "div", { class: "scroll" },
    element(
      "table", { class: "features" },
      element("caption", {}, (views.length > 1 ? view + ": " : "") + "difference from all other rows, in standard deviations"),
      element("tbody", {}, found.features.filter((feature) => feature.view === view).map((feature) => featureRow(feature, widest))),
    ),
  ));
}

function featureRow(feature, widest) {
  const half = 50 * Math.abs(feature.difference) / widest;
  const side = feature.difference > 0 ? "left:50%" : "left:" + (50 - half) + "%";
  const means = "mean " + feature.inside + " here, " + feature.elsewhere + " elsewhere";
  return element(
    "tr", {},
    element("th", { scope: "row" }, element("span", { class: "name", title: feature.name }, feature.name)),
    element("td", {}, element("div", { class: "diverging", title: means }, element("i", { style: side + ";width:" + half + "%" }))),
    element("td", {}, signed(feature.difference)),
  );
}

function neighbours(app, act, found) {
  const chips = found.neighbours.map((number) => button(
    [swatch(colourOf(app.state, number)), titled(app.state, number)], () => act.openCluster(number), {},
  ));
  return element("div", { class: "chips" }, chips);
}

function allRows(app, act, found) {
  const orders = [["unsure", "least certain first"], ["sure", "surest first"], ["row", "by row number"]];
  const order = element("select", { "aria-label": "Order of the rows" }, orders.map(([key, name]) => element("option", { value: key }, name)));
  const list = element("div", {});
  const more = button("More rows", () => load(), {});
  let shown = 0;
  async function load() {
    try {
      const rows = await get("/api/clusters/" + found.number + "/rows?order=" + order.value + "&offset=" + shown + "&most=" + PAGE);
      shown += rows.length;
      list.append(rowList(app, act, rows));
      more.disabled = shown >= found.size;
    } catch (error) {
      act.wrong(error);
    }
  }
  order.addEventListener("change", () => { shown = 0; show(list); load(); });
  return element("div", {}, element("p", { class: "line" }, order, button("List", () => { shown = 0; show(list); load(); }, {}), more), list);
}

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
  return [
    element("h2", {}, counted(app.selection.size, "selected row")),
    ...(app.selection.size ? selected(app, act) : [element("p", { class: "about" }, how)]),
  ];
}

function selected(app, act) {
  const rows = [...app.selection];
  const target = element("select", { id: "target", "aria-label": "Cluster of the selected rows" }, options(app), element("option", { value: "new" }, "a new cluster"));
  const list = element("div", { "aria-busy": "true" });
  get("/api/rows?rows=" + rows.slice(0, PAGE).join(",")).then((described) => {
    const one = described.length === 1 ? [element("div", { class: "card" }, element("h3", {}, "Row " + described[0].row), picture(described[0]), aboutRow(app, described[0]))] : [];
    show(list, rowList(app, act, described), one);
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
      button("Of one cluster", () => act.together(rows), { id: "together", disabled: rows.length < 2, title: "Must-link: whichever cluster it is" }),
      button("Not of one cluster", () => act.apart(rows), { id: "apart", disabled: rows.length !== 2, title: "Cannot-link, for two rows" }),
      button("Clear selection", act.clear, { id: "clear" }),
    ),
    list,
    rows.length > PAGE ? element("p", { class: "about" }, "and " + counted(rows.length - PAGE, "more row")) : null,
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
  return [element("p", { class: "about" }, "Rows whose answer tells most: some stand for regions nobody spoke of, some are unsure. Which cluster is each of?"), list];
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
    if (others.value) act.label([row.row], others.value === "new" ? null : Number(others.value));
  });
  const say = (number) => button(
    [swatch(colourOf(app.state, number)), images.get(number) ? element("img", { src: images.get(number), alt: "" }) : null, titled(app.state, number)],
    () => act.label([row.row], number), { "data-to": number },
  );
  return element(
    "article", { class: "card question", "data-row": row.row },
    element("h3", {}, "Row " + row.row),
    element("div", { class: "ask" }, picture(row), aboutRow(app, row)),
    element("div", { class: "line answers", role: "group", "aria-label": "Cluster of row " + row.row }, likely.map(say), others),
  );
}

// History and export

export function history(app) {
  if (!app.state.history.length) return [element("p", { class: "about" }, "You have said nothing yet.")];
  const items = app.state.history.map((entry) => element("li", {}, entry.words, element("time", { datetime: entry.at }, new Date(entry.at).toLocaleString())));
  return [
    element("p", { class: "about" }, "Every answer is on disk before it is shown. Undo and Redo are above; Ctrl+Z and Ctrl+Shift+Z do the same."),
    element("ol", { class: "history" }, items),
  ];
}

export function exporting() {
  const files = [
    ["labels.csv", "Labels as CSV", "Row, cluster, name, confidence, and whether you gave the label."],
    ["labels.parquet", "Labels as Parquet", "The same."],
    ["model", "Refined model", "For coterie.load: labels new rows as these are labelled."],
    ["answers", "Your answers", "What you said, as JSON."],
    ["report", "Report", "One HTML file of the present state; takes some seconds."],
  ];
  return [
    element("p", { class: "about" }, "Each file is also kept in the folder explore of the run."),
    element("ul", { class: "downloads" }, files.map(([what, name, about]) => element(
      "li", {}, element("a", { class: "download", href: "/api/export/" + what, download: "", id: "export-" + what.replace(".", "-") }, name),
      element("div", { class: "about" }, about),
    ))),
  ];
}
