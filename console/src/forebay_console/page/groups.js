// The groups of a stream, and one group: consumers, what is pending, and what can be done.

import {h, heads, show, count, rate, short, span} from "/page/dom.js";
import {get, post, session} from "/page/api.js";
import {bars, curve, spark} from "/page/charts.js";
import {ask, attempt, field, say} from "/page/dialogs.js";

const AGES = ["to 1 s", "10 s", "1 min", "10 min", "1 h", "1 d", "older"];
const DELIVERIES = ["once", "2", "3", "to 5", "to 10", "more"];

export function groups(place, key, group, view, watchers) {
  return group ? oneGroup(place, key, group, view, watchers) : allGroups(place, key, view, watchers);
}

function allGroups(place, key, view, watchers) {
  const body = h("tbody");
  show(place,
    session.may_write ? h("div", {class: "buttons start"}, h("button", {onclick: () => create(key, view)}, "Create a group")) : null,
    h("div", {class: "scroll"}, h("table", {}, heads("Group", "Lag, last hour", ">Lag", ">Behind", ">Out", ">Pending", ">Consumers", "Last delivered"), body)));
  watchers.add((found) => show(body, found.group_list.length ? found.group_list.map((one) => h("tr", {},
    h("td", {class: "name"}, h("a", {href: `#/stream/${key}/groups/${one.key}`}, one.name)),
    h("td", {}, spark(one.lag_curve, {label: `lag: ${count(one.lag)}`})),
    h("td", {class: "number"}, count(one.lag)), h("td", {class: "number"}, one.behind_ms === 0 ? "–" : span(one.behind_ms)),
    h("td", {class: "number"}, rate(one.out_rate)), h("td", {class: "number"}, count(one.pending)),
    h("td", {class: "number"}, count(one.consumers)), h("td", {class: "id"}, one.last_id)))
    : h("tr", {}, h("td", {colspan: 8, class: "empty"}, "No groups: whoever reads this stream reads it alone."))));
}

function oneGroup(place, key, group, view, watchers) {
  const curves = h("div", {class: "curves"});
  const details = h("div");
  show(place,
    h("div", {class: "heading"}, h("h2", {}, decodeURIComponent(group)), session.may_write ? h("div", {class: "buttons"},
      h("button", {onclick: () => reset(key, group, view)}, "Reset…"), h("button", {class: "danger-line", onclick: () => drop(key, group)}, "Delete…")) : null),
    curves, details);
  watchers.add((found) => {
    const one = found.group_list.find((each) => each.key === group);
    if (!one) return show(curves, h("p", {class: "warning"}, "This group is gone."));
    show(curves, [curve("Lag, entries", one.lag_curve, count), curve("Behind", one.behind_curve, span),
      h("div", {class: "facts"}, fact("Out", rate(one.out_rate)), fact("Pending", count(one.pending)), fact("Read", count(one.read)), fact("Last delivered", one.last_id))]);
  });
  showDetails(details, key, group, view);
}

function fact(title, value) {
  return h("div", {}, h("span", {class: "faint"}, `${title} `), value);
}

async function showDetails(place, key, group, view) {
  const path = `/streams/${key}/groups/${group}`;
  const found = await attempt(() => Promise.all([get(`${path}/pending-bars`), get(`${path}/consumers`)]));
  if (!found) return;
  const [pending, consumers] = found;
  const list = h("tbody");
  const more = h("div", {class: "pager"});
  const chosen = new Set();
  show(place,
    h("h3", {}, `Pending: ${count(pending.total)}`),
    pending.total ? h("div", {class: "curves"}, bars("by age", AGES, pending.by_age), bars("by deliveries", DELIVERIES, pending.by_deliveries)) : h("p", {class: "faint"}, "Everything that was given is acknowledged."),
    pending.is_whole ? null : h("p", {class: "faint"}, `The bars count the ${count(pending.counted)} oldest.`),
    h("h3", {}, `Consumers: ${count(consumers.total)}`),
    h("table", {}, heads("Consumer", ">Pending", ">Last seen", ">Last entry"),
      h("tbody", {}, consumers.consumers.map((one) => h("tr", {}, h("td", {class: "name"}, one.name), h("td", {class: "number"}, count(one.pending)), h("td", {class: "number"}, `${span(one.idle_ms)} ago`), h("td", {class: "number"}, one.inactive_ms === null || one.inactive_ms < 0 ? "unknown" : `${span(one.inactive_ms)} ago`))))),
    pending.total ? [h("h3", {}, "Pending entries, oldest first"), session.may_write ? deeds(path, chosen, view) : null,
      h("table", {}, heads(session.may_write ? h("th", {class: "tick"}) : null, "ID", "Consumer", ">For", ">Deliveries"), list), more] : null);
  if (pending.total) page(path, key, list, more, chosen, "");
}

