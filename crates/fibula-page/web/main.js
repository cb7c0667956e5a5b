// The page: which table, which family, and what they are shown as.

import { LOCAL, ask, events, nameOf, tables } from "./ask.js";
import { bytes, code, element, figure, number, plot, table, valueText } from "./bars.js";
import { allMeant } from "./address.js";
import { HilbertMap } from "./map.js";
import * as local from "./local.js";
import * as live from "./live.js";
import * as lookup from "./lookup.js";

const CHANGES_SHOWN = 100;

const by = (id) => document.getElementById(id);
const state = { table: "", since: "" };
const family = () => document.querySelector("input[name=family]:checked").value;
const about = new Map();

// The theme is kept from visit to visit.
const theme = by("theme");
const kept = (value) => {
  try {
    if (value !== undefined) localStorage.setItem("fibula-theme", value);
    return localStorage.getItem("fibula-theme") ?? "";
  } catch {
    // The browser keeps nothing for this page.
    return value ?? "";
  }
};
theme.value = kept();
const paintTheme = () => {
  document.documentElement.dataset.theme = kept(theme.value);
};
theme.addEventListener("change", paintTheme);
paintTheme();

const map = new HilbertMap(by("map"));
const question = lookup.start(() => state.table, () => address());

// The address of the page is what it shows, so that it can be passed on.
const initial = new URLSearchParams(location.search);
let isRestored = false;
function address() {
  if (!isRestored) return;
  const shown = new URLSearchParams();
  const put = (name, value) => value && shown.set(name, value);
  const what = by("by").value;
  put("table", state.table.endsWith(LOCAL) ? "" : state.table);
  put("q", by("query").value.trim());
  put("family", family() === "4" ? "" : family());
  put("by", what === "length" ? "" : what);
  put("since", what === "changes" ? state.since : "");
  put("map", map.view);
  const text = shown.toString().replaceAll("%2F", "/").replaceAll("%3A", ":").replaceAll("%2C", ",");
  history.replaceState(null, "", text === "" ? location.pathname : `?${text}`);
}

// Shows what the address says.
async function restore() {
  const wanted = (name) => initial.get(name) ?? "";
  if (wanted("family") === "6") document.querySelector("input[name=family][value='6']").checked = true;
  if (["value", "routes"].includes(wanted("by"))) by("by").value = wanted("by");
  by("query").value = wanted("q");
  state.since = wanted("since");
  choose(about.has(wanted("table")) ? wanted("table") : about.keys().next().value, wanted("family") !== "");
  if (wanted("by") === "changes" && about.has(wanted("since"))) await compare(0);
  else await drawn;
  if (wanted("map")) map.view = wanted("map");
  isRestored = true;
  address();
}

// Shows an error where an answer would be.
const failed = (where, error) => where.replaceChildren(element("p", { class: "bad" }, error.message));

// Fills the lists of tables where they have changed, and keeps what was chosen.
function list() {
  by("table").value = state.table;
  for (const [select, chosen] of [[by("table"), state.table], [by("other"), state.since]]) {
    if ([...select.options].map(({ value }) => value).join() === [...about.keys()].join()) continue;
    select.replaceChildren(...[...about.keys()].map((name) => element("option", { value: name }, name)));
    if (about.has(chosen)) select.value = chosen;
  }
  if (!about.has(state.since)) {
    state.since = [...about.keys()].find((name) => name !== state.table) ?? "";
    by("other").value = state.since;
  }
  by("compare").disabled = about.size < 2;
}

// Chooses a table, and shows everything of it.
function choose(name, isFamily = false) {
  if (name === undefined) return list();
  state.table = name;
  const { routes } = about.get(name);
  if (!isFamily && routes.ipv4 === 0 && routes.ipv6 > 0) document.querySelector("input[name=family][value='6']").checked = true;
  by("by").querySelector("[value=changes]").disabled = true;
  if (by("by").value === "changes") by("by").value = "length";
  by("differences").replaceChildren();
  by("racing").hidden = name.endsWith(LOCAL);
  show();
}

// Shows the table that is chosen as it is now.
function show() {
  list();
  question.again();
  drawn = drawMap();
  drawFigures();
}

