// Files that are read in this browser, by a worker, so that the page never waits for it.

let worker = null;
let asked = 0;
const waiting = new Map();

// Sends the worker something, and returns what it answers.
function call(message, transferred = []) {
  if (!worker) {
    worker = new Worker("/page/worker.js", { type: "module" });
    worker.addEventListener("message", ({ data }) => {
      const { resolve, reject } = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.error === undefined) resolve(data);
      else reject(new Error(data.error));
    });
    worker.addEventListener("error", () => {
      for (const { reject } of waiting.values()) reject(new Error("this browser does not start the reader"));
      waiting.clear();
      worker = null;
    });
  }
  asked += 1;
  const id = asked;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, ...message }, transferred);
  });
}

// Reads a file, and returns the name of its table.
export async function read(file) {
  const bytes = await file.arrayBuffer();
  const { body } = await call({ name: file.name, bytes }, [bytes]);
  return new TextDecoder().decode(body);
}

const question = (path, parameters) => ({ question: `${path}?${new URLSearchParams(parameters)}` });

export async function json(path, parameters) {
  const { body, isTruncated, total } = await call(question(path, parameters));
  return { value: JSON.parse(new TextDecoder().decode(body)), isTruncated, total };
}

export async function blob(path, parameters) {
  const { body } = await call(question(path, parameters));
  return new Blob([body], { type: "image/png" });
}
