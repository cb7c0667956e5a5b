// Small tables and plots: elements, never HTML as text.

// Creates an element with attributes and children.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const NUMBERS = new Intl.NumberFormat("en");

export const number = (value) => NUMBERS.format(value);

// Returns bytes with a unit.
export function bytes(count) {
  const units = ["bytes", "KB", "MB", "GB"];
  const at = Math.min(Math.floor(Math.log10(Math.max(count, 1)) / 3), 3);
  return `${at ? (count / 1000 ** at).toFixed(1) : count} ${units[at]}`;
}

// Returns the text of a value, which is text or JSON.
export const valueText = (value) => (typeof value === "string" ? value : JSON.stringify(value));

// Returns the value of a route, with the names of its ASes and what RPKI says of its origin.
export function routeValue(route) {
  const names = Object.entries(route.as_names ?? {}).map(([number, name]) => element("span", { class: "name" }, `AS${number} ${name}`));
  const states = [route.rov ?? []].flat().map((state) => element("span", { class: `rov ${state}` }, state));
  return element("span", {}, valueText(route.next_hop), ...[...names, ...states].flatMap((said) => [" ", said]));
}

// Returns a table whose rows are lists of texts and elements.
export function table(caption, heads, rows) {
  const numbers = (at) => rows[0]?.[at]?.className === "number";
  const head = element("tr", {}, ...heads.map((text, at) => element("th", { scope: "col", ...(numbers(at) ? { class: "number" } : {}) }, text)));
  const body = rows.map((row) => element("tr", {}, ...row.map((cell) => (cell instanceof Node && cell.nodeName === "TD" ? cell : element("td", {}, cell)))));
  const made = element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { class: "wide" }, made);
}

export const code = (text) => element("td", { class: "code" }, text);
export const figure = (text) => element("td", { class: "number" }, text);

// Returns a bar from one share of the width to another, both from 0 to 1.
export function bar(from, to) {
  const made = element("span", { class: "bar" });
  made.style.marginLeft = `${100 * from}%`;
  made.style.width = `${100 * (to - from)}%`;
  return element("td", { class: "track" }, made);
}

// Returns a plot of counts: a row each with its name, a bar and the count.
export function plot(caption, heads, counts) {
  const most = Math.max(1, ...counts.map(([, count]) => count));
  const rows = counts.map(([name, count]) => [code(name), bar(0, count / most), figure(number(count))]);
  return table(caption, heads, rows);
}
