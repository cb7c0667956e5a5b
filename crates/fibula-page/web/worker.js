// The library in this browser: reads files and answers about them. Nothing leaves the worker but
// answers to the page.

// There are no files: what asks for one is told that it is not open.
const NOT_OPEN = 8;

// What the module may ask of a system: the time, random numbers, and to print.
function system(memory) {
  const view = () => new DataView(memory().buffer);
  const calls = {
    clock_time_get: (_clock, _precision, at) => {
      view().setBigUint64(at, BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6)), true);
      return 0;
    },
    random_get: (at, bytes) => {
      for (let start = 0; start < bytes; start += 65536) {
        crypto.getRandomValues(new Uint8Array(memory().buffer, at + start, Math.min(65536, bytes - start)));
      }
      return 0;
    },
    environ_sizes_get: (count, bytes) => {
      view().setUint32(count, 0, true);
      view().setUint32(bytes, 0, true);
      return 0;
    },
    environ_get: () => 0,
    fd_write: (_file, vectors, count, written) => {
      let total = 0;
      for (let at = 0; at < count; at += 1) {
        const start = view().getUint32(vectors + 8 * at, true);
        const length = view().getUint32(vectors + 8 * at + 4, true);
        console.warn(new TextDecoder().decode(new Uint8Array(memory().buffer, start, length)));
        total += length;
      }
      view().setUint32(written, total, true);
      return 0;
    },
  };
  return new Proxy(calls, { get: (known, name) => known[name] ?? (() => NOT_OPEN), has: () => true });
}

let module = null;
async function start() {
  const response = await fetch("/page/module.wasm");
  if (!response.ok) throw new Error("this fibula was built without what reads files in a browser");
  const compiled = await WebAssembly.compileStreaming(response);
  const wasi = system(() => exports.memory);
  const { exports } = await WebAssembly.instantiate(compiled, { wasi_snapshot_preview1: wasi });
  exports._initialize?.();
  return exports;
}

// Gives the module some bytes, calls it, and returns its status and a copy of its output.
function run(exports, parts, what) {
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  let at = exports.fibula_room(bytes) >>> 0;
  for (const part of parts) {
    new Uint8Array(exports.memory.buffer, at, part.length).set(part);
    at += part.length;
  }
  const status = what();
  const [start, length] = [exports.fibula_output() >>> 0, exports.fibula_output_bytes() >>> 0];
  return { status, body: exports.memory.buffer.slice(start, start + length) };
}

addEventListener("message", async ({ data: { id, name, bytes, question } }) => {
  try {
    // What failed to load is tried again.
    module ??= start().catch((error) => {
      module = null;
      throw error;
    });
    const exports = await module;
    const encoded = new TextEncoder().encode(name ?? question);
    const { status, body } =
      bytes === undefined
        ? run(exports, [encoded], () => exports.fibula_ask())
        : run(exports, [encoded, new Uint8Array(bytes)], () => exports.fibula_read(encoded.length));
    if (status < 0) throw new Error(new TextDecoder().decode(body));
    const total = exports.fibula_total();
    postMessage({ id, body, isTruncated: status === 1, total: total < 0 ? null : total }, [body]);
  } catch (error) {
    // After a trap the memory may be in any state.
    const isTrap = error instanceof WebAssembly.RuntimeError;
    if (isTrap) module = null;
    postMessage({ id, error: isTrap ? "the reader has failed, and has lost its files" : error.message });
  }
});
