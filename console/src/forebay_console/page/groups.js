// The groups of a stream, and one group: its consumers, its pending entries, and the actions on them.

import {h, patch, show} from "/page/dom.js";
import {get, post, session} from "/page/api.js";
import {bars, curve, lagSpark} from "/page/charts.js";
import {ask, attempt, field, say} from "/page/dialogs.js";
import {table, Ticks} from "/page/tables.js";
import {ago, count, decoded, rate, short, span, UNKNOWN} from "/page/words.js";

const AGES = ["1 s", "10 s", "1 min", "10 min", "1 h", "1 d", "older"];
const AGE_MARKS = ["", "", "", "", "", "warm", "hot"];
const DELIVERIES = ["once", "2", "3", "to 5", "to 10", "more"];
const DELIVERY_MARKS = ["", "", "", "warm", "warm", "hot"];
const LATE_MS = 60_000;

export function groups(place, key, group, view, watchers) {
  return group ? oneGroup(place, key, group, view, watchers) : allGroups(place, key, view, watchers);
}

function allGroups(place, key, view, watchers) {
  const list = table("Groups", ["Group", "Lag over time", ">Lag", ">Behind", ">Out", ">Pending", ">Consumers", "Last delivered"], {empty: "No groups: this stream is read without a group, or not at all."});
  show(place, session.may_write ? h("div", {class: "buttons start"}, h("button", {onclick: () => create(key, view)}, "Create a group…")) : null, list.element);
  watchers.add((found) => list.show(found.group_list.map((one) => h("tr", {"data-key": one.key},
    h("td", {class: "name"}, h("a", {href: `#/stream/${key}/groups/${one.key}`}, one.name)),
    h("td", {class: "picture"}, lagSpark(one.lag_curve, count(one.lag))),
    h("td", {class: `number ${one.lag > 0 ? "warm" : ""}`}, count(one.lag)), h("td", {class: `number ${one.behind_ms > LATE_MS ? "hot" : ""}`}, one.behind_ms === 0 ? "–" : span(one.behind_ms)),
    h("td", {class: "number"}, rate(one.out_rate)), h("td", {class: "number"}, count(one.pending)),
    h("td", {class: "number"}, count(one.consumers)), h("td", {class: "id"}, one.last_id)))));
}

function oneGroup(place, key, group, view, watchers) {
  const curves = h("div", {class: "curves"});
  const details = h("div");
  show(place,
    h("div", {class: "heading"}, h("h2", {}, "Group ", decoded(group)), session.may_write ? h("div", {class: "buttons"},
      h("button", {onclick: () => reset(key, group, view)}, "Reset…"), h("button", {class: "danger-line", onclick: () => drop(key, group)}, "Delete…")) : null),
    curves, details);
  watchers.add((found) => {
    const one = found.group_list.find((each) => each.key === group);
    if (!one) return show(curves, h("p", {class: "warning"}, "This group no longer exists."));
    patch(curves, curve("Lag, entries", one.lag_curve, count), curve("Behind", one.behind_curve, span),
      h("dl", {class: "facts"}, fact("Out", rate(one.out_rate)), fact("Pending", count(one.pending)), fact("Read", count(one.read)), fact("Consumers", count(one.consumers)), fact("Last delivered", h("span", {class: "id"}, one.last_id))));
  });
  showDetails(details, key, group, view);
}

function fact(title, value) {
  return [h("dt", {}, title), h("dd", {}, value)];
}

async function showDetails(place, key, group, view) {
  const path = `/streams/${key}/groups/${group}`;
  const found = await attempt(() => Promise.all([get(`${path}/pending-bars`), get(`${path}/consumers`)]));
  if (!found) return;
  const [pending, consumers] = found;
  const people = table("Consumers", ["Consumer", ">Pending", ">Last seen", ">Last entry"], {empty: "No consumer has read in this group yet."});
  people.show(consumers.consumers.map((one) => h("tr", {}, h("td", {class: "name"}, one.name), h("td", {class: "number"}, count(one.pending)), h("td", {class: "number"}, ago(one.idle_ms)), h("td", {class: "number"}, one.inactive_ms === null || one.inactive_ms < 0 ? UNKNOWN : ago(one.inactive_ms)))));
  show(place,
    h("h2", {}, `Pending: ${count(pending.total)}`),
    pending.total ? h("div", {class: "curves"}, bars("Delivered at most this long ago", AGES, pending.by_age, AGE_MARKS), bars("Number of deliveries", DELIVERIES, pending.by_deliveries, DELIVERY_MARKS)) : h("p", {class: "faint"}, "Every delivered entry is acknowledged."),
    pending.is_whole ? null : h("p", {class: "faint"}, `The bars count only the ${count(pending.counted)} oldest.`),
    h("h2", {}, `Consumers: ${count(consumers.total)}`), people.element,
    pending.total ? pendingList(path, key, view) : null);
}

