// The map: tiles on a canvas, moved and zoomed by mouse, touch and keys.

import { hilbertIndex, hilbertPosition, parsePrefix, prefixText } from "./address.js";

const TILE = 256;
const KEPT = 400;
// Fewer than the connections that a browser makes: what is typed needs one.
const AT_ONCE = 4;
const LABEL_PIXELS = 76;

// Returns the text of a prefix of IPv4 without the octets after its length.
function shortened(text) {
  const [address, length] = text.split("/");
  if (length === undefined || address.includes(":")) return text;
  return `${address.split(".").slice(0, Math.max(1, Math.ceil(length / 8))).join(".")}/${length}`;
}

export class HilbertMap extends EventTarget {
  // A map is a square of blocks, each along a curve of its own. `draw` returns a promise of a
  // tile's picture, and is called with zoom, column and row in a block, and the block.
  constructor(canvas) {
    super();
    this.canvas = canvas;
    this.tiles = new Map();
    this.before = new Map();
    this.wanted = [];
    this.running = 0;
    this.legend = null;
    this.draw = null;
    this.zoom = 0;
    this.left = 0;
    this.top = 0;
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
  }

  // Shows another map: how its tiles are drawn, and its legend.
  show(draw, legend) {
    const isSame = this.legend?.blocks.join() === legend.blocks.join();
    [this.draw, this.legend] = [draw, legend];
    this.blocks = legend.blocks.map(parsePrefix);
    this.forget();
    if (!isSame) {
      this.forget();
      this.whole();
    }
    this.paint();
  }

  // Asks for new pictures, and shows the old ones until they come.
  forget() {
    for (const tile of this.before.values()) tile.picture?.close();
    [this.before, this.tiles, this.wanted] = [this.tiles, new Map(), []];
    this.era = Symbol("era");
  }

  get side() {
    return this.canvas.clientWidth;
  }

  // The blocks of the whole map's side.
  get across() {
    return Math.ceil(Math.sqrt(this.blocks?.length ?? 1));
  }

  // The pixels of a block's side.
  get unit() {
    return TILE * 2 ** this.zoom;
  }

  // The pixels of the whole map's side.
  get world() {
    return this.unit * this.across;
  }

  get least() {
    return Math.log2(Math.max(this.side, 1) / TILE / this.across);
  }

  // What is shown, as a text that `view` takes: the zoom, and the middle as shares of the whole.
  get view() {
    if (!this.legend || this.isWhole) return "";
    const share = (start) => ((start + this.side / 2) / this.world).toFixed(9);
    return [(this.zoom - this.least).toFixed(2), share(this.left), share(this.top)].join();
  }

  set view(text) {
    const [steps, x, y] = text.split(",").map(Number);
    if (!this.legend || ![steps, x, y].every(Number.isFinite)) return;
    this.zoom = Math.min(Math.max(this.least + steps, this.least), Math.max(this.legend.zooms + 0.99, this.least));
    [this.left, this.top] = [x * this.world - this.side / 2, y * this.world - this.side / 2];
    this.moveBy(0, 0);
  }

  // Keeps the middle and what is around it.
  resize() {
    const [before, ratio] = [this.canvas.width / (this.ratio ?? 1), devicePixelRatio];
    const isWhole = this.ratio === undefined || this.isWhole;
    this.ratio = ratio;
    [this.canvas.width, this.canvas.height] = [this.side * ratio, this.side * ratio];
    if (isWhole) return this.whole();
    return this.moveBy((before - this.side) / 2, (before - this.side) / 2);
  }

  get isWhole() {
    return this.left === 0 && this.top === 0 && Math.abs(this.zoom - this.shownWhole) < 1e-9;
  }

  whole() {
    this.shownWhole = this.least;
    [this.zoom, this.left, this.top] = [this.least, 0, 0];
    this.paint();
    this.dispatchEvent(new Event("move"));
  }

  // Zooms by some steps around a pixel.
  zoomBy(steps, x = this.side / 2, y = this.side / 2) {
    const most = this.legend ? this.legend.zooms + 0.99 : this.least;
    const next = Math.min(Math.max(this.zoom + steps, this.least), Math.max(most, this.least));
    const factor = 2 ** (next - this.zoom);
    this.left = (this.left + x) * factor - x;
    this.top = (this.top + y) * factor - y;
    this.zoom = next;
    this.moveBy(0, 0);
  }

  moveBy(x, y) {
    const most = Math.max(this.world - this.side, 0);
    this.left = Math.min(Math.max(this.left + x, 0), most);
    this.top = Math.min(Math.max(this.top + y, 0), most);
    this.paint();
    this.dispatchEvent(new Event("move"));
  }