let drawings = 0;
let drawn = null;
async function drawMap() {
  drawings += 1;
  const [name, what, drawing] = [state.table, by("by").value, drawings];
  const parameters = what === "changes" ? { family: family(), against: state.since } : { family: family(), by: what };
  try {
    const { value: legend } = await ask("json", "/v1/legend", name, parameters);
    if (drawing !== drawings) return;
    map.show((zoom, x, y, block) => ask("blob", "/v1/tile", name, { ...parameters, block, zoom, x, y }), legend);
    address();
    const percent = (share) => {
      if (share === null) return "";
      if (share > 0 && share < 1e-5) return " <0.001 %";
      if (share < 1 && share >= 0.9995) return " >99.9 %";
      return ` ${(100 * share).toFixed(share < 0.001 ? 3 : 1)} %`;
    };
    const entries = legend.entries.map(({ colour, text, share }) => {
      const swatch = element("span", { class: "swatch" });
      swatch.style.background = colour;
      return element("li", {}, swatch, text, element("span", { class: "faint" }, percent(share)));
    });
    by("legend").replaceChildren(
      element("p", {}, `${legend.blocks.length > 1 ? `the ${legend.blocks.length} blocks with routes of ` : ""}${legend.block}: ${legend.title};${percent(legend.covered)} of the addresses have a route${what === "changes" ? " in one of them" : ""}`),
      element("ul", {}, ...entries),
    );
  } catch (error) {
    if (drawing === drawings) failed(by("legend"), error);
  }
}

async function drawFigures() {
  const name = state.table;
  const { engine, bytes: size, generation, report, format } = about.get(name);
  try {
    const { value } = await ask("json", "/v1/figures", name);
    if (name !== state.table) return;
    const of = value[`ipv${family()}`];
    const facts = [
      `${number(of.routes)} routes, ${number(of.values)} values, ${number(of.ranges)} intervals`,
      `${format}, generation ${generation}, engine ${engine[`ipv${family()}`] ?? "none"}, ${bytes(size)} in memory`,
      ...report,
    ];
    by("summary").replaceChildren(...facts.flatMap((fact) => [fact, element("br")]));
    by("lengths").replaceChildren(plot("Routes by length", ["length", "", "routes"], of.lengths.map(([length, count]) => [`/${length}`, count])));
    by("depths").replaceChildren(plot("Routes by the number of routes that cover them", ["covers", "", "routes"], of.depths.map((count, depth) => [String(depth), count])));
    by("values").replaceChildren(plot("Values with most routes", ["value", "", "routes"], of.top));
  } catch (error) {
    failed(by("summary"), error);
  }
}

const POINT = by("place").textContent;
// The place that is pointed at on the map: at once its prefix, and soon its answer.
let place = 0;
map.addEventListener("point", ({ detail: prefix }) => {
  clearTimeout(place);
  by("place").textContent = prefix;
  place = setTimeout(async () => {
    try {
      const { value } = await ask("json", "/v1/lookup", state.table, { addr: prefix });
      const [{ prefix: found, next_hop: value4 }] = value;
      if (by("place").textContent !== prefix) return;
      by("place").textContent = found === null ? `${prefix}: no route covers it` : `${prefix}: ${found} → ${valueText(value4)}`;
    } catch (error) {
      failed(by("place"), error);
    }
  }, 60);
});
map.addEventListener("pick", ({ detail: prefix }) => question.show(prefix));
map.addEventListener("failure", ({ detail }) => failed(by("legend"), new Error(detail)));
by("closer").addEventListener("click", () => map.zoomBy(1));
by("farther").addEventListener("click", () => map.zoomBy(-1));
by("whole").addEventListener("click", () => map.whole());
map.addEventListener("move", address);
by("by").addEventListener("change", drawMap);
by("table").addEventListener("change", () => choose(by("table").value));
by("other").addEventListener("change", () => { state.since = by("other").value; });
by("query").addEventListener("keydown", (event) => {
  const prefixes = allMeant(by("query").value.trim());
  if (event.key === "Enter" && prefixes !== null) map.find(prefixes[0]);
});
by("family").addEventListener("change", () => {
  by("place").textContent = POINT;
  drawMap();
  drawFigures();
});

