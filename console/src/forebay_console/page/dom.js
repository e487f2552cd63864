// Elements and words.  Everything that a server said becomes a text node: nothing is ever parsed as HTML.

// h("td", {class: "number", onclick: f}, "text", element, ...): an element.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list" && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
}

export function show(place, ...children) {
  place.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
}

// The head of a table; a title that begins with > stands over numbers.
export function heads(...titles) {
  return h("thead", {}, h("tr", {}, titles.flat().filter(Boolean).map((title) => (typeof title !== "string" ? title
    : h("th", {class: title.startsWith(">") ? "number" : null}, title.replace(/^>/, ""))))));
}

// What a server cannot tell is unknown, not zero.
export const UNKNOWN = "unknown";

export function count(value) {
  if (value === null || value === undefined) return UNKNOWN;
  return Math.round(value).toLocaleString("en");
}

export function short(value) {
  if (value === null || value === undefined) return UNKNOWN;
  for (const [size, mark] of [[1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
    if (Math.abs(value) >= size) return (value / (mark === " k" ? 1e3 : size)).toFixed(1) + mark;
  }
  return Math.round(value).toLocaleString("en");
}

export function rate(value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (value === 0) return "0 /s";
  return (value < 10 ? value.toFixed(1) : short(value)) + " /s";
}

export function bytes(value) {
  if (value === null || value === undefined) return UNKNOWN;
  for (const [size, mark] of [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (value >= size) return `${(value / size).toFixed(1)} ${mark}`;
  }
  return `${Math.round(value)} B`;
}

export function span(ms) {
  if (ms === null || ms === undefined) return UNKNOWN;
  if (ms < 0) return "in the future";
  for (const [size, mark] of [[86400e3, "d"], [3600e3, "h"], [60e3, "min"], [1e3, "s"]]) {
    if (ms >= size) return `${(ms / size).toFixed(ms >= 10 * size ? 0 : 1)} ${mark}`;
  }
  return `${Math.round(ms)} ms`;
}

export function moment(ms) {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime()) || ms > 8.64e15) return "no time";
  return date.toISOString().replace("T", " ").replace("Z", "");
}

export function idMoment(id) {
  return moment(Number(id.split("-")[0]));
}

// A value as it was sent: {text}, {base64}, perhaps cut.
export function valueText(value) {
  return value.text !== undefined ? value.text : `base64:${value.base64}`;
}

export function valueNode(value, wide = false) {
  const cut = value.bytes !== undefined && (value.text === undefined || value.bytes > value.text.length);
  const parts = [];
  if (value.text !== undefined) {
    const json = wide ? unfolded(value.text) : null;
    parts.push(json !== null ? h("pre", {}, json) : h("span", {class: wide ? "value wide" : "value"}, value.text));
  } else {
    parts.push(h("span", {class: "value binary", title: "bytes that are no text, in base64"}, value.base64));
  }
  if (cut) parts.push(h("span", {class: "faint"}, ` ${bytes(value.bytes)}${value.text === undefined ? ", binary" : ""}`));
  return parts;
}

function unfolded(text) {
  if (!/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}

export function copyButton(label, text) {
  return h("button", {
    class: "quiet",
    onclick: async (event) => {
      const button = event.currentTarget;
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = label; }, 1500);
    },
  }, label);
}

export function download(name, text, type) {
  const link = h("a", {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  link.click();
  URL.revokeObjectURL(link.href);
}
