// The question: what is typed is answered at once, and the last question wins.

import { ask } from "./ask.js";
import { bar, code, element, table, valueText } from "./bars.js";
import { parsePrefix, typedPrefix } from "./address.js";

const SHOWN = 50;
const PAUSE = 90;

const isAddress = (text) => /^[0-9a-f:.]+(\/\d*)?$/i.test(text) && /[.:]/.test(text);

// Shows the answer for an address or a prefix: the longest match, all covers, more specific routes.
async function covers(name, typed, signal) {
  const text = typedPrefix(typed);
  if (text === null) {
    // It may be a community or the name of an interface.
    const hint = element("p", { class: "faint" }, `“${typed}” is no address or prefix yet`);
    return [hint, ...(await values(name, typed, signal))];
  }
  const { value: rows } = await ask("json", "/v1/lookup", name, { addr: text, all: "1" }, signal);
  const parts = [];
  const [first] = rows;
  if (first.prefix === null) {
    parts.push(element("p", { class: "found" }, `${first.address} has no route`));
  } else {
    const found = element("p", { class: "found" }, element("span", { class: "code" }, first.prefix), " → ", valueText(first.next_hop));
    parts.push(found);
    const lines = rows.map((row) => {
      const { length, bits } = parsePrefix(row.prefix);
      return [code(row.prefix), bar(length / bits, 1), valueText(row.next_hop)];
    });
    parts.push(table("Routes that cover it, longest first", ["prefix", "bits that are free", "value"], lines));
  }
  const inside = text.includes("/") ? text : first.prefix;
  if (inside !== null) {
    const parameters = { "covered-by": inside, limit: SHOWN };
    const { value: routes, isTruncated } = await ask("json", "/v1/routes", name, parameters, signal);
    const specific = routes.filter((route) => route.prefix !== inside);
    if (specific.length > 0) parts.push(listed(`Routes in ${inside}`, specific, isTruncated));
  }
  return parts;
}

function listed(caption, routes, isTruncated) {
  const rows = routes.map((route) => [code(route.prefix), valueText(route.next_hop)]);
  return table(isTruncated ? `${caption}, the first ${routes.length}` : caption, ["prefix", "value"], rows);
}

// Shows the routes whose value has a text in it.
async function values(name, text, signal) {
  const { value: routes, isTruncated } = await ask("json", "/v1/routes", name, { value: text, limit: SHOWN }, signal);
  if (routes.length === 0) return [element("p", { class: "found" }, `no value with “${text}”`)];
  return [listed(`Routes whose value has “${text}”`, routes, isTruncated)];
}

// Answers what is in the box, of the table that `current` names, as it is typed.
export function start(current) {
  const box = document.getElementById("query");
  const answer = document.getElementById("answer");
  let [timer, last] = [0, new AbortController()];
  const run = async () => {
    last.abort();
    last = new AbortController();
    const { signal } = last;
    const text = box.value.trim();
    const name = current();
    if (text === "" || name === "") return answer.replaceChildren();
    try {
      const parts = await (isAddress(text) ? covers : values)(name, text, signal);
      // What has not changed is not read aloud again.
      const made = element("div", {}, ...parts);
      if (!signal.aborted && !answer.firstChild?.isEqualNode(made)) answer.replaceChildren(made);
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
