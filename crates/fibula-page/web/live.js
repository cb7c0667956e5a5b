// What happens: the service's events, and its counters every two seconds.

import { events, text } from "./ask.js";
import { element, number } from "./bars.js";

const PERIOD = 2000;
const KEPT = 200;

// The counters that are shown: their names in the metrics, and on the page.
const COUNTERS = [
  ["fibula_serve_requests_total", "requests a second"],
  ["fibula_serve_lookups_total", "lookups a second"],
];

// Returns the sums of the samples of each metric.
function sums(metrics) {
  const all = new Map();
  for (const line of metrics.split("\n")) {
    const [, name, value] = /^(\w+)(?:\{.*\})? (\S+)$/.exec(line) ?? [];
    if (name) all.set(name, (all.get(name) ?? 0) + Number(value));
  }
  return all;
}

// Shows the counters, and calls `changed` with a table's name when it was replaced.
export function start(changed) {
  const counters = document.getElementById("counters");
  const list = document.getElementById("events");
  const log = (...children) => {
    const time = new Date().toLocaleTimeString("en-GB");
    list.prepend(element("li", {}, element("span", { class: "faint" }, `${time} `), ...children));
    while (list.children.length > KEPT) list.lastChild.remove();
  };
  let changes = 0;
  const happened = (name, data) => {
    if (name === "table") log(`${data.table}, generation ${data.generation}`);
    if (name === "lost") log(`${data.reloads} reloads were too fast to be told`);
    if (name === "changes") {
      changes += data.added + data.removed + data.changed;
      changed(data.table);
    }
    if (name === "reload") {
      const { table, generation, added, removed, changed: other } = data;
      changes += added + removed + other;
      log(`${table}, generation ${generation}: ${number(added)} added, ${number(removed)} removed, ${number(other)} changed`);
      changed(table);
    }
    if (name === "change") log(element("span", { class: "code" }, `${data.change} ${data.prefix}`));
  };
  const follow = async () => {
    try {
      await events("/v1/events", {}, happened);
      log("the service has ended the events");
    } catch (error) {
      log(`the service does not answer: ${error.message}`);
    }
    setTimeout(follow, PERIOD);
  };
  let before = null;
  const count = async () => {
    try {
      const now = { at: performance.now(), sums: sums(await text("/metrics")), changes };
      if (before) {
        const seconds = (now.at - before.at) / 1000;
        const a = (count) => number(Math.round((10 * count) / seconds) / 10);
        const rows = COUNTERS.map(([name, title]) => [title, a((now.sums.get(name) ?? 0) - (before.sums.get(name) ?? 0))]);
        rows.push(["changes a second", a(changes - before.changes)]);
        counters.replaceChildren(...rows.flatMap(([title, value]) => [element("dt", {}, title), element("dd", {}, value)]));
      }
      before = now;
    } catch {
      before = null;
    }
    setTimeout(count, PERIOD);
  };
  follow();
  count();
}
