// All streams: searched, sorted, a page at a time; the figures are live.

import {h, show, count, short, rate, bytes, span, UNKNOWN} from "/page/dom.js";
import {live} from "/page/api.js";
import {spark} from "/page/charts.js";

const PAGE = 50;
const COLUMNS = [
  ["name", "Stream"], ["", "Last 5 min"], ["in", "In"], ["out", "Out"], ["length", "Entries"], ["bytes", "Memory"],
  ["newest", "Newest"], ["groups", "Groups"], ["pending", "Pending"], ["lag", "Lag"], ["behind", "Behind"],
];

export function overview(place, view) {
  const words = {search: "", sort: "name", order: "up", start: 0, ...view.words};
  const search = h("input", {
    type: "search", placeholder: "Search: a part of a name, or a pattern like orders:*", value: words.search,
    "aria-label": "Search streams", oninput: later(() => view.go({...words, search: search.value, start: 0})),
  });
  const cards = h("div", {class: "cards"});
  const body = h("tbody");
  const foot = h("div", {class: "pager"});
  show(place,
    h("div", {class: "heading"}, h("h1", {}, "Streams"), search),
    cards,
    h("div", {class: "scroll"}, h("table", {class: "streams"}, h("thead", {}, h("tr", {}, COLUMNS.map((one) => head(one, words, view)))), body)),
    foot);
  if (view.hadFocus) { search.focus(); search.setSelectionRange(search.value.length, search.value.length); }
  return live("/streams", {...words, count: PAGE}, (found) => {
    if (found.error) return;
    show(cards, [
      card("Streams", count(found.total) + (found.is_whole ? "" : " so far")), card("Entries", short(found.entries)),
      card("In", rate(found.in_rate)), card("Pending", short(found.pending)),
    ]);
    show(body, found.streams.length ? found.streams.map(row) : h("tr", {}, h("td", {colspan: COLUMNS.length, class: "empty"}, nothing(words))));
    show(foot, pager(found, words, view));
  });
}

function nothing(words) {
  if (words.search) return `No stream has ${words.search} in its name.`;
  return "No streams yet. Add an entry with: forebay add orders item=tea";
}

export function card(title, value, note = "") {
  return h("div", {class: "card"}, h("span", {class: "faint"}, title), h("strong", {}, value), note ? h("span", {class: "faint"}, note) : null);
}

function head([sort, title], words, view) {
  if (!sort) return h("th", {}, title);
  const isSorted = words.sort === sort;
  const other = isSorted ? (words.order === "up" ? "down" : "up") : sort === "name" ? "up" : "down";
  return h("th", {"aria-sort": isSorted ? (words.order === "up" ? "ascending" : "descending") : "none"},
    h("button", {class: "sort", onclick: () => view.go({...words, sort, order: other, start: 0})},
      title, isSorted ? (words.order === "up" ? " ▲" : " ▼") : ""));
}

function row(one) {
  const target = one.is_dead_letters ? `#/dead/${one.key}` : `#/stream/${one.key}`;
  return h("tr", {},
    h("td", {class: "name"}, h("a", {href: target}, one.name), one.is_dead_letters ? h("span", {class: "tag bad"}, "dead letters") : null),
    h("td", {}, spark(one.curve, {label: `in: ${rate(one.in_rate)}`})),
    cell(rate(one.in_rate)), cell(one.groups ? rate(one.out_rate) : "–"), cell(count(one.length)), cell(bytes(one.bytes)),
    cell(one.length ? span(one.newest_age_ms) : "–"), cell(count(one.groups)), cell(one.groups ? count(one.pending) : "–"),
    cell(one.groups ? count(one.lag) : "–", one.lag > 0 ? "warm" : "", one.worst_group ? `worst: ${one.worst_group}` : ""),
    cell(one.groups ? (one.behind_ms === 0 ? "–" : span(one.behind_ms)) : "–", one.behind_ms > 60000 ? "hot" : ""));
}

function cell(text, mark = "", title = "") {
  return h("td", {class: `number ${text === UNKNOWN ? "faint" : ""} ${mark}`, title: title || null}, text);
}

function pager(found, words, view) {
  const end = Math.min(found.start + PAGE, found.total);
  if (found.total <= PAGE) return [];
  return [
    h("button", {disabled: found.start === 0, onclick: () => view.go({...words, start: Math.max(0, found.start - PAGE)})}, "‹ Before"),
    h("span", {class: "faint"}, `${count(found.start + 1)} to ${count(end)} of ${count(found.total)}`),
    h("button", {disabled: end >= found.total, onclick: () => view.go({...words, start: found.start + PAGE})}, "Next ›"),
  ];
}

export function later(deed, ms = 250) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(deed, ms); };
}
