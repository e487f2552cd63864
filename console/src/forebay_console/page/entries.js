// The entries of a stream: a histogram to choose a time, filters, pages in both directions, a live tail.

import {h, show} from "/page/dom.js";
import {get, post, session} from "/page/api.js";
import {histogram} from "/page/charts.js";
import {ask, attempt, say} from "/page/dialogs.js";
import {exported, imported} from "/page/files.js";
import {table, Ticks} from "/page/tables.js";
import {startTail} from "/page/tail.js";
import {copyButton, valueNode, valueText} from "/page/values.js";
import {wayOf} from "/page/way.js";
import {ago, bytes, count, idMoment, idMs, many, decoded} from "/page/words.js";

const COUNT = 50;
const USUAL = {order: "newest"};
const MOST_FIELDS = 12;

export function entries(place, key, view) {
  const words = {...USUAL, from: "", to: "", field: "", value: "", contains: "", tail: "", ...view.words};
  const go = (next) => view.go({...words, ...next}, {usual: USUAL});
  const remover = h("button", {class: "danger-line", disabled: true, onclick: () => remove(key, state.ticks.chosen, view)}, "Delete…");
  const ticks = new Ticks((chosen) => { remover.disabled = !chosen; remover.textContent = chosen ? `Delete ${chosen}…` : "Delete…"; });
  const list = table("Entries", [session.may_write ? ticks.head() : null, "ID", "Time (UTC)", "Fields"], {kind: "entries"});
  const state = {found: [], next: null, ticks, list, more: h("div", {class: "pager"}), note: h("div", {class: "tail-note"})};
  const bars = h("div", {class: "over-time-room"});
  show(place, bars, filters(words, go), actions(key, words, go, view, state, remover), state.note, list.element, state.more);
  drawBars(bars, key, words, go, view);
  load(key, words, state);
  return words.tail === "1" ? startTail(key, state, (entry) => row(key, entry, ticks)) : null;
}

async function drawBars(bars, key, words, go, view) {
  const [from, to] = [words.from, words.to].map((id) => id.split("-")[0]);
  // The last millisecond is a part of the range.
  const found = await attempt(() => get(`/streams/${key}/histogram`, {from_ms: from, to_ms: to && String(Number(to) + 1)}));
  if (!found || found.bars.length < 2) return;
  const leave = () => { if (from || to) go({from: "", to: ""}); };
  show(bars, histogram(found, (first, last) => go({from: String(first), to: String(last)}), leave));
  view.refocus();
}

function filters(words, go) {
  const change = (name) => (event) => go({[name]: event.target.value.trim()});
  const choice = (label, name, options) => h("label", {}, h("span", {}, label), h("select", {id: `by-${name}`, onchange: change(name)}, options.map(([value, text]) => h("option", {value, selected: words[name] === value}, text))));
  const time = (name, label) => h("label", {}, h("span", {}, label), h("input", {
    id: `by-${name}`, value: words[name], placeholder: "ID or time", title: "An ID, milliseconds, or a time such as 2026-11-17T20:00:00Z", onchange: (event) => go({[name]: idOf(event.target.value)}),
  }));
  const isNarrow = words.from || words.to || words.field || words.value;
  const form = h("form", {class: "controls", role: "search", "aria-label": "Entries", onsubmit: (event) => event.preventDefault()},
    choice("Order", "order", [["newest", "newest first"], ["oldest", "oldest first"]]),
    time("from", "From"), time("to", "To"),
    h("label", {}, h("span", {}, "Field"), h("input", {id: "by-field", type: "search", value: words.field, placeholder: "any", onchange: change("field")})),
    choice("Match", "contains", [["", "is"], ["1", "contains"]]),
    h("label", {}, h("span", {}, "Value"), h("input", {id: "by-value", value: words.value, placeholder: "anything", onchange: change("value")})),
    isNarrow ? h("button", {type: "button", class: "quiet", onclick: () => go({from: "", to: "", field: "", value: "", contains: ""})}, "Show all") : null);
  const isOpen = isNarrow || matchMedia("(min-width: 721px)").matches;
  return h("details", {class: "filters", open: Boolean(isOpen)}, h("summary", {}, "Order and filters"), form);
}

function actions(key, words, go, view, state, remover) {
  const isTail = words.tail === "1";
  return h("div", {class: "buttons start"},
    h("button", {class: `tail ${isTail ? "main" : ""}`, "aria-pressed": String(isTail), title: "Show new entries as they arrive (l)", onclick: () => go(isTail ? {tail: ""} : {tail: "1", order: "newest", from: "", to: ""})}, isTail ? "■ Live" : "▶ Live"),
    h("span", {class: "grow"}),
    h("button", {onclick: () => exported(key, words, state.found.length)}, "Export…"),
    session.may_write ? [h("button", {onclick: () => imported(key, view)}, "Import…"), h("button", {onclick: () => add(key, view)}, "Add…"), remover] : null);
}

function idOf(text) {
  const trimmed = text.trim();
  if (trimmed === "" || /^\d+(-\d+)?$/.test(trimmed)) return trimmed;
  const ms = Date.parse(trimmed);
  if (Number.isNaN(ms)) { say(`${trimmed} is neither an ID nor a time`, "bad"); return ""; }
  return String(ms);
}

