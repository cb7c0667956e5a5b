// What happens: the service's events, and its counters every two seconds.

import { events, service, text } from "./ask.js";
import { code, element, figure, number, table } from "./bars.js";

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
  // What comes many times a second is shown once a frame.
  let [lines, frame] = [[], 0];
  const log = (...children) => {
    const time = new Date().toLocaleTimeString("en-GB");
    lines.unshift(element("li", {}, element("span", { class: "faint" }, `${time} `), ...children));
    lines.length = Math.min(lines.length, KEPT);
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      list.replaceChildren(...lines);
    });
  };
  // The generations that were told last: after a gap, what is another one has changed.
  const known = new Map();
  let isAgain = false;
  let [changes, visible] = [0, null];
  const happened = (name, data) => {
    if (name === "table") {
      log(`${data.table}, generation ${data.generation}`);
      if (isAgain && known.get(data.table) !== data.generation) changed(data.table);
    }
    if (name === "lost") {
      log(`${data.events} changes of tables were too fast to be told`);
      known.forEach((_, table) => changed(table));
    }
    if (name === "gone") {
      log(`${data.table} has gone`);
      changed(data.table);
      known.delete(data.table);
    } else if (data.table !== undefined) known.set(data.table, data.generation);
    if (name === "changes") {
      changes += data.added + data.removed + data.changed;
      visible = data.visible_ms;
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
  // A page that nobody sees follows nothing: a browser has few connections for all of them.
  let stop = null;
  const follow = async () => {
    if (stop !== null || document.hidden) return;
    stop = new AbortController();
    isAgain = known.size > 0;
    try {
      await events("/v1/events", {}, happened, stop.signal);
      log("the service has ended the events");
    } catch (error) {
      if (!stop.signal.aborted) log(`the service does not answer: ${error.message}`);
    }
    stop = null;
    setTimeout(follow, PERIOD);
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? stop?.abort() : follow()));
  let before = null;
  const count = async () => {
    try {
      const now = { at: performance.now(), sums: sums(await text("/metrics")), changes };
      if (before) {
        const seconds = (now.at - before.at) / 1000;
        const a = (count) => number(Math.round((10 * count) / seconds) / 10);
        const rows = COUNTERS.map(([name, title]) => [title, a((now.sums.get(name) ?? 0) - (before.sums.get(name) ?? 0))]);
        rows.push(["changes a second", a(changes - before.changes)]);
        if (visible !== null) rows.push(["until a change is seen", `${number(Math.round(10 * visible) / 10)} ms`]);
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
  routing();
}

// Shows what a router on the service's machine says of itself, if the service asks one.
async function routing() {
  const { router } = await service("/healthz").catch(() => ({ router: false }));
  if (!router) return;
  const section = document.getElementById("router");
  section.hidden = false;
  const facts = document.getElementById("facts");
  const packets = document.getElementById("packets");
  let before = null;
  const look = async () => {
    try {
      const now = { at: performance.now(), ...(await service("/v1/router")) };
      const { status } = now;
      const feeds = status.feeds.map(({ feed, connected, complete }) => `${feed} ${connected ? "connected" : "gone"}${complete ? ", complete" : ""}`);
      const rows = [
        ["forwards", status.forwarding ? "yes" : "not yet"],
        ["feeds", feeds.join("; ")],
        ["next hops", number(status.next_hops)],
        ["neighbours that are not resolved", number(status.unresolved)],
        ["until a change is seen", `${number(Math.round(status.latency_p50_us))} µs; 99 of 100 within ${number(Math.round(status.latency_p99_us))} µs`],
        ["error", status.error ?? "none"],
      ];
      facts.replaceChildren(...rows.flatMap(([title, value]) => [element("dt", {}, title), element("dd", {}, value)]));
      const name = ({ name, label }) => (label === null ? name : `${name} ${label}`);
      const past = new Map((before?.counters ?? []).map((counter) => [name(counter), counter.packets]));
      const seconds = before ? (now.at - before.at) / 1000 : 1;
      const lines = now.counters.map((counter) => {
        const more = past.has(name(counter)) ? (counter.packets - past.get(name(counter))) / seconds : 0;
        return [code(name(counter)), figure(number(counter.packets)), figure(number(Math.round(more)))];
      });
      packets.replaceChildren(table("Packets", ["counted", "all", "a second"], lines));
      before = now;
    } catch (error) {
      facts.replaceChildren(element("dt", { class: "bad" }, error.message));
      before = null;
    }
    setTimeout(look, PERIOD);
  };
  look();
}
