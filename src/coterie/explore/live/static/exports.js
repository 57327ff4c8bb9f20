// What a person takes away.

import { element, respond } from "./dom.js";

const FILES = [
  ["labels.csv", "Labels as CSV", "Row, cluster, name, confidence, and whether you gave the label."],
  ["labels.parquet", "Labels as Parquet", "The same columns; needs less space and keeps their types."],
  ["model", "Refined model", "Labels new rows as these are labelled: coterie predict refined.coterie NEW, or coterie.load."],
  ["answers", "Your answers", "What you said, and the names, as JSON; coterie refine RUN --answers answers.json --out NEW makes a run of it."],
  ["report", "Report", "One HTML file of the present state, to be read without this program; takes some seconds."],
];

export function exporting(app, act) {
  return [
    element("p", { class: "about" }, "Each file is of what is shown now, and is also kept in the folder explore of the run."),
    element("ul", { class: "downloads" }, FILES.map(([what, name, about]) => element(
      "li", {},
      element("button", { type: "button", id: "export-" + what.replace(".", "-"), "aria-describedby": "about-" + what, onclick: () => act.download(what) }, name),
      element("div", { class: "about", id: "about-" + what }, about),
    ))),
  ];
}

// Fetch a file before it is handed to the browser, so that what stands against it is said on the page.
export async function exported(what, say) {
  const [, name] = FILES.find(([key]) => key === what);
  say(name + ": writing…", "busy");
  const response = await respond("/api/export/" + what);
  const file = response.headers.get("Content-Disposition").match(/filename="([^"]+)"/)[1];
  const address = URL.createObjectURL(await response.blob());
  element("a", { href: address, download: file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  say(file + " is written.");
}
