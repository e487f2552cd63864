// All streams: search, sort, one page at a time; the figures are live.

import {h, later, patch, show} from "/page/dom.js";
import {live} from "/page/api.js";
import {rateSpark} from "/page/charts.js";
import {table} from "/page/tables.js";
import {copyButton} from "/page/values.js";
import {age, bytes, count, rate, short, span, UNKNOWN} from "/page/words.js";

const PAGE = 50;
const USUAL = {sort: "name", order: "up"};
const COLUMNS = [
  ["name", "Stream"], ["", "In over time"], ["in", "In"], ["out", "Out"], ["length", "Entries"], ["bytes", "Memory"],
  ["newest", "Newest"], ["groups", "Groups"], ["pending", "Pending"], ["lag", "Lag"], ["behind", "Behind"],
];
const LATE_MS = 60_000;

export function overview(place, view) {
  const words = {search: "", start: 0, ...USUAL, ...view.words};
  const go = (next, options) => view.go({...words, start: 0, ...next}, {usual: USUAL, ...options});
  const search = h("input", {
    type: "search", placeholder: "Search: part of a name, or orders:*", value: words.search,
    "aria-label": "Search streams", title: "Press / to search", oninput: later(() => go({search: search.value}, {isTyping: true})),
  });
  const cards = h("div", {class: "cards"}, ["Streams", "Entries", "In", "Pending"].map((title) => card(title, "…")));
  const streams = table("Streams", COLUMNS.map((one) => head(one, words, go)), {kind: "streams", empty: `No stream has ${words.search} in its name.`});
  const foot = h("div", {class: "pager"});
  const list = h("div", {}, streams.element);
  show(place, h("div", {class: "heading"}, h("h1", {}, "Streams"), search), cards, list, foot);
  return live("/streams", {...words, count: PAGE}, (found) => {
    if (found.error) { show(list, h("p", {class: "warning"}, found.error)); return; }
    patch(cards,
      card("Streams", count(found.total) + (found.is_whole ? "" : " so far")), card("Entries", short(found.entries)),
      card("In", rate(found.in_rate)), card("Pending", short(found.pending), "not acknowledged"));
    if (found.total || words.search) { if (!streams.element.isConnected) show(list, streams.element); streams.show(found.streams.map(row)); }
    else if (found.is_whole && !list.querySelector(".welcome")) show(list, welcome());
    patch(foot, pager(found, go));
  });
}

// The first minute with an empty server.
function welcome() {
  const command = "forebay add orders item=tea price=3.20";
  return h("div", {class: "welcome"},
    h("h2", {}, "No streams yet"), h("p", {}, "A stream exists as soon as an entry is added to it. Try it:"),
    h("p", {class: "command"}, h("code", {}, command), copyButton("Copy", () => command)),
    h("p", {class: "faint"}, "The stream appears here within a second."));
}

export function card(title, value, note = "", picture = null) {
  return h("div", {class: "card"}, h("span", {class: "faint"}, title), h("strong", {}, value), note ? h("span", {class: "faint"}, note) : null, picture);
}

function head([sort, title], words, go) {
  if (!sort) return h("th", {scope: "col"}, title);
  const isSorted = words.sort === sort;
  const other = isSorted ? (words.order === "up" ? "down" : "up") : sort === "name" ? "up" : "down";
  return h("th", {scope: "col", "data-label": title, class: sort === "name" ? null : "number", "aria-sort": isSorted ? (words.order === "up" ? "ascending" : "descending") : null},
    h("button", {class: "sort", onclick: () => go({sort, order: other})},
      title, h("span", {class: "arrow", "aria-hidden": "true"}, isSorted ? (words.order === "up" ? "▲" : "▼") : "")));
}

function row(one) {
  const target = one.is_dead_letters ? `#/dead/${one.key}` : `#/stream/${one.key}`;
  const isLate = one.behind_ms > LATE_MS;
  return h("tr", {"data-key": one.key},
    h("td", {class: "name"}, h("a", {href: target}, one.name), one.is_dead_letters ? h("span", {class: "tag bad"}, "dead letters") : null),
    h("td", {class: "picture"}, rateSpark(one.curve, rate(one.in_rate))),
    cell(rate(one.in_rate), one.in_rate ? "" : "nought"), cell(one.groups ? rate(one.out_rate) : "–"), cell(count(one.length)), cell(bytes(one.bytes)),
    cell(one.length ? age(one.newest_age_ms) : "–"), cell(one.groups ? count(one.groups) : "–"), cell(one.groups ? count(one.pending) : "–"),
    cell(one.groups ? count(one.lag) : "–", one.lag > 0 ? "warm" : "", one.worst_group ? `worst: ${one.worst_group}` : ""),
    cell(one.groups && one.behind_ms !== 0 ? span(one.behind_ms) : "–", isLate ? "hot" : ""));
}

function cell(text, mark = "", title = "") {
  const isFaint = text === UNKNOWN || text === "–" || mark === "nought";
  return h("td", {class: `number ${isFaint ? "faint" : ""} ${mark}`.trim(), title: title || null}, text);
}

function pager(found, go) {
  const end = Math.min(found.start + PAGE, found.total);
  if (found.total <= PAGE) return [];
  return [
    h("button", {disabled: found.start === 0, onclick: () => go({start: Math.max(0, found.start - PAGE)})}, "‹ Previous"),
    h("span", {class: "faint"}, `${count(found.start + 1)} to ${count(end)} of ${count(found.total)}`),
    h("button", {disabled: end >= found.total, onclick: () => go({start: found.start + PAGE})}, "Next ›"),
  ];
}
