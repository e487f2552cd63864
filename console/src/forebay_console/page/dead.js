// Dead letters: streams that hold them, their errors, one message with its traceback; edit it, send it back.

import {h, show} from "/page/dom.js";
import {get, live, post, session} from "/page/api.js";
import {ask, attempt, field, say} from "/page/dialogs.js";
import {table} from "/page/tables.js";
import {valueText} from "/page/values.js";
import {ago, count, idMs, many, moment, decoded, span} from "/page/words.js";

export function dead(place, view) {
  const [key, id] = view.parts;
  if (!key) return places(place);
  return id ? letter(place, key, id) : kinds(place, key, view);
}

function crumbs(key) {
  return h("nav", {class: "crumbs", "aria-label": "Where you are"}, h("a", {href: "#/dead"}, "Dead letters"),
    key ? [" / ", h("a", {href: `#/dead/${key}`}, decoded(key))] : null);
}

function places(place) {
  const list = table("Dead-letter streams", ["Dead-letter stream", ">Letters", ">Newest"], {empty: "No dead letters: no message has failed for good."});
  show(place, h("h1", {}, "Dead letters"), h("p", {class: "lead"}, "Poisoned messages: they failed on every attempt, or did not match their type. Workers moved them to a dead-letter stream, for example orders:dead. Open a stream to see why a message failed, then send it back."), list.element);
  return live("/dead", {}, (found) => {
    if (found.error) return;
    list.show(found.places.map((one) => h("tr", {"data-key": one.key}, h("td", {class: "name"}, h("a", {href: `#/dead/${one.key}`}, one.name)), h("td", {class: "number hot"}, count(one.letters)), h("td", {class: "number"}, one.newest_id ? ago(Date.now() - idMs(one.newest_id)) : "–"))));
  });
}

async function kinds(place, key, view) {
  const kind = view.words.kind ?? "";
  const found = await attempt(() => get(`/dead/${key}/kinds`));
  if (!found) return;
  const list = table("Letters", ["Letter", "Error", ">Attempts", ">Last failed", "Came from"], {kind: "letters"});
  const more = h("div", {class: "pager"});
  show(place, crumbs(), h("div", {class: "heading"}, h("h1", {}, decoded(key)), session.may_write && found.kinds.length ? h("div", {class: "buttons"}, actions(key, kind, view)) : null),
    found.kinds.length ? [h("h2", {}, "By error"), h("div", {class: "kinds"}, found.kinds.map((one) => kindLink(key, one, kind))), h("h2", {}, kind ? "Letters with this error" : "Letters, newest first"), list.element, more]
      : h("p", {class: "empty"}, "No letters here: all of them were sent back or dropped."));
  if (found.kinds.length) await page(key, kind, list, more, "");
}

function kindLink(key, one, kind) {
  const isChosen = one.kind === kind;
  return h("a", {class: "kind", "aria-current": isChosen ? "true" : null, href: `#/dead/${key}${isChosen ? "" : `?kind=${encodeURIComponent(one.kind)}`}`},
    h("strong", {}, count(one.count)), h("span", {}, one.example), h("span", {class: "faint"}, isChosen ? "show all errors" : `newest ${ago(Date.now() - one.newest_ms)}`));
}

async function page(key, kind, list, more, to) {
  const found = await attempt(() => get(`/dead/${key}/letters`, {kind, to}));
  if (!found) return;
  list.add(found.letters.map((one) => h("tr", {},
    h("td", {class: "id"}, h("a", {href: `#/dead/${key}/${one.id}`}, one.id)), h("td", {class: "error"}, one.error), h("td", {class: "number"}, count(one.deliveries)),
    h("td", {class: "number", title: moment(one.last_ms)}, ago(Date.now() - one.last_ms)), h("td", {}, h("a", {href: `#/stream/${one.stream_key}`}, one.stream), " ", h("span", {class: "id faint"}, one.origin_id)))));
  show(more, found.next ? h("button", {onclick: () => page(key, kind, list, more, found.next)}, "More") : null);
}

function actions(key, kind, view) {
  const which = kind ? {kind} : {all: true};
  const whom = kind ? "all letters with this error" : "all letters";
  return [
    h("button", {class: "main", onclick: () => ask(`Send back ${whom}`, [h("p", {}, "Each letter is added once to the stream that it came from, with its original fields."), field("Letters per second, at most (empty: no limit)", "rate", {type: "number", min: "1"})], {
      label: "Send back", submit: ({rate}) => { redriveAll(key, {...which, ...(rate ? {rate: Number(rate)} : {})}, Number(rate) || null, view); },
    })}, `Send back ${kind ? "all with this error" : "all"}…`),
    h("button", {class: "danger-line", onclick: () => ask(`Drop ${whom}`, h("p", {class: "warning"}, "They are deleted. This cannot be undone."), {label: "Drop", danger: true, submit: async () => { const done = await post(`/dead/${key}/drop`, which); say(`${done.dropped} dropped`); return view.again; }})}, "Drop…"),
  ];
}

