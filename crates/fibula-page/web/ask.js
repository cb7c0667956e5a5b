// Questions to a service, or to files in this browser: the same words, the same answers.

import * as local from "./local.js";

const SECRET = "fibula-token";

// Asks the user for a token. Questions wait for it.
let asked = null;
function token() {
  asked ??= new Promise((resolve) => {
    const dialog = document.getElementById("token");
    dialog.addEventListener("close", () => {
      sessionStorage.setItem(SECRET, document.getElementById("secret").value);
      document.getElementById("refused").hidden = false;
      asked = null;
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return asked;
}

// Sends a question, and returns the response. What is refused is an error with the reason.
async function send(path, parameters, signal) {
  const secret = sessionStorage.getItem(SECRET);
  const headers = secret ? { Authorization: `Bearer ${secret}` } : {};
  const response = await fetch(`${path}?${new URLSearchParams(parameters)}`, { headers, signal });
  if (response.status === 401) {
    await token();
    return send(path, parameters, signal);
  }
  if (!response.ok) {
    const reason = await response.json().catch(() => ({}));
    throw new Error(reason.error ?? `${path}: ${response.status}`);
  }
  return response;
}

// How many rows there are, if that was asked.
const totalOf = (response) => (response.headers.has("fibula-total") ? Number(response.headers.get("fibula-total")) : null);
const isTruncated = (response) => response.headers.has("fibula-truncated");

const remote = {
  async json(path, parameters, signal) {
    const response = await send(path, parameters, signal);
    return { value: await response.json(), isTruncated: isTruncated(response), total: totalOf(response) };
  },
  async blob(path, parameters, signal) {
    return (await send(path, parameters, signal)).blob();
  },
};

// Returns who answers about a table: tables of files have names that end so.
export const LOCAL = " (this browser)";
export function sourceOf(table) {
  return table.endsWith(LOCAL) ? local : remote;
}

// Returns a table's name as its source has it.
export const nameOf = (table) => (table.endsWith(LOCAL) ? table.slice(0, -LOCAL.length) : table);

// Asks about a table. `parameters` that name tables have their names on the page.
export function ask(kind, path, table, parameters = {}, signal = undefined) {
  const named = Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [name, ["from", "to", "against"].includes(name) ? nameOf(value) : value]),
  );
  const whole = "from" in named ? named : { table: nameOf(table), ...named };
  return sourceOf(table)[kind](path, whole, signal);
}

// Returns the tables of the service; none where there is no service to ask.
export async function tables() {
  return service("/v1/tables");
}

// Returns what the service says of itself.
export async function service(path) {
  return (await remote.json(path, {})).value;
}

// Returns a text that the service answers.
export async function text(path) {
  return (await send(path, {})).text();
}

// Calls `happened` with each event of a stream, its name and its data, until the stream ends.
export async function events(path, parameters, happened, signal) {
  const response = await send(path, parameters, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const all = (rest + value).split("\n\n");
      rest = all.pop();
      for (const event of all) {
        const [, name, data] = /^event: ([^\n]*)\ndata: ([^\n]*)$/.exec(event) ?? [];
        if (name) happened(name, JSON.parse(data));
      }
    }
  } finally {
    reader.cancel();
  }
}