async function load(key, words, state) {
  const range = state.next ? (words.order === "newest" ? {to: state.next} : {from: state.next}) : {};
  const asked = {order: words.order, from: words.from, to: words.to, field: words.field, value: words.value, contains: words.contains, count: COUNT, ...range};
  state.more.setAttribute("aria-busy", "true");
  const found = await attempt(() => get(`/streams/${key}/entries`, asked));
  state.more.removeAttribute("aria-busy");
  state.list.add(found ? found.entries.map((entry) => row(key, entry, state.ticks)) : []);
  if (!found) return;
  state.found.push(...found.entries);
  state.next = found.next;
  const isFiltered = words.field || words.value;
  show(state.more,
    state.found.length === 0 && !found.next ? h("p", {class: "empty"}, isFiltered ? "No entry matches the filter." : "No entries here.") : null,
    found.next ? h("button", {onclick: () => load(key, words, state)}, isFiltered ? `Search further (${count(found.looked)} entries searched)` : "More") : null);
}

function row(key, entry, ticks) {
  const line = h("tr", {class: "entry"},
    session.may_write ? ticks.cell(entry.id) : null,
    h("td", {class: "id"}, h("button", {class: "link", "aria-expanded": "false", onclick: () => unfold(key, entry, line)}, entry.id)),
    h("td", {class: "time", title: ago(Date.now() - idMs(entry.id))}, idMoment(entry.id)),
    h("td", {class: "fields"}, entry.fields.slice(0, MOST_FIELDS).map(([name, value]) => h("span", {class: "field"}, h("span", {class: "field-name"}, valueText(name)), valueNode(value))),
      entry.fields.length > MOST_FIELDS ? h("span", {class: "faint"}, `and ${entry.fields.length - MOST_FIELDS} more`) : null));
  return line;
}

async function unfold(key, entry, line) {
  const button = line.querySelector("button.link");
  if (line.nextSibling?.classList?.contains("unfolded")) {
    line.nextSibling.remove();
    button.setAttribute("aria-expanded", "false");
    return;
  }
  const whole = await attempt(() => get(`/streams/${key}/entries/${entry.id}`));
  if (!whole) return;
  button.setAttribute("aria-expanded", "true");
  line.after(h("tr", {class: "unfolded"}, h("td", {colspan: line.cells.length},
    h("div", {class: "buttons start"},
      h("span", {class: "faint"}, `${bytes(whole.bytes)}, ${many(whole.fields.length, "field")}`),
      copyButton("Copy as redis-cli", () => asCommand(key, whole)), copyButton("Copy as Python", () => asPython(key, whole)), copyButton("Copy as JSON", () => JSON.stringify(asJson(whole), null, 2))),
    h("dl", {}, whole.fields.map(([name, value]) => [h("dt", {}, valueText(name)), h("dd", {}, valueNode(value, true))])), wayOf(key, entry.id))));
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function asCommand(key, entry) {
  const words = entry.fields.flat().map(valueText).map(quoted);
  return `redis-cli XADD ${quoted(decoded(key))} '*' ${words.join(" ")}`;
}

function asPython(key, entry) {
  const pairs = entry.fields.map(([name, value]) => `${JSON.stringify(valueText(name))}: ${JSON.stringify(valueText(value))}`);
  return `import redis\n\nredis.from_url(${JSON.stringify(session.server)}).xadd(${JSON.stringify(decoded(key))}, {${pairs.join(", ")}})`;
}

function asJson(entry) {
  return {id: entry.id, fields: entry.fields.map((pair) => pair.map((value) => value.text ?? {base64: value.base64}))};
}

function add(key, view) {
  const rows = h("div", {class: "pairs"});
  const more = () => rows.append(h("div", {class: "pair"}, h("input", {name: "name", placeholder: "name", "aria-label": "Field name"}), h("input", {name: "value", placeholder: "value", "aria-label": "Field value"})));
  more();
  ask("Add an entry", [rows, h("button", {type: "button", class: "quiet", onclick: more}, "One more field")], {
    label: "Add", submit: async () => {
      const pairs = [...rows.children].map((pair) => [...pair.querySelectorAll("input")].map((input) => input.value)).filter(([name, value]) => name || value);
      const done = await post(`/streams/${key}/entries`, {fields: pairs});
      say(`Added ${done.id}`);
      return view.again;
    },
  });
}

async function remove(key, chosen, view) {
  const ids = [...chosen];
  const found = await attempt(() => post(`/streams/${key}/delete-preview`, {ids}));
  if (!found) return;
  ask("Delete entries", [
    h("p", {}, `${found.there} of ${found.asked} entries exist and will be deleted. This cannot be undone.`),
    ...found.pending.map((one) => h("p", {class: "warning"}, `${one.pending} of them are pending in ${one.group}: its consumers can no longer read them.`)),
  ], {
    label: `Delete ${found.there}`, danger: true, submit: async () => {
      const done = await post(`/streams/${key}/delete`, {ids});
      say(`${done.deleted} deleted`);
      return view.again;
    },
  });
}