async function page(path, key, list, more, chosen, from) {
  const found = await attempt(() => get(`${path}/pending`, {from}));
  if (!found) return;
  list.append(...found.pending.map((one) => {
    const tick = h("input", {type: "checkbox", "aria-label": `Choose ${one.id}`, onchange: () => (tick.checked ? chosen.add(one.id) : chosen.delete(one.id))});
    return h("tr", {}, session.may_write ? h("td", {class: "tick"}, tick) : null,
      h("td", {class: "id"}, h("a", {href: `#/stream/${key}/entries?order=oldest&from=${one.id}`}, one.id)), h("td", {}, one.consumer || "nobody"),
      h("td", {class: "number"}, span(one.idle_ms)), h("td", {class: `number ${one.deliveries > 3 ? "hot" : ""}`}, count(one.deliveries)));
  }));
  show(more, found.next ? h("button", {onclick: () => page(path, key, list, more, chosen, found.next)}, "More") : null);
}

function deeds(path, chosen, view) {
  const run = async (word, body, told) => {
    if (!chosen.size) return say("Choose entries first: tick them.", "bad");
    const done = await attempt(() => post(`${path}/${word}`, {ids: [...chosen], ...body}));
    if (done) { say(told(done)); view.again(); }
  };
  return h("div", {class: "buttons start"},
    h("button", {onclick: () => ask("Acknowledge", h("p", {}, `${chosen.size} entries count as done: nobody in this group is given them again.`), {label: "Acknowledge", danger: true, submit: () => run("acknowledge", {}, (done) => `${done.acknowledged} acknowledged`)})}, "Acknowledge"),
    h("button", {onclick: () => run("release", {}, (done) => `${done.released} released: any consumer can claim them`)}, "Release"),
    h("button", {onclick: () => ask("Give to another consumer", field("Consumer", "to", {required: true}), {label: "Claim", submit: ({to}) => run("claim", {to}, (done) => `${done.claimed} went to ${to}`)})}, "Claim for…"));
}

function create(key, view) {
  ask("Create a group", [field("Name", "name", {required: true}),
    h("label", {}, h("span", {}, "It begins"), h("select", {name: "from"}, h("option", {value: "end"}, "with what comes from now on"), h("option", {value: "start"}, "with the oldest entry")))], {
    label: "Create", submit: async (words) => { await post(`/streams/${key}/groups`, words); say(`${words.name} created`); view.again(); },
  });
}

function reset(key, group, view) {
  const told = h("div");
  let seen = null;
  ask("Reset the group", [field("To an ID, a time, start or end", "to", {required: true, placeholder: "1794900000000-0, 2026-11-17T20:00:00Z, start"}), told], {
    label: "Show what happens, then reset", danger: true, submit: async ({to}) => {
      const path = `/streams/${key}/groups/${group}`;
      if (seen !== to) {
        const plan = await post(`${path}/reset-preview`, {to});
        seen = to;
        show(told, h("p", {}, `From ${plan.from} to ${plan.to}.`),
          plan.again ? h("p", {class: "warning"}, `${short(plan.again)} entries are given again.`) : null,
          plan.skipped ? h("p", {class: "warning"}, `${short(plan.skipped)} entries are never given.`) : null,
          !plan.again && !plan.skipped ? h("p", {}, "No entry lies between: nothing is given again, nothing is left out.") : null,
          plan.pending ? h("p", {}, `${count(plan.pending)} stay pending.`) : null, h("p", {}, "Press the button again to do it."));
        return false;
      }
      await post(`${path}/reset`, {to});
      say("The group was moved");
      view.again();
      return true;
    },
  });
}

async function drop(key, group) {
  const path = `/streams/${key}/groups/${group}`;
  const found = await attempt(() => post(`${path}/delete-preview`, {}));
  if (!found) return;
  ask("Delete the group", [
    h("p", {}, `${found.group} has ${count(found.consumers)} consumers and stands at ${found.last_id}.`),
    h("p", {class: "warning"}, `${count(found.pending)} pending entries are forgotten, and ${found.lag === null ? "an unknown number" : count(found.lag)} that it was not given are given to nobody.`),
  ], {label: "Delete for ever", danger: true, submit: async () => { await post(`${path}/delete`, {}); say("The group is gone"); location.hash = `#/stream/${key}/groups`; }});
}
