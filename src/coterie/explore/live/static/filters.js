// The filter bar: columns with their values, which narrow the map and the list down to some rows.

import { button, counted, element, get, show } from "./dom.js";
import { overlaid } from "./features.js";

const BINS = 24;

// Positions of the rows that pass every filter; null where there is none.
export function passing(filters) {
  if (!filters.length) return null;
  const positions = [];
  for (let i = 0; i < filters[0].values.length; i += 1) {
    if (filters.every((filter) => passes(filter, i))) positions.push(i);
  }
  return positions;
}

function passes(filter, i) {
  const value = filter.values[i];
  if (filter.groups) return filter.chosen.has(value);
  return value !== null && value >= filter.low && value <= filter.high;
}

export function bar(app, changed) {
  const list = element("select", { id: "add-filter", "aria-label": "Column to filter by" },
    element("option", { value: "" }, "choose a column…"), app.run.filters.map(({ key, name }) => element("option", { value: key }, name)));
  const cards = element("div", { class: "filters" });
  const count = element("p", { class: "about", id: "passing", role: "status" });
  const act = element("div", { class: "line" });
  const refresh = () => {
    const positions = passing(app.filters);
    for (const filter of app.filters) filter.redraw(positions);
    count.textContent = positions ? counted(positions.length, "row") + " of " + app.run.sampled.toLocaleString("en") + " on the map pass." : "";
    show(act, positions ? [button("Select them", changed.select, { id: "select-passing", disabled: !positions.length }), button("Remove all filters", () => { app.filters.length = 0; show(cards); refresh(); }, { id: "clear-filters" })] : null);
    changed.filter(positions);
  };
  list.addEventListener("change", async () => {
    const key = list.value;
    list.value = "";
    if (!key || app.filters.some((filter) => filter.key === key)) return;
    try {
      const filter = { key, ...(await get("/api/filters/" + key)) };
      app.filters.push(filter);
      cards.append(card(filter, refresh, () => { app.filters.splice(app.filters.indexOf(filter), 1); refresh(); }));
      refresh();
    } catch (error) {
      changed.wrong(error);
    }
  });
  return [element("div", { class: "line" }, element("label", {}, "Filter by ", list)), cards, count, act];
}

function card(filter, refresh, remove) {
  const body = filter.groups ? ofGroups(filter, refresh) : ofNumbers(filter, refresh);
  const made = element("fieldset", { class: "card" }, element("legend", {}, filter.name), body,
    button("Remove", () => { made.remove(); remove(); }, { "aria-label": "Remove the filter by " + filter.name }));
  return made;
}

// How many rows are in each step, of all and of those that pass, with the range between two numbers.
function ofNumbers(filter, refresh) {
  const known = filter.values.filter((value) => value !== null);
  const [least, most] = known.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  [filter.low, filter.high] = [least, most];
  const step = (value) => Math.min(BINS - 1, Math.floor((BINS * (value - least)) / (most - least || 1)));
  const counts = (positions) => {
    const found = Array(BINS).fill(0);
    positions.forEach((i) => { if (filter.values[i] !== null) found[step(filter.values[i])] += 1; });
    return found;
  };
  const every = counts(filter.values.map((_, i) => i));
  const plot = element("div", {});
  filter.redraw = (positions) => show(plot, overlaid({ marks: [least, most], inside: positions ? counts(positions) : every, outside: every }, filter.name));
  const edge = (name, words) => {
    const input = element("input", { type: "number", step: "any", value: filter[name], "aria-label": filter.name + ", " + words, "data-edge": name });
    input.addEventListener("change", () => { filter[name] = input.value === "" ? (name === "low" ? least : most) : Number(input.value); refresh(); });
    return input;
  };
  return [plot, element("div", { class: "line" }, edge("low", "from"), edge("high", "to"))];
}

function ofGroups(filter, refresh) {
  filter.chosen = new Set([...filter.groups.keys(), -1]);
  const total = filter.groups.map((_, code) => filter.values.filter((value) => value === code).length);
  const counts = filter.groups.map(() => element("small", {}));
  filter.redraw = (positions) => {
    const found = filter.groups.map(() => 0);
    (positions || []).forEach((i) => { if (filter.values[i] >= 0) found[filter.values[i]] += 1; });
    counts.forEach((made, code) => { made.textContent = " " + found[code] + " of " + total[code]; });
  };
  const boxes = filter.groups.map((name, code) => {
    const box = element("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => {
      if (box.checked) filter.chosen.add(code);
      else filter.chosen.delete(code);
      filter.chosen.delete(-1);
      refresh();
    });
    return element("label", {}, box, element("span", { class: "name", title: name }, name || "no value"), counts[code]);
  });
  return element("div", { class: "choices" }, boxes);
}
