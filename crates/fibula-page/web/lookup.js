// The question: what is typed is answered at once, and the last question wins.

import { ask } from "./ask.js";
import { bar, code, element, number, routeValue, table } from "./bars.js";
import { allMeant, parsePrefix } from "./address.js";

const SHOWN = 50;
const PAUSE = 90;
// The addresses and prefixes that are asked for at once.
const AT_ONCE = 64;

const isAddress = (text) => /^[0-9a-f:./\s,;%\[\]–-]+$/i.test(text) && /[.:/]/.test(text);

// Shows the answer for what is typed of addresses and prefixes.
async function covers(name, typed, signal) {
  const all = allMeant(typed);
  if (all === null) {
    // It may be a community or the name of an interface.
    const hint = element("p", { class: "faint" }, `“${typed}” is no address or prefix yet`);
    return [hint, ...(await values(name, typed, signal))];
  }
  return all.length === 1 ? one(name, all[0], signal) : several(name, all, signal);
}

// Shows the answer for one: the longest match, all covers, more specific routes.
async function one(name, text, signal) {
  const { value: rows } = await ask("json", "/v1/lookup", name, { addr: text, all: "1" }, signal);
  const parts = [];
  const [first] = rows;
  if (first.prefix === null) {
    parts.push(element("p", { class: "found" }, `${first.address} has no route`));
  } else {
    const found = element("p", { class: "found" }, element("span", { class: "code" }, first.prefix), " → ", routeValue(first));
    parts.push(found);
    const lines = rows.map((row) => {
      const { length, bits } = parsePrefix(row.prefix);
      return [code(row.prefix), bar(length / bits, 1), routeValue(row)];
    });
    parts.push(table("Routes that cover it, longest first", ["prefix", "bits that are free", "value"], lines));
  }
  const inside = text.includes("/") ? text : first.prefix;
  if (inside !== null) parts.push(await listed(`Routes in ${inside}`, name, { "covered-by": inside }, signal));
  return parts;
}

// Shows the longest match of each.
async function several(name, all, signal) {
  const asked = all.slice(0, AT_ONCE);
  const answers = await Promise.all(asked.map((addr) => ask("json", "/v1/lookup", name, { addr }, signal)));
  const rows = answers.map(({ value: [row] }) => [
    code(row.address),
    code(row.prefix ?? ""),
    row.prefix === null ? element("span", { class: "faint" }, "no route") : routeValue(row),
  ]);
  const caption = all.length > asked.length ? `The first ${asked.length} of ${number(all.length)}` : `${asked.length} answers`;
  return [table(caption, ["asked", "prefix", "value"], rows)];
}

// Shows some routes by pages, each with how many there are; nothing where there are none.
async function listed(caption, name, parameters, signal) {
  const place = element("div", { class: "pages" });
  const show = async (offset) => {
    const page = { ...parameters, limit: SHOWN, offset, total: "true" };
    const { value: routes, total } = await ask("json", "/v1/routes", name, page, signal);
    // A prefix is in itself, and was shown already.
    if (total === 0 || (total === 1 && routes[0]?.prefix === parameters["covered-by"])) return place.replaceChildren();
    const rows = routes.map((route) => [code(route.prefix), routeValue(route)]);
    const which = total > SHOWN ? `${number(offset + 1)} to ${number(offset + routes.length)} of ${number(total)}` : number(total);
    const made = [table(`${caption}: ${which}`, ["prefix", "value"], rows)];
    if (total > SHOWN) {
      const turn = (text, to) => {
        const button = element("button", { type: "button", ...(to < 0 || to >= total ? { disabled: "" } : {}) }, text);
        button.addEventListener("click", () => show(to).catch((error) => place.append(element("p", { class: "bad" }, error.message))));
        return button;
      };
      made.push(element("p", {}, turn("Before", offset - SHOWN), " ", turn("Next", offset + SHOWN)));
    }
    return place.replaceChildren(...made);
  };
  await show(0);
  return place;
}

// Shows the routes whose value has a text in it.
async function values(name, text, signal) {
  const place = await listed(`Routes whose value has “${text}”`, name, { value: text }, signal);
  return [place.hasChildNodes() ? place : element("p", { class: "found" }, `no value with “${text}”`)];
}

// Answers what is in the box, of the table that `current` names, as it is typed, and calls `asked`
// with each question.
export function start(current, asked) {
  const box = document.getElementById("query");
  const answer = document.getElementById("answer");
  let [timer, last] = [0, new AbortController()];
  let before = "";
  const run = async () => {
    last.abort();
    last = new AbortController();
    const { signal } = last;
    const text = box.value.trim();
    const name = current();
    asked(text);
    if (text === "" || name === "") return answer.replaceChildren();
    try {
      const parts = await (isAddress(text) || allMeant(text) !== null ? covers : values)(name, text, signal);
      // What has not changed is not read aloud again, and the page that is turned to stays.
      const made = element("div", {}, ...parts);
      const state = made.textContent;
      const isSame = answer.firstChild !== null && before === `${name} ${text} ${state}`;
      before = `${name} ${text} ${state}`;
      if (!signal.aborted && !isSame) answer.replaceChildren(made);
    } catch (error) {
      if (!signal.aborted) answer.replaceChildren(element("p", { class: "bad" }, error.message));
    }
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(run, PAUSE);
  };
  box.addEventListener("input", soon);
  return {
    again: run,
    show(text) {
      box.value = text;
      run();
    },
  };
}
