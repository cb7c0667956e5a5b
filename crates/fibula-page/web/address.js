// Addresses as BigInt, and their places along the Hilbert curve.

// Returns the text of a prefix of a family with `bits` bits. Of IPv6 the longest run of zeros is
// left out.
export function prefixText(address, length, bits) {
  const host = length === bits ? "" : `/${length}`;
  if (bits === 32) {
    return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join(".") + host;
  }
  const groups = Array.from({ length: 8 }, (_, at) => ((address >> BigInt(112 - 16 * at)) & 65535n).toString(16));
  let [start, run] = [0, 0];
  for (let at = 0; at < 8; at += 1) {
    let end = at;
    while (end < 8 && groups[end] === "0") end += 1;
    if (end - at > run) [start, run] = [at, end - at];
  }
  if (run < 2) return groups.join(":") + host;
  return `${groups.slice(0, start).join(":")}::${groups.slice(start + run).join(":")}${host}`;
}

// Returns an address of IPv6 that ends as one of IPv4 with two groups in its place.
function withoutDots(address) {
  return address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...octets) => {
    const [a, b, c, d] = octets.slice(0, 4).map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
}

// Returns a prefix as its first address and its length.
export function parsePrefix(text) {
  const [address, length] = text.split("/");
  if (!address.includes(":")) {
    const value = address.split(".").reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
    return { address: value, length: Number(length ?? 32), bits: 32 };
  }
  const [left, right] = withoutDots(address).split("::");
  const groups = (part) => (part ? part.split(":") : []);
  const [head, tail] = [groups(left), groups(right)];
  const zeros = Array(Math.max(0, 8 - head.length - tail.length)).fill("0");
  const value = [...head, ...zeros, ...tail].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
  return { address: value, length: Number(length ?? 128), bits: 128 };
}

// Returns what is typed as the text of an address or a prefix, without bits after its length. Null
// if it is neither, or not yet.
export function typedPrefix(text) {
  const [address, length, ...more] = text.split("/");
  const isIpv4 = /^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$/.test(address);
  const isIpv6 = address.includes(":") && /^[0-9a-f:.]+$/i.test(address) && URL.canParse(`http://[${address}]`);
  if (more.length > 0 || (!isIpv4 && !isIpv6)) return null;
  const plain = isIpv4 ? address : new URL(`http://[${address}]`).hostname.slice(1, -1);
  const { address: value, bits } = parsePrefix(plain);
  if (length === undefined) return prefixText(value, bits, bits);
  if (!/^\d{1,3}$/.test(length) || Number(length) > bits) return null;
  const free = BigInt(bits - Number(length));
  const masked = (value >> free) << free;
  return Number(length) === bits ? prefixText(masked, bits, bits) : prefixText(masked, Number(length), bits);
}

// Returns the first address of a prefix's text without its last octets, as in 10/8 or 192.0.2/24.
const completed = (address) => (/^\d{1,3}(\.\d{1,3}){0,2}$/.test(address) ? [...address.split("."), 0, 0, 0].slice(0, 4).join(".") : address);

// Returns the length of a netmask of IPv4; null if it is none.
function maskLength(text) {
  if (typedPrefix(text) === null || text.includes(":")) return null;
  const { address } = parsePrefix(text);
  const length = address.toString(2).padStart(32, "0").indexOf("0");
  const mask = length < 0 ? 32 : length;
  return address === ((1n << 32n) - 1n) >> BigInt(32 - mask) << BigInt(32 - mask) ? mask : null;
}

// Returns the prefixes that are the addresses from one to another.
function rangePrefixes(first, last, bits) {
  const found = [];
  for (let start = first; start <= last; ) {
    let free = 0;
    while (free < bits && (start >> BigInt(free)) % 2n === 0n && start + (1n << BigInt(free + 1)) - 1n <= last) free += 1;
    found.push(prefixText(start, bits - free, bits));
    start += 1n << BigInt(free);
  }
  return found;
}

// Returns the prefixes that are meant by what people type of one: an address, a prefix with octets
// left out or with a netmask, a range; in brackets, with a zone or a port. Null if it is nothing of
// this.
export function meant(text) {
  const range = /^([^\s-]+)\s*[-–]\s*([^\s-]+)$/.exec(text);
  if (range) {
    const [first, last] = [typedPrefix(range[1]), typedPrefix(range[2])];
    if (first === null || last === null || first.includes("/") || last.includes("/")) return null;
    const [from, to] = [parsePrefix(first), parsePrefix(last)];
    return from.bits === to.bits && from.address <= to.address ? rangePrefixes(from.address, to.address, from.bits) : null;
  }
  const bracketed = /^\[([^\]]*)\](:\d{1,5})?(\/\d{1,3})?$/.exec(text);
  const inner = bracketed ? bracketed[1] + (bracketed[3] ?? "") : text;
  const plain = inner.replace(/%[^/\s]*/, "").replace(/^(\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}$/, "$1");
  const masked = /^([\d.]+)\s*(?:\/|\s)\s*(\d+\.\d+\.\d+\.\d+)$/.exec(plain);
  if (masked) {
    const length = maskLength(masked[2]);
    const prefix = length === null ? null : typedPrefix(`${completed(masked[1])}/${length}`);
    return prefix === null ? null : [prefix];
  }
  const [address, length] = plain.split("/");
  const prefix = typedPrefix(length === undefined ? plain : `${completed(address)}/${plain.slice(address.length + 1)}`);
  return prefix === null ? null : [prefix];
}

// Returns what is typed, as the prefixes that each part of it means; null if a part means none.
export function allMeant(text) {
  const whole = meant(text);
  if (whole !== null) return whole;
  const parts = text.split(/[\s,;]+/).filter((part) => part !== "").map(meant);
  return parts.length > 1 && parts.every((part) => part !== null) ? parts.flat() : null;
}

// How the curve of a quarter is reflected: bit 0 transposes it, bit 1 turns it by 180 degrees.
const WITHIN = [1, 0, 0, 3];

// Returns when a cell of a square of 2^order cells a side is visited.
export function hilbertIndex(x, y, order) {
  let [index, turn] = [0n, 0];
  for (let step = order - 1; step >= 0; step -= 1) {
    const side = 2 ** step;
    const turned = turn >> 1;
    let column = (Math.floor(x / side) % 2) ^ turned;
    let row = (Math.floor(y / side) % 2) ^ turned;
    if (turn & 1) [column, row] = [row, column];
    const digit = (column << 1) | (column ^ row);
    index = (index << 2n) | BigInt(digit);
    turn ^= WITHIN[digit];
  }
  return index;
}

// Returns the column and row of the cell that is visited as `index`.
export function hilbertPosition(index, order) {
  let [x, y, turn] = [0, 0, 0];
  for (let step = order - 1; step >= 0; step -= 1) {
    const digit = Number((index >> BigInt(2 * step)) & 3n);
    let [column, row] = [digit >> 1, (digit >> 1) ^ (digit & 1)];
    if (turn & 1) [column, row] = [row, column];
    [x, y] = [x * 2 + (column ^ (turn >> 1)), y * 2 + (row ^ (turn >> 1))];
    turn ^= WITHIN[digit];
  }
  return [x, y];
}
