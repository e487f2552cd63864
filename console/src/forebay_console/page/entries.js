// The entries of a stream: a histogram to choose a time, filters, pages both ways, a live tail.

import {h, show, bytes, span, idMoment, valueNode, valueText, copyButton, download} from "/page/dom.js";
import {get, post, tail, session} from "/page/api.js";
import {histogram} from "/page/charts.js";
import {ask, attempt, say} from "/page/dialogs.js";

const COUNT = 50;
const MOST_SHOWN = 1000;

export function entries(place, key, view) {
  const words = {order: "newest", from: "", to: "", field: "", value: "", contains: "", ...view.words};
  const state = {found: [], next: null, chosen: new Set(), stop: null, isPaused: false};
  const bars = h("div", {class: "over-time-room"});
  const list = h("tbody");
  const more = h("div", {class: "pager"});
  show(place, bars, controls(key, words, view, state, list, more), table(list), more);
  drawBars(bars, key, words, view);
  load(key, words, state, list, more);
  if (words.tail === "1") start(key, state, list, more);
  return () => state.stop?.();
}

async function drawBars(bars, key, words, view) {
  const range = {from_ms: words.from ? words.from.split("-")[0] : "", to_ms: words.to ? words.to.split("-")[0] : ""};
  const found = await attempt(() => get(`/streams/${key}/histogram`, range));
  if (!found || !found.bars.length) return;
  const isNarrow = words.from || words.to;
  show(bars,
    histogram(found, (from, to) => view.go({...words, from: String(from), to: String(to)})),
    isNarrow ? h("button", {class: "quiet", onclick: () => view.go({...words, from: "", to: ""})}, "Show all times") : null);
}

function controls(key, words, view, state, list, more) {
  const change = (name) => (event) => view.go({...words, [name]: event.target.value.trim()});
  const time = (name, label) => h("input", {
    value: words[name], placeholder: label, "aria-label": label, class: "id",
    title: "An ID, milliseconds, or a time such as 2026-11-17T20:00:00Z", onchange: (event) => view.go({...words, [name]: idOf(event.target.value)}),
  });
  const isTail = words.tail === "1";
  return h("div", {class: "controls"},
    h("select", {"aria-label": "Order", onchange: change("order")},
      ["newest", "oldest"].map((one) => h("option", {value: one, selected: words.order === one}, `${one} first`))),
    time("from", "From ID or time"), time("to", "To ID or time"),
    h("input", {value: words.field, placeholder: "Field", "aria-label": "Field", onchange: change("field")}),
    h("input", {value: words.value, placeholder: "has the value", "aria-label": "Value", onchange: change("value")}),
    h("label", {class: "check"}, h("input", {type: "checkbox", checked: words.contains === "1", onchange: (event) => view.go({...words, contains: event.target.checked ? "1" : ""})}), "or a part of it"),
    h("span", {class: "grow"}),
    h("button", {class: isTail ? "main" : "", "aria-pressed": String(isTail), onclick: () => view.go({...words, tail: isTail ? "" : "1", order: "newest", from: "", to: ""})}, isTail ? "■ Stop" : "▶ Live"),
    h("button", {onclick: () => exported(key, state)}, "Export"),
    session.may_write ? h("button", {onclick: () => add(key, view)}, "Add") : null,
    session.may_write ? h("button", {class: "danger-line", onclick: () => remove(key, state, view)}, "Delete chosen") : null);
}

function idOf(text) {
  const trimmed = text.trim();
  if (trimmed === "" || /^\d+(-\d+)?$/.test(trimmed)) return trimmed;
  const ms = Date.parse(trimmed);
  if (Number.isNaN(ms)) { say(`${trimmed} is no ID and no time`, "bad"); return ""; }
  return String(ms);
}

function table(list) {
  return h("div", {class: "scroll"}, h("table", {class: "entries"},
    h("thead", {}, h("tr", {}, session.may_write ? h("th", {class: "tick"}) : null, h("th", {}, "ID"), h("th", {}, "Time (UTC)"), h("th", {}, "Fields"))), list));
}

async function load(key, words, state, list, more) {
  const range = state.next ? (words.order === "newest" ? {to: state.next} : {from: state.next}) : {};
  const asked = {order: words.order, from: words.from, to: words.to, field: words.field, value: words.value, contains: words.contains, count: COUNT, ...range};
  more.setAttribute("aria-busy", "true");
  const found = await attempt(() => get(`/streams/${key}/entries`, asked));
  more.removeAttribute("aria-busy");
  if (!found) return;
  state.found.push(...found.entries);
  state.next = found.next;
  list.append(...found.entries.map((entry) => row(key, entry, state)));
  const isFiltered = words.field || words.value;
  show(more,
    state.found.length === 0 && !found.next ? h("p", {class: "empty"}, isFiltered ? "No entry like that." : "No entries here.") : null,
    found.next ? h("button", {onclick: () => load(key, words, state, list, more)}, isFiltered ? `Look further (${found.looked} looked at)` : "More") : null);
}