// Two tables: what changed, and a map of it.
async function compare(offset) {
  try {
    const parameters = { from: state.since, to: state.table, limit: CHANGES_SHOWN, offset, total: "true" };
    if (state.since.endsWith(LOCAL) !== state.table.endsWith(LOCAL)) {
      throw new Error("a file in this browser is compared with another one: choose two");
    }
    const { value: changes, total } = await ask("json", "/v1/diff", state.table, parameters);
    const isWhole = total <= CHANGES_SHOWN;
    const caption = isWhole ? `${number(total)} changes` : `Changes ${number(offset + 1)} to ${number(offset + changes.length)} of ${number(total)}`;
    const rows = changes.map(({ change, prefix, before, after }) => [
      change, code(prefix), before === null ? "" : valueText(before), after === null ? "" : valueText(after),
    ]);
    const turn = (text, to) => {
      const button = element("button", { type: "button", ...(to < 0 || to >= total ? { disabled: "" } : {}) }, text);
      button.addEventListener("click", () => compare(to));
      return button;
    };
    const turns = isWhole ? [] : [element("p", {}, turn("Before", offset - CHANGES_SHOWN), " ", turn("Next", offset + CHANGES_SHOWN))];
    by("differences").replaceChildren(table(caption, ["", "prefix", "before", "after"], rows), ...turns);
    if (offset > 0) return;
    by("by").querySelector("[value=changes]").disabled = false;
    by("by").value = "changes";
    await drawMap();
  } catch (error) {
    failed(by("differences"), error);
  }
}
by("compare").addEventListener("click", () => compare(0));

// Engines, one after the other.
by("race").addEventListener("click", async () => {
  const [progress, rows, name] = [by("progress"), [], state.table];
  let isWhole = false;
  by("race").disabled = true;
  progress.hidden = false;
  progress.removeAttribute("value");
  try {
    await events("/v1/engines", { table: nameOf(name), family: family() }, (event, data) => {
      if (event === "end" && data.error) throw new Error(data.error);
      isWhole ||= event === "end";
      if (event !== "engine") return;
      [progress.max, progress.value] = [data.of, data.at];
      const { error, build_ms: build, bytes: size, million_lookups_per_second: speed, wrong } = data.measured;
      rows.push({ speed: speed ?? -1, cells: error
        ? [data.engine, element("td", { colspan: "4", class: "faint" }, error)]
        : [data.engine, figure(speed.toFixed(0)), figure(bytes(size)), figure(`${build.toFixed(1)} ms`), figure(number(wrong))] });
      rows.sort((one, other) => other.speed - one.speed);
      const heads = ["engine", "million lookups a second", "memory", "build", "wrong"];
      by("engines").replaceChildren(table(`Engines on ${name}`, heads, rows.map(({ cells }) => cells)));
    });
    if (!isWhole) throw new Error("the service has ended the measurements");
  } catch (error) {
    failed(by("engines"), error);
  }
  progress.hidden = true;
  by("race").disabled = false;
});

// Files that stay in this browser, where this fibula has what reads them.
fetch("/page/parts.json")
  .then((response) => response.json())
  .then(({ reader }) => { by("files").hidden = !reader; })
  .catch((error) => failed(by("reading"), error));
async function read(file) {
  const status = by("reading");
  status.textContent = `reading ${file.name} (${bytes(file.size)})`;
  try {
    const start = performance.now();
    const name = await local.read(file);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const { value } = await local.json("/v1/tables", {});
    for (const table of value) about.set(table.table + LOCAL, table);
    const { routes } = about.get(name + LOCAL);
    status.textContent = `${file.name}: ${number(routes.ipv4)} routes of IPv4 and ${number(routes.ipv6)} of IPv6 in ${seconds} s`;
    choose(name + LOCAL);
  } catch (error) {
    failed(status, error);
  }
}
by("file").addEventListener("change", (event) => {
  [...event.target.files].forEach(read);
  event.target.value = "";
});
const hasFiles = (event) => event.dataTransfer.types.includes("Files");
addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  document.body.classList.add("dropping");
});
addEventListener("dragleave", () => document.body.classList.remove("dropping"));
addEventListener("drop", (event) => {
  if (!hasFiles(event) || by("files").hidden) return;
  event.preventDefault();
  document.body.classList.remove("dropping");
  [...event.dataTransfer.files].forEach(read);
});

// What the service has.
async function refresh() {
  const served = await tables();
  for (const name of [...about.keys()].filter((name) => !name.endsWith(LOCAL))) about.delete(name);
  for (const table of served) about.set(table.table, table);
}
refresh()
  .then(restore)
  .catch((error) => failed(by("answer"), error));

// What has changed is shown again, but not more often than every two seconds.
const REST = 2000;
let changed = null;
live.start((name) => {
  changed?.add(name);
  if (changed !== null) return;
  changed = new Set([name]);
  setTimeout(async () => {
    const names = changed;
    changed = null;
    try {
      await refresh();
    } catch {
      // The service is away: what is there stays, and its return is an event.
      return;
    }
    if (!about.has(state.table)) choose(about.keys().next().value);
    else if (names.has(state.table)) show();
    else list();
  }, REST);
});