function pendingList(path, key, view) {
  const buttons = h("div", {class: "buttons start"});
  const ticks = new Ticks((chosen) => [...buttons.children].forEach((button) => { button.disabled = !chosen; }));
  const list = table("Pending entries", [session.may_write ? ticks.head() : null, "ID", "Consumer", ">Idle for", ">Deliveries"]);
  const more = h("div", {class: "pager"});
  show(buttons, actions(path, ticks.chosen, view));
  page(path, key, list, more, ticks, "");
  return [h("h2", {}, "Pending entries, oldest first"), session.may_write ? buttons : null, list.element, more];
}

async function page(path, key, list, more, ticks, from) {
  const found = await attempt(() => get(`${path}/pending`, {from}));
  if (!found) return;
  list.add(found.pending.map((one) => h("tr", {}, session.may_write ? ticks.cell(one.id) : null,
    h("td", {class: "id"}, h("a", {href: `#/stream/${key}/entries?order=oldest&from=${one.id}`}, one.id)), h("td", {}, one.consumer || "none"),
    h("td", {class: "number"}, span(one.idle_ms)), h("td", {class: `number ${one.deliveries > 3 ? "hot" : ""}`}, count(one.deliveries)))));
  show(more, found.next ? h("button", {onclick: () => page(path, key, list, more, ticks, found.next)}, "More") : null);
}

function actions(path, chosen, view) {
  const run = async (word, body, told) => {
    const done = await post(`${path}/${word}`, {ids: [...chosen], ...body});
    say(told(done));
    return view.again;
  };
  const acknowledge = () => ask("Acknowledge", h("p", {}, `${chosen.size} entries will count as done: no consumer of this group gets them again.`), {label: "Acknowledge", danger: true, submit: () => run("acknowledge", {}, (done) => `${done.acknowledged} acknowledged`)});
  const claim = () => ask("Give to another consumer", field("Consumer", "to", {required: true}), {label: "Claim", submit: ({to}) => run("claim", {to}, (done) => `${done.claimed} given to ${to}`)});
  return [
    h("button", {disabled: true, onclick: acknowledge}, "Acknowledge…"),
    h("button", {disabled: true, onclick: async () => (await attempt(() => run("release", {}, (done) => `${done.released} released: any consumer can claim them`)))?.()}, "Release"),
    h("button", {disabled: true, onclick: claim}, "Claim for…")];
}

function create(key, view) {
  ask("Create a group", [field("Name", "name", {required: true}),
    h("label", {}, h("span", {}, "Start"), h("select", {name: "from"}, h("option", {value: "end"}, "with new entries only"), h("option", {value: "start"}, "with the oldest entry")))], {
    label: "Create", submit: async (words) => { await post(`/streams/${key}/groups`, words); say(`${words.name} created`); return view.again; },
  });
}

function reset(key, group, view) {
  const path = `/streams/${key}/groups/${group}`;
  ask("Reset the group", field("To an ID, a time, start or end", "to", {required: true, placeholder: "start, end, 2026-11-17T20:00:00Z"}), {
    label: "Reset the group", danger: true,
    preview: async ({to}) => planned(await post(`${path}/reset-preview`, {to})),
    submit: async ({to}) => {
      await post(`${path}/reset`, {to});
      say("The group was moved");
      return view.again;
    },
  });
}

function planned(plan) {
  return [h("p", {}, "From ", h("code", {}, plan.from), " to ", h("code", {}, plan.to), "."),
    plan.again ? h("p", {class: "warning"}, `${short(plan.again)} ${plan.again === 1 ? "entry is" : "entries are"} delivered again.`) : null,
    plan.skipped ? h("p", {class: "warning"}, `${short(plan.skipped)} ${plan.skipped === 1 ? "entry is" : "entries are"} never delivered.`) : null,
    !plan.again && !plan.skipped ? h("p", {}, "No entry lies between: none is delivered again, none is skipped.") : null,
    plan.pending ? h("p", {}, `${count(plan.pending)} stay pending.`) : null];
}

async function drop(key, group) {
  const path = `/streams/${key}/groups/${group}`;
  const found = await attempt(() => post(`${path}/delete-preview`, {}));
  if (!found) return;
  ask("Delete the group", [
    h("p", {}, `${found.group} has ${count(found.consumers)} consumers. Its last delivered ID is `, h("code", {}, found.last_id), "."),
    h("p", {class: "warning"}, `${count(found.pending)} pending entries are forgotten, and ${found.lag === null ? "an unknown number of" : count(found.lag)} entries that were not delivered yet never reach this group.`),
  ], {label: "Delete the group", danger: true, submit: async () => { await post(`${path}/delete`, {}); say("The group was deleted"); location.hash = `#/stream/${key}/groups`; }});
}
