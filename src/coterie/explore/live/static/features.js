// Features in which two groups of rows differ: their means, and how their values spread in both.

import { element } from "./dom.js";
import { signed } from "./rows.js";

const WIDTH = 120;
const HEIGHT = 30;

function drawing(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...children);
  return made;
}

function outline(shares, highest) {
  const tops = shares.map((share, i) => "V" + (HEIGHT - ((HEIGHT - 1) * share) / highest).toFixed(1) + "H" + (((i + 1) * WIDTH) / shares.length).toFixed(1));
  return "M0 " + HEIGHT + tops.join("") + "V" + HEIGHT + "Z";
}

// The values inside a group, filled, over those elsewhere, grey.
export function overlaid(spread, about) {
  const highest = Math.max(...spread.inside, ...spread.outside) || 1;
  const label = about + ": values from " + spread.marks[0] + " to " + spread.marks[spread.marks.length - 1];
  return drawing(
    "svg", { viewBox: "0 0 " + WIDTH + " " + HEIGHT, preserveAspectRatio: "none", role: "img", class: "spread", "aria-label": label },
    drawing("title", {}, label),
    drawing("path", { class: "outside", d: outline(spread.outside, highest) }),
    drawing("path", { class: "inside", d: outline(spread.inside, highest) }),
  );
}

// One table a view; `here` and `there` are what the two groups are called.
export function featureTables(app, features, here, there) {
  const views = [...new Set(features.map((feature) => feature.view))];
  return views.map((view) => element(
    "div", { class: "scroll" },
    element(
      "table", { class: "features" },
      element("caption", {}, (app.run.views.length > 1 ? view + ": m" : "M") + "eans " + here + " (coloured) and " + there + " (grey), and their difference in standard deviations (SDs)"),
      element("thead", {}, element("tr", {}, ["Feature", "Values", "SDs"].map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, features.filter((feature) => feature.view === view).map((feature) => featureRow(feature, here, there))),
    ),
  ));
}

function featureRow(feature, here, there) {
  return element(
    "tr", {},
    element(
      "th", { scope: "row" }, element("span", { class: "name", title: feature.name }, feature.name),
      element("small", {}, feature.inside + " " + here + ", " + feature.elsewhere + " " + there),
    ),
    element("td", {}, feature.spread ? overlaid(feature.spread, feature.name) : null),
    element("td", {}, signed(feature.difference.toFixed(2))),
  );
}
