// Values of entries as the server sent them: text, JSON, bytes, perhaps cut; to copy and to save.

import {h} from "/page/dom.js";
import {bytes} from "/page/words.js";

// {text} or {base64}, and {bytes} if it was cut.
export function valueText(value) {
  return value.text !== undefined ? value.text : `base64:${value.base64}`;
}

export function valueNode(value, wide = false) {
  const cut = value.bytes !== undefined && (value.text === undefined || value.bytes > value.text.length);
  const parts = [];
  if (value.text !== undefined) {
    const json = wide ? unfolded(value.text) : null;
    parts.push(json !== null ? h("pre", {class: "json"}, coloured(json)) : h("span", {class: wide ? "value wide" : "value"}, value.text));
  } else {
    parts.push(h("span", {class: "value binary", title: "bytes that are not text, in base64"}, value.base64));
  }
  if (cut) parts.push(h("span", {class: "tag calm"}, `${bytes(value.bytes)}${value.text === undefined ? ", binary" : ""}`));
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

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;
const MOST_COLOURED = 100_000;

function coloured(json) {
  if (json.length > MOST_COLOURED) return json;
  const parts = [];
  let end = 0;
  for (const found of json.matchAll(TOKEN)) {
    const [all, text, colon] = found;
    parts.push(json.slice(end, found.index), h("span", {class: colon ? "json-name" : text ? "json-text" : "json-number"}, text ?? all), colon ?? "");
    end = found.index + all.length;
  }
  return [...parts, json.slice(end)];
}

export function copyButton(label, text) {
  return h("button", {
    class: "quiet small",
    onclick: async (event) => {
      const button = event.currentTarget;
      await copy(text());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = label; }, 1500);
    },
  }, label);
}

// Browsers allow their clipboard only for localhost and over TLS; elsewhere the old way works.
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = h("textarea", {class: "unseen", "aria-hidden": "true"}, text);
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function download(name, text, type) {
  const link = h("a", {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  link.click();
  URL.revokeObjectURL(link.href);
}