  // Returns the text of the prefix that is drawn at a pixel; null outside.
  prefixAt(x, y) {
    if (!this.legend) return null;
    const [column, row] = [(this.left + x) / this.unit, (this.top + y) / this.unit];
    const block = this.blockAt(Math.floor(column), Math.floor(row));
    if (!block) return null;
    const deepest = Math.floor((block.bits - block.length) / 2);
    const order = Math.max(0, Math.min(Math.floor(this.zoom) + 8, deepest));
    const cell = (place) => Math.floor((place - Math.floor(place)) * 2 ** order);
    return this.prefixOf(block, cell(column), cell(row), order);
  }

  // Returns the block in a column and row of blocks, if there is one.
  blockAt(column, row) {
    const { across } = this;
    return column >= 0 && row >= 0 && column < across && row < across ? this.blocks[row * across + column] : undefined;
  }

  prefixOf({ address, length, bits }, column, row, order) {
    const long = length + 2 * order;
    const at = hilbertIndex(column, row, order) << BigInt(bits - long);
    return prefixText(address | at, long, bits);
  }

  // Moves the map so that a prefix is in its middle and can be seen.
  find(text) {
    if (!this.legend) return;
    const { address, length, bits } = parsePrefix(text);
    const inside = (block) => bits === block.bits && length >= block.length && (address ^ block.address) >> BigInt(bits - block.length) === 0n;
    const at = this.blocks.findIndex(inside);
    if (at < 0) return;
    const block = this.blocks[at];
    const order = Math.min(Math.floor((length - block.length) / 2), 30);
    const [x, y] = hilbertPosition((address - block.address) >> BigInt(bits - block.length - 2 * order), order);
    this.zoom = Math.min(Math.max(order - 3 + Math.log2(this.side / TILE), this.least), Math.max(this.legend.zooms, this.least));
    const cell = this.unit / 2 ** order;
    const middle = (before, place) => before * this.unit + (place + 0.5) * cell - this.side / 2;
    [this.left, this.top] = [middle(at % this.across, x), middle(Math.floor(at / this.across), y)];
    this.moveBy(0, 0);
  }