async function redriveAll(key, body, rate, view) {
  let sent = 0;
  for (;;) {
    const begun = performance.now();
    const done = await attempt(() => post(`/dead/${key}/redrive`, body));
    if (!done) return;
    sent += done.sent;
    say(done.left ? `${sent} sent back, ${done.left} to go` : `${sent} sent back`);
    if (!done.left || !done.sent) break;
    if (rate) await new Promise((wake) => setTimeout(wake, Math.max(0, (done.sent / rate) * 1000 - (performance.now() - begun))));
  }
  view.again();
}

async function letter(place, key, id) {
  const found = await attempt(() => get(`/dead/${key}/letters/${id}`));
  if (!found) return;
  show(place, crumbs(key), h("h1", {class: "error"}, found.error), way(found, key),
    h("div", {class: "halves"}, message(found, key, id), h("div", {}, h("h2", {id: "traceback"}, "Traceback"), traceback(found.traceback))));
}

function way(found, key) {
  const stop = (when, ...what) => h("li", {}, h("time", {}, when), h("span", {}, what));
  return h("ol", {class: "way", "aria-label": "History of this message"},
    stop(moment(idMs(found.origin_id)), "added to ", h("a", {href: `#/stream/${found.stream_key}/entries?order=oldest&from=${found.origin_id}`}, found.stream), " as ", h("span", {class: "id"}, found.origin_id)),
    stop(moment(found.first_ms), `first delivered to group ${found.group}`),
    stop(moment(found.last_ms), `failed for the last time, with consumer ${found.consumer}, after ${many(found.deliveries, "attempt")} in ${span(found.last_ms - found.first_ms)}`),
    stop(moment(idMs(found.id)), "moved to ", decoded(key), " as ", h("span", {class: "id"}, found.id)));
}

// The fields can be edited, unless they are bytes or were cut.
function message(found, key, id) {
  const areas = found.fields.map(([name, value]) => ({name, value, area: h("textarea", {rows: Math.min(12, valueText(value).split("\n").length), "aria-label": valueText(name), spellcheck: "false", oninput: showMended, readonly: !session.may_write || value.text === undefined}, valueText(value))}));
  const isWhole = found.fields.flat().every((value) => value.text !== undefined && (value.bytes === undefined || value.bytes <= value.text.length));
  const mended = () => ({fields: areas.map(({name, value, area}) => [name, value.text === undefined ? value : area.value])});
  return h("div", {}, h("h2", {}, "The message"),
    h("div", {class: "message"}, areas.map(({name, area}) => h("label", {}, h("span", {}, valueText(name)), area))),
    session.may_write ? h("div", {class: "buttons start"},
      isWhole ? h("button", {class: "main", onclick: () => send(key, id, mended())}, "Send back as edited") : null,
      h("button", {onclick: () => send(key, id, {})}, "Send back unchanged"), h("button", {class: "danger-line", onclick: () => drop(key, id)}, "Drop…"))
      : h("p", {class: "faint"}, "This console is read-only. To edit this message and send it back, start the console with --write."));
}

function showMended({target}) {
  target.classList.toggle("mended", target.value !== target.defaultValue);
}

async function send(key, id, body) {
  const done = await attempt(() => post(`/dead/${key}/letters/${id}/redrive`, body));
  if (!done) return;
  say(done.sent ? `Sent back to ${done.to}` : "Not sent: this letter was already sent back or dropped", done.sent ? "good" : "bad");
  location.hash = `#/dead/${key}`;
}

function drop(key, id) {
  ask("Drop this letter", h("p", {class: "warning"}, "It is deleted. This cannot be undone."), {
    label: "Drop", danger: true, submit: async () => {
      await post(`/dead/${key}/drop`, {ids: [id]});
      say("Dropped");
      location.hash = `#/dead/${key}`;
    },
  });
}

// File names and line numbers are faint; the exception stands out.
function traceback(text) {
  const lines = (text || "no traceback was kept").trimEnd().split("\n");
  const kind = (line, at) => (at === lines.length - 1 && text ? "raised" : /^\s+File /.test(line) ? "file" : /^\s*[~^]+\s*$/.test(line) ? "caret" : "");
  return h("pre", {class: "traceback", tabindex: "0", role: "region", "aria-labelledby": "traceback"}, lines.map((line, at) => h("span", {class: kind(line, at)}, `${line}\n`)));
}
