// One stream: figures that are live, and three tabs: entries, groups, what keeps it.

import {h, heads, show, count, short, rate, bytes, span} from "/page/dom.js";
import {get, live, post, session} from "/page/api.js";
import {card} from "/page/overview.js";
import {entries} from "/page/entries.js";
import {groups} from "/page/groups.js";
import {ask, attempt, field, say} from "/page/dialogs.js";

const TABS = [["entries", "Entries"], ["groups", "Groups"], ["keeps", "What keeps it"]];

export function stream(place, view) {
  const [key, tab = "entries", group] = view.parts;
  const title = h("h1", {}, decodeURIComponent(key));
  const cards = h("div", {class: "cards"});
  const content = h("div", {class: "tab"});
  const watchers = new Set();
  show(place,
    h("nav", {class: "crumbs", "aria-label": "Where you are"}, h("a", {href: "#/"}, "Streams"), " / "), title, cards,
    h("div", {class: "tabs", role: "tablist"}, TABS.map(([name, label]) =>
      h("a", {href: `#/stream/${key}/${name}`, role: "tab", "aria-selected": String(name === tab)}, label))),
    content);
  const stopTab = {entries: () => entries(content, key, view), groups: () => groups(content, key, group, view, watchers), keeps: () => keeps(content, key, view)}[tab]?.();
  const stopLive = live(`/streams/${key}`, {}, (found) => {
    if (found.error) return show(cards, h("p", {class: "warning"}, found.error));
    title.textContent = found.name;
    show(cards, [
      card("Entries", count(found.length), found.added === null ? "" : `${short(found.added)} ever added`),
      card("In", rate(found.in_rate)), card("Memory", bytes(found.bytes), found.length && found.bytes ? `${bytes(found.bytes / found.length)} each` : ""),
      card("Newest", found.length ? `${span(found.newest_age_ms)} ago` : "none"), card("Oldest", found.length ? `${span(found.oldest_age_ms)} ago` : "none"),
      card("Groups", count(found.groups), found.groups ? `${short(found.pending)} pending` : ""),
    ]);
    watchers.forEach((take) => take(found));
  });
  return () => { stopLive(); if (typeof stopTab === "function") stopTab(); };
}

const WHY = {
  pending: (one) => `${count(one.pending)} given and not acknowledged`,
  not_given: (one) => `${one.lag === null ? "some" : count(one.lag)} not given yet`,
  nothing: () => "has all, and has acknowledged all",
};

async function keeps(place, key, view) {
  const found = await attempt(() => get(`/streams/${key}/pins`));
  if (!found) return;
  show(place,
    h("h2", {}, "Who still needs old entries"),
    found.pins.length ? h("table", {}, heads("Group", "Why", "Needs entries from"),
      h("tbody", {}, found.pins.map((one) => h("tr", {}, h("td", {}, h("a", {href: `#/stream/${key}/groups/${one.key}`}, one.group)), h("td", {}, WHY[one.why](one)), h("td", {class: "id"}, one.holds_from ?? "–")))))
      : h("p", {class: "faint"}, "No group reads this stream, so nobody needs its entries."),
    found.free_until ? h("p", {}, "Everything before ", h("code", {}, found.free_until), " can be trimmed without loss.") : null,
    h("h2", {}, "What keeping it costs"),
    found.costs.length ? h("table", {}, heads("Kept for", ">Entries", ">Memory"),
      h("tbody", {}, found.costs.map((one) => h("tr", {}, h("td", {}, `${one.days} ${one.days === 1 ? "day" : "days"}`), h("td", {class: "number"}, `about ${short(one.entries)}`), h("td", {class: "number"}, `about ${bytes(one.bytes)}`)))))
      : h("p", {class: "faint"}, "Unknown: the server does not say how large the stream is, or it has no entries."),
    session.may_write ? h("div", {class: "buttons start"}, h("button", {class: "danger-line", onclick: () => trim(key, found, view)}, "Trim…")) : null);
}

function trim(key, found, view) {
  const told = h("div");
  const preview = async (body) => {
    const loss = await attempt(() => post(`/streams/${key}/trim-preview`, body));
    if (!loss) return false;
    show(told, h("p", {}, `${count(loss.going)} entries go, ${count(loss.staying)} stay.`),
      loss.groups.filter((one) => one.pending || one.not_given).map((one) => h("p", {class: "warning"},
        `${typeof one.group === "string" ? one.group : "a group"}: ${one.pending ? `${count(one.pending)} of them are pending` : ""}${one.pending && one.not_given ? "; " : ""}${one.not_given ? "some were not given yet" : ""}`)));
    return true;
  };
  let seen = null;
  ask("Trim the stream", [
    field("Remove what is older than the entry", "before", {value: found.free_until ?? "", placeholder: "an ID"}),
    field("or keep the newest", "maxlen", {type: "number", min: "0", placeholder: "so many entries"}), told,
  ], {
    label: "Show what goes, then trim", danger: true, submit: async ({before, maxlen}) => {
      const body = maxlen ? {maxlen: Number(maxlen)} : {before};
      const text = JSON.stringify(body);
      if (seen !== text) { seen = (await preview(body)) ? text : null; return false; }
      const done = await post(`/streams/${key}/trim`, body);
      say(`${done.removed} entries removed`);
      view.again();
      return true;
    },
  });
}