function start(key, state, list, more) {
  const scroller = document.scrollingElement;
  const note = h("div", {class: "faint", role: "status"}, "Live: waiting for entries");
  more.before(note);
  let waiting = [];
  const paint = () => {
    if (!waiting.length) return;
    list.prepend(...waiting.reverse().map((entry) => row(key, entry, state)));
    state.found.unshift(...waiting);
    waiting = [];
    while (list.children.length > MOST_SHOWN) list.lastChild.remove();
    state.found.length = Math.min(state.found.length, MOST_SHOWN);
    note.textContent = "Live";
  };
  const isAtTop = () => list.getBoundingClientRect().top > -40;
  const onScroll = () => { if (isAtTop()) paint(); };
  scroller.ownerDocument.addEventListener("scroll", onScroll, {passive: true});
  const stop = tail(key, (found) => {
    waiting.push(...found.entries);
    if (waiting.length > MOST_SHOWN) waiting = waiting.slice(-MOST_SHOWN);
    if (isAtTop()) paint();
    else note.textContent = `Live: ${waiting.length} new; scroll up to see them`;
    if (found.left_out) note.textContent += ` (${found.left_out} came too quickly to be shown)`;
  });
  state.stop = () => { stop(); scroller.ownerDocument.removeEventListener("scroll", onScroll); };
}

function row(key, entry, state) {
  const tick = h("input", {type: "checkbox", "aria-label": `Choose ${entry.id}`, onchange: () => (tick.checked ? state.chosen.add(entry.id) : state.chosen.delete(entry.id))});
  const line = h("tr", {class: "entry"},
    session.may_write ? h("td", {class: "tick"}, tick) : null,
    h("td", {class: "id"}, h("button", {class: "link", "aria-expanded": "false", onclick: () => unfold(key, entry, line)}, entry.id)),
    h("td", {class: "time", title: span(Date.now() - Number(entry.id.split("-")[0])) + " ago"}, idMoment(entry.id)),
    h("td", {class: "fields"}, entry.fields.slice(0, 12).map(([name, value]) => h("span", {class: "field"}, h("span", {class: "field-name"}, valueText(name)), valueNode(value))),
      entry.fields.length > 12 ? h("span", {class: "faint"}, ` and ${entry.fields.length - 12} more`) : null));
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
  line.after(h("tr", {class: "unfolded"}, h("td", {colspan: 4},
    h("div", {class: "buttons start"},
      h("span", {class: "faint"}, `${bytes(whole.bytes)}, ${whole.fields.length} fields`),
      copyButton("Copy as redis-cli", () => asCommand(key, whole)), copyButton("Copy as Python", () => asPython(key, whole)), copyButton("Copy as JSON", () => JSON.stringify(asJson(whole), null, 2))),
    h("dl", {}, whole.fields.map(([name, value]) => [h("dt", {}, valueText(name)), h("dd", {}, valueNode(value, true))])))));
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function asCommand(key, entry) {
  const words = entry.fields.flat().map(valueText).map(quoted);
  return `redis-cli XADD ${quoted(decodeURIComponent(key))} '*' ${words.join(" ")}`;
}

function asPython(key, entry) {
  const pairs = entry.fields.map(([name, value]) => `${JSON.stringify(valueText(name))}: ${JSON.stringify(valueText(value))}`);
  return `import redis\n\nredis.from_url(${JSON.stringify(session.server)}).xadd(${JSON.stringify(decodeURIComponent(key))}, {${pairs.join(", ")}})`;
}

function asJson(entry) {
  return {id: entry.id, fields: entry.fields.map((pair) => pair.map((value) => value.text ?? {base64: value.base64}))};
}

function exported(key, state) {
  const lines = state.found.map((entry) => JSON.stringify(asJson(entry)));
  const names = [...new Set(state.found.flatMap((entry) => entry.fields.map(([name]) => valueText(name))))];
  const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const cells = (entry) => names.map((name) => quote(valueText(entry.fields.find(([one]) => valueText(one) === name)?.[1] ?? {text: ""})));
  const csv = [["id", ...names.map(quote)].join(","), ...state.found.map((entry) => [entry.id, ...cells(entry)].join(","))];
  const file = decodeURIComponent(key).replace(/[^\w.-]+/g, "_");
  ask("Export what is shown", [h("p", {}, `${state.found.length} entries. For whole streams: forebay copy.`),
    h("label", {}, h("span", {}, "As"), h("select", {name: "kind"}, h("option", {value: "ndjson"}, "NDJSON, nothing lost"), h("option", {value: "csv"}, "CSV, a column for each field")))], {
    label: "Save", submit: ({kind}) => { kind === "csv" ? download(`${file}.csv`, csv.join("\n") + "\n", "text/csv") : download(`${file}.ndjson`, lines.join("\n") + "\n", "application/x-ndjson"); },
  });
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
      view.again();
    },
  });
}

async function remove(key, state, view) {
  const ids = [...state.chosen];
  if (!ids.length) return say("Choose entries first: tick them.", "bad");
  const found = await attempt(() => post(`/streams/${key}/delete-preview`, {ids}));
  if (!found) return;
  ask("Delete entries", [
    h("p", {}, `${found.there} of ${found.asked} entries are there and go for ever.`),
    ...found.pending.map((one) => h("p", {class: "warning"}, `${one.pending} of them are pending in ${one.group}: its consumers can no longer read them.`)),
  ], {
    label: `Delete ${found.there}`, danger: true, submit: async () => {
      const done = await post(`/streams/${key}/delete`, {ids});
      say(`${done.deleted} deleted`);
      view.again();
    },
  });
}

