// One stream: live figures, and three tabs: entries, groups, retention.

import {h, patch, show} from "/page/dom.js";
import {get, live, post, session} from "/page/api.js";
import {card} from "/page/overview.js";
import {rateSpark} from "/page/charts.js";
import {entries} from "/page/entries.js";
import {groups} from "/page/groups.js";
import {ask, attempt, field, say} from "/page/dialogs.js";
import {table} from "/page/tables.js";
import {ago, bytes, count, many, decoded, rate, short} from "/page/words.js";

const TABS = [["entries", "Entries"], ["groups", "Groups"], ["keeps", "Retention"]];

export function stream(place, view) {
  const [key, tab = "entries", group] = view.parts;
  const title = h("h1", {}, decoded(key));
  const cards = h("div", {class: "cards"}, ["Entries", "In", "Memory", "Newest", "Oldest", "Groups"].map((one) => card(one, "…")));
  const content = h("div", {class: "tab"});
  const watchers = new Set();
  show(place, crumbs(key, group), title, cards,
    h("nav", {class: "tabs", "aria-label": "Views of this stream"}, TABS.map(([name, label]) =>
      h("a", {href: `#/stream/${key}/${name}`, "aria-current": name === tab ? "page" : null}, label))),
    content);
  const stopTab = {entries: () => entries(content, key, view), groups: () => groups(content, key, group, view, watchers), keeps: () => keeps(content, key, view)}[tab]?.();
  const stopLive = live(`/streams/${key}`, {}, (found) => {
    if (found.error) return show(cards, h("p", {class: "warning"}, found.error));
    title.textContent = found.name;
    patch(cards, figures(found));
    watchers.forEach((take) => take(found));
  });
  return () => { stopLive(); if (typeof stopTab === "function") stopTab(); };
}

function crumbs(key, group) {
  return h("nav", {class: "crumbs", "aria-label": "Where you are"}, h("a", {href: "#/"}, "Streams"),
    group ? [" / ", h("a", {href: `#/stream/${key}`}, decoded(key)), " / ", h("a", {href: `#/stream/${key}/groups`}, "Groups")] : null);
}

function figures(found) {
  return [
    card("Entries", count(found.length), found.added === null ? "" : `${short(found.added)} ever added`),
    card("In", rate(found.in_rate), "", rateSpark(found.curve, rate(found.in_rate))),
    card("Memory", bytes(found.bytes), found.length && found.bytes ? `${bytes(found.bytes / found.length)} each` : ""),
    card("Newest", found.length ? ago(found.newest_age_ms) : "none"), card("Oldest", found.length ? ago(found.oldest_age_ms) : "none"),
    card("Groups", count(found.groups), found.groups ? `${short(found.pending)} pending` : ""),
  ];
}

const WHY = {
  pending: (one) => `${count(one.pending)} delivered and not acknowledged`,
  not_given: (one) => `${one.lag === null ? "some" : count(one.lag)} not delivered yet`,
  nothing: () => "nothing: all entries are delivered and acknowledged",
};

async function keeps(place, key, view) {
  const found = await attempt(() => get(`/streams/${key}/pins`));
  if (!found) return;
  const pins = table("Groups that still need old entries", ["Group", "Why", "Needs entries from"], {empty: "No group reads this stream, so no group needs its entries."});
  pins.show(found.pins.map((one) => h("tr", {}, h("td", {class: "name"}, h("a", {href: `#/stream/${key}/groups/${one.key}`}, one.group)), h("td", {}, WHY[one.why](one)), h("td", {class: "id"}, one.holds_from ?? "–"))));
  const costs = table("Cost of keeping entries", ["Kept for", ">Entries", ">Memory"], {empty: "Unknown: the server does not say how large the stream is, or it has no entries."});
  costs.show(found.costs.map((one) => h("tr", {}, h("td", {}, many(one.days, "day")), h("td", {class: "number"}, `about ${short(one.entries)}`), h("td", {class: "number"}, `about ${bytes(one.bytes)}`))));
  show(place,
    h("h2", {}, "Groups that still need old entries"), pins.element,
    found.free_until ? h("p", {}, "Everything before ", h("code", {}, found.free_until), " can be trimmed without loss.") : null,
    h("h2", {}, "Cost of keeping entries"), costs.element,
    session.may_write ? h("div", {class: "buttons start"}, h("button", {class: "danger-line", onclick: () => trim(key, found, view)}, "Trim…")) : null);
}

function trim(key, found, view) {
  const body = ({before, maxlen}) => (maxlen ? {maxlen: Number(maxlen)} : {before});
  ask("Trim the stream", [
    field("Remove entries older than this ID", "before", {value: found.free_until ?? "", placeholder: "an ID"}),
    field("or keep only the newest", "maxlen", {type: "number", min: "0", placeholder: "number of entries"}),
  ], {
    label: "Trim", danger: true,
    preview: async (words) => losses(await post(`/streams/${key}/trim-preview`, body(words))),
    submit: async (words) => {
      const done = await post(`/streams/${key}/trim`, body(words));
      say(`${many(done.removed, "entry", "entries")} removed`);
      return view.again;
    },
  });
}

function losses(loss) {
  const of = (one) => [one.pending ? `${count(one.pending)} of them are pending` : "", one.not_given ? "some were not delivered yet" : ""].filter(Boolean).join("; ");
  return [h("p", {}, `${count(loss.going)} entries are removed, ${count(loss.staying)} remain.`),
    loss.groups.filter((one) => one.pending || one.not_given).map((one) => h("p", {class: "warning"}, `${typeof one.group === "string" ? one.group : "a group"}: ${of(one)}`))];
}