  // Draws what there is, and asks for what is missing.
  paint() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      if (this.legend) this.paintNow();
    });
  }

  paintNow() {
    const context = this.canvas.getContext("2d");
    const ratio = this.canvas.width / this.side;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.imageSmoothingEnabled = false;
    context.fillStyle = "#f2f2f2";
    context.fillRect(0, 0, this.side, this.side);
    const zoom = Math.min(Math.max(Math.round(this.zoom), 0), this.legend.zooms);
    const size = TILE * 2 ** (this.zoom - zoom);
    const count = 2 ** zoom * this.across;
    const last = (start) => Math.min(Math.floor((start + this.side) / size), count - 1);
    this.wanted = [];
    for (let row = Math.floor(this.top / size); row <= last(this.top); row += 1) {
      for (let column = Math.floor(this.left / size); column <= last(this.left); column += 1) {
        this.paintTile(context, zoom, column, row, size);
      }
    }
    this.fetch();
    this.label(context);
    if (document.activeElement === this.canvas) this.cross(context);
  }

  paintTile(context, zoom, column, row, size) {
    const [x, y] = [column * size - this.left, row * size - this.top];
    const key = `${zoom}/${column}/${row}`;
    // Where blocks end, nothing is drawn.
    const each = 2 ** zoom;
    const block = Math.floor(row / each) * this.across + Math.floor(column / each);
    if (block >= this.blocks.length) return undefined;
    const own = this.tiles.get(key);
    if (!own) this.wanted.push([zoom, column, row, block]);
    const picture = own?.picture ?? this.before.get(key)?.picture;
    if (picture) return context.drawImage(picture, x, y, size, size);
    // The part of a larger tile that is there already.
    for (let up = 1; up <= zoom; up += 1) {
      const parts = 2 ** up;
      const above = this.tiles.get(`${zoom - up}/${Math.floor(column / parts)}/${Math.floor(row / parts)}`);
      if (above?.picture) {
        const part = TILE / parts;
        context.drawImage(above.picture, (column % parts) * part, (row % parts) * part, part, part, x, y, size, size);
        return undefined;
      }
    }
    return undefined;
  }

  fetch() {
    while (this.running < AT_ONCE && this.wanted.length > 0) {
      const [zoom, column, row, block] = this.wanted.shift();
      const [key, era] = [`${zoom}/${column}/${row}`, this.era];
      const tile = { picture: null };
      this.tiles.set(key, tile);
      this.running += 1;
      const each = 2 ** zoom;
      this.draw(zoom, column % each, row % each, this.legend.blocks[block])
        .then((blob) => createImageBitmap(blob))
        .then((picture) => {
          if (era !== this.era) return picture.close();
          tile.picture = picture;
          for (const [old, { picture: drawn }] of this.tiles) {
            if (this.tiles.size <= KEPT) break;
            drawn?.close();
            this.tiles.delete(old);
          }
          return undefined;
        })
        .catch((error) => {
          if (era !== this.era) return;
          // Not the picture of another map; and it is asked for again when the map is moved.
          this.before.get(key)?.picture?.close();
          this.before.delete(key);
          this.tiles.delete(key);
          this.failed = true;
          this.dispatchEvent(new CustomEvent("failure", { detail: error.message }));
        })
        .finally(() => {
          this.running -= 1;
          if (this.failed) this.failed = false;
          else this.paint();
        });
    }
  }

  // Writes the first addresses of the parts that are large enough, with a line around each.
  label(context) {
    const order = Math.max(0, Math.floor(Math.log2(this.unit / LABEL_PIXELS)));
    const [{ bits, length }] = this.blocks;
    if (order > Math.floor((bits - length) / 2)) return;
    const cells = 2 ** order;
    const side = this.unit / cells;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    for (let row = Math.floor(this.top / side); row * side - this.top < this.side; row += 1) {
      for (let column = Math.floor(this.left / side); column * side - this.left < this.side; column += 1) {
        const block = this.blockAt(Math.floor(column / cells), Math.floor(row / cells));
        if (!block) continue;
        const [x, y] = [column * side - this.left, row * side - this.top];
        context.strokeStyle = "rgba(0, 0, 0, .18)";
        context.lineWidth = 1;
        context.strokeRect(x, y, side, side);
        const text = shortened(this.prefixOf(block, column % cells, row % cells, order));
        context.strokeStyle = "rgba(255, 255, 255, .85)";
        context.lineWidth = 3;
        context.strokeText(text, x + side / 2, y + side / 2, side - 4);
        context.fillStyle = "#111";
        context.fillText(text, x + side / 2, y + side / 2, side - 4);
      }
    }
  }

  cross(context) {
    const middle = this.side / 2;
    context.strokeStyle = "#000";
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(middle, middle, 7, 0, 2 * Math.PI);
    context.stroke();
  }

  tell(name, x, y) {
    const prefix = this.prefixAt(x, y);
    if (prefix) this.dispatchEvent(new CustomEvent(name, { detail: prefix }));
  }

  listen() {
    const { canvas } = this;
    const fingers = new Map();
    let moved = 0;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(-event.deltaY / 240, event.offsetX, event.offsetY);
      this.tell("point", event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, event);
      if (fingers.size === 1) moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return this.tell("point", event.offsetX, event.offsetY);
      const [x, y] = [event.offsetX - before.offsetX, event.offsetY - before.offsetY];
      moved += Math.abs(x) + Math.abs(y);
      if (fingers.size === 2) {
        const [other] = [...fingers.entries()].filter(([id]) => id !== event.pointerId).map(([, finger]) => finger);
        const far = (finger) => Math.hypot(finger.offsetX - other.offsetX, finger.offsetY - other.offsetY);
        this.zoomBy(Math.log2(far(event) / Math.max(far(before), 1)), other.offsetX, other.offsetY);
      } else {
        this.moveBy(-x, -y);
      }
      fingers.set(event.pointerId, event);
      return undefined;
    });
    const end = (event) => {
      if (fingers.delete(event.pointerId) && event.type === "pointerup" && moved < 4) {
        this.tell("point", event.offsetX, event.offsetY);
        this.tell("pick", event.offsetX, event.offsetY);
      }
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("focus", () => this.paint());
    canvas.addEventListener("blur", () => this.paint());
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const middle = this.side / 2;
    const step = this.side / 8;
    const keys = {
      ArrowLeft: () => this.moveBy(-step, 0),
      ArrowRight: () => this.moveBy(step, 0),
      ArrowUp: () => this.moveBy(0, -step),
      ArrowDown: () => this.moveBy(0, step),
      "+": () => this.zoomBy(1),
      "=": () => this.zoomBy(1),
      "-": () => this.zoomBy(-1),
      0: () => this.whole(),
      Enter: () => this.tell("pick", middle, middle),
    };
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
    this.tell("point", middle, middle);
  }
}
