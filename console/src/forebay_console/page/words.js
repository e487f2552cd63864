// Numbers, sizes and times as words.  A value that a server cannot report is "unknown", not zero.

export const UNKNOWN = "unknown";

const isUnknown = (value) => value === null || value === undefined;

export function count(value) {
  return isUnknown(value) ? UNKNOWN : Math.round(value).toLocaleString("en");
}

export function short(value) {
  if (isUnknown(value)) return UNKNOWN;
  for (const [size, mark] of [[1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
    if (Math.abs(value) >= size) return (value / (mark === " k" ? 1e3 : size)).toFixed(1) + mark;
  }
  return Math.round(value).toLocaleString("en");
}

export function rate(value) {
  if (isUnknown(value)) return UNKNOWN;
  if (value === 0) return "0 /s";
  return (value < 10 ? value.toFixed(1) : short(value)) + " /s";
}

const BYTES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
const TIMES = [[86400e3, "d"], [3600e3, "h"], [60e3, "min"], [1e3, "s"]];

export function bytes(value) {
  if (isUnknown(value)) return UNKNOWN;
  for (const [size, mark] of BYTES) if (value >= size) return `${(value / size).toFixed(1)} ${mark}`;
  return `${Math.round(value)} B`;
}

export function span(ms) {
  if (isUnknown(ms)) return UNKNOWN;
  if (ms < 0) return "in the future";
  for (const [size, mark] of TIMES) if (ms >= size) return `${(ms / size).toFixed(ms >= 10 * size ? 0 : 1)} ${mark}`;
  return `${Math.round(ms)} ms`;
}

// An age that is updated each second: below one second it is "now".
export function age(ms) {
  return !isUnknown(ms) && ms >= 0 && ms < 1000 ? "now" : span(ms);
}

export function ago(ms) {
  const told = age(ms);
  return told === "now" || isUnknown(ms) || ms < 0 ? told : `${told} ago`;
}

export function moment(ms) {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime()) || ms > 8.64e15) return "no time";
  return date.toISOString().replace("T", " ").replace("Z", "");
}

export function idMs(id) {
  return Number(id.split("-")[0]);
}

export function idMoment(id) {
  return moment(idMs(id));
}

export const many = (value, one, more = `${one}s`) => `${count(value)} ${value === 1 ? one : more}`;

// Hints for the command line ("try: ...") do not help on a page.
export const withoutHint = (text) => text.split(/[.;]* *; try: /)[0];

// The end of an axis: the smallest round number, in the unit of a format, that is not below a value.
export function roundAbove(value, format) {
  const units = format === bytes ? BYTES : format === span ? TIMES : [];
  const unit = units.find(([size]) => value >= size)?.[0] ?? 1;
  if (value <= unit) return unit;
  const power = 10 ** Math.floor(Math.log10(value / unit));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power * unit).find((end) => end >= value);
}

// A name from an address; a name that is not text shows its bytes, as \xff.
export function decoded(key) {
  try {
    return decodeURIComponent(key);
  } catch {
    const byte = (code, hex) => (code < 128 ? String.fromCharCode(code) : `\\x${hex.toLowerCase()}`);
    return key.replace(/^(\.\.?)%$/, "$1").replace(/%([0-9a-f]{2})/gi, (_, hex) => byte(parseInt(hex, 16), hex));
  }
}
