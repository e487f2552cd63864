// Dead letters: where they are, which errors, one message with its traceback; mend it, send it back.

import {h, heads, show, count, span, moment, valueText} from "/page/dom.js";
import {get, live, post, session} from "/page/api.js";
import {ask, attempt, field, say} from "/page/dialogs.js";

export function dead(place, view) {
  const [key, id] = view.parts;
  if (!key) return places(place);
  return id ? letter(place, key, id) : kinds(place, key, view);
}

function crumbs(key, id) {
  return h("nav", {class: "crumbs", "aria-label": "Where you are"}, h("a", {href: "#/dead"}, "Dead letters"),
    key ? [" / ", h("a", {href: `#/dead/${key}`}, decodeURIComponent(key))] : null, id ? [" / ", id] : null);
}

function places(place) {
  const body = h("tbody");
  show(place, h("h1", {}, "Dead letters"), h("p", {class: "faint"}, "Messages that failed each time, or did not fit their type. Workers bury them in a stream beside their own, as orders:dead."),
    h("table", {}, heads("Stream of letters", ">Letters", "Newest"), body));
  return live("/dead", {}, (found) => {
    if (found.error) return;
    show(body, found.places.length ? found.places.map((one) => h("tr", {}, h("td", {class: "name"}, h("a", {href: `#/dead/${one.key}`}, one.name)), h("td", {class: "number hot"}, count(one.letters)), h("td", {class: "time"}, moment(Number(one.newest_id.split("-")[0])))))
      : h("tr", {}, h("td", {colspan: 3, class: "empty"}, "No dead letters. Every message found a handler that could take it.")));
  });
}

async function kinds(place, key, view) {
  const kind = view.words.kind ?? "";
  const list = h("tbody");
  const more = h("div", {class: "pager"});
  const found = await attempt(() => get(`/dead/${key}/kinds`));
  if (!found) return;
  show(place, crumbs(), h("div", {class: "heading"}, h("h1", {}, decodeURIComponent(key)), session.may_write && found.kinds.length ? h("div", {class: "buttons"}, deeds(key, kind, view)) : null),
    h("h2", {}, "By error"),
    h("div", {class: "kinds"}, found.kinds.map((one) => h("a", {class: `kind ${one.kind === kind ? "chosen" : ""}`, href: `#/dead/${key}${one.kind === kind ? "" : `?kind=${encodeURIComponent(one.kind)}`}`},
      h("strong", {}, count(one.count)), h("span", {}, one.example), h("span", {class: "faint"}, `newest ${moment(one.newest_ms)}`)))),
    found.kinds.length ? null : h("p", {class: "empty"}, "No letters here: all were sent back or dropped."),
    h("h2", {}, kind ? "Letters of this kind" : "Letters, newest first"),
    h("table", {}, heads("Letter", "Failed", ">Attempts", "From", "Error"), list), more);
  page(key, kind, list, more, "");
}

async function page(key, kind, list, more, to) {
  const found = await attempt(() => get(`/dead/${key}/letters`, {kind, to}));
  if (!found) return;
  list.append(...found.letters.map((one) => h("tr", {},
    h("td", {class: "id"}, h("a", {href: `#/dead/${key}/${one.id}`}, one.id)), h("td", {class: "time"}, moment(one.last_ms)), h("td", {class: "number"}, count(one.deliveries)),
    h("td", {}, h("a", {href: `#/stream/${one.stream_key}`}, one.stream), ` ${one.origin_id}`), h("td", {class: "error"}, one.error))));
  show(more, found.next ? h("button", {onclick: () => page(key, kind, list, more, found.next)}, "More") : null);
}

function deeds(key, kind, view) {
  const which = kind ? {kind} : {all: true};
  const whom = kind ? "letters of this kind" : "all letters";
  return [
    h("button", {class: "main", onclick: () => ask(`Send back ${whom}`, [h("p", {}, "Each goes back once to the stream that it came from, with the fields that it had."), field("At most so many a second (empty: as fast as can be)", "rate", {type: "number", min: "1"})], {
      label: "Send back", submit: async ({rate}) => { redriveAll(key, {...which, ...(rate ? {rate: Number(rate)} : {})}, Number(rate) || null, view); },
    })}, `Send back ${kind ? "this kind" : "all"}`),
    h("button", {class: "danger-line", onclick: () => ask(`Drop ${whom}`, h("p", {class: "warning"}, "They are deleted for ever."), {label: "Drop", danger: true, submit: async () => { const done = await post(`/dead/${key}/drop`, which); say(`${done.dropped} dropped`); view.again(); }})}, "Drop…"),
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
  const areas = found.fields.map(([name, value]) => ({name, value, area: h("textarea", {rows: Math.min(12, valueText(value).split("\n").length), "aria-label": valueText(name), readonly: !session.may_write || value.text === undefined}, valueText(value))}));
  const isWhole = found.fields.flat().every((value) => value.text !== undefined && (value.bytes === undefined || value.bytes <= value.text.length));
  const send = async (body) => {
    const done = await attempt(() => post(`/dead/${key}/letters/${id}/redrive`, body));
    if (done) { say(done.sent ? `Sent back to ${done.to}` : "Somebody else was quicker: it was sent back already", done.sent ? "good" : "bad"); location.hash = `#/dead/${key}`; }
  };
  const mended = () => ({fields: areas.map(({name, value, area}) => [name, value.text === undefined ? value : area.value])});
  show(place, crumbs(key, id), h("h1", {}, found.error),
    h("ol", {class: "way"},
      h("li", {}, h("strong", {}, moment(Number(found.origin_id.split("-")[0]))), " added to ", h("a", {href: `#/stream/${found.stream_key}/entries?order=oldest&from=${found.origin_id}`}, found.stream), ` as ${found.origin_id}`),
      h("li", {}, h("strong", {}, moment(found.first_ms)), ` given to group ${found.group} for the first time`),
      h("li", {}, h("strong", {}, moment(found.last_ms)), ` failed for the last time, at consumer ${found.consumer}, after ${count(found.deliveries)} ${found.deliveries === 1 ? "attempt" : "attempts"} in ${span(found.last_ms - found.first_ms)}`),
      h("li", {}, "buried in ", decodeURIComponent(key), ` as ${found.id}`)),
    h("h2", {}, "The message"),
    h("dl", {class: "message"}, areas.map(({name, area}) => [h("dt", {}, valueText(name)), h("dd", {}, area)])),
    session.may_write ? h("div", {class: "buttons start"},
      isWhole ? h("button", {class: "main", onclick: () => send(mended())}, "Send back as it stands here") : null, h("button", {onclick: () => send({})}, "Send back unchanged"),
      h("button", {class: "danger-line", onclick: () => ask("Drop this letter", h("p", {class: "warning"}, "It is deleted for ever."), {label: "Drop", danger: true, submit: async () => { await post(`/dead/${key}/drop`, {ids: [id]}); say("Dropped"); location.hash = `#/dead/${key}`; }})}, "Drop…")) : h("p", {class: "faint"}, "This console only reads. Started with --write it can mend the message and send it back."),
    h("h2", {}, "Traceback"), h("pre", {class: "traceback", tabindex: "0"}, found.traceback || "none was kept"));
}
