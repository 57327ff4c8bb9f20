// Elements made of text, and requests. Nothing that comes from the data is ever read as HTML.

export function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") made.style.cssText = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

export function show(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

export function swatch(colour) {
  return element("span", { class: "swatch", style: "background:" + colour, "aria-hidden": "true" });
}

export function button(text, press, attributes) {
  return element("button", { type: "button", onclick: press, ...attributes }, text);
}

export function counted(number, noun) {
  return number.toLocaleString("en") + " " + noun + (number === 1 ? "" : "s");
}

// A description list of pairs.
export function pairs(entries) {
  const parts = entries.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, String(value))]);
  return element("dl", { class: "about-row" }, parts);
}

// Fetch an address; what the server refuses becomes an error in its words.
export async function respond(address, options) {
  const response = await fetch(address, options).catch(() => {
    throw new Error("The program does not answer; start coterie explore again. Your answers are kept.");
  });
  if (response.ok) return response;
  const body = await response.text();
  let words = body;
  try {
    words = JSON.parse(body).error || body;
  } catch {
    // The guard answers in plain words.
  }
  throw Object.assign(new Error(words), { stale: response.status === 409 });
}

export async function get(address) {
  return (await respond(address)).json();
}

// Send an answer, and how many steps were known when it was given: one that missed some is refused.
export async function post(address, body, steps) {
  const options = { method: "POST", headers: { "Content-Type": "application/json", "Coterie-Steps": String(steps) } };
  return (await respond(address, { ...options, body: JSON.stringify(body || {}) })).json();
}
