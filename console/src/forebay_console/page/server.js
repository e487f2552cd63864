// The server: load, memory, how safe its data is, replicas, slow commands, settings.

import {h, heads, show, count, short, bytes, span, moment, valueText, UNKNOWN} from "/page/dom.js";
import {get, live} from "/page/api.js";
import {card} from "/page/overview.js";
import {curve} from "/page/charts.js";
import {attempt} from "/page/dialogs.js";

export function server(place) {
  const cards = h("div", {class: "cards"});
  const meter = h("div", {class: "meter"});
  const curves = h("div", {class: "curves"});
  const replicas = h("div");
  const slow = h("div");
  const settings = h("div");
  show(place, h("h1", {}, "Server"), cards, h("h2", {}, "How safe is what was acknowledged"), meter, h("h2", {}, "The last hour"), curves, replicas, slow, settings);
  showSlow(slow);
  showSettings(settings);
  return live("/server", {}, (found) => {
    show(cards, [
      card(found.program ?? UNKNOWN, found.role === "master" ? "primary" : found.role === "slave" ? "replica" : UNKNOWN, found.uptime_s === null ? "" : `up ${span(found.uptime_s * 1000)}`),
      card("Commands", `${short(found.commands_a_s)} /s`), card("Memory", bytes(found.memory_bytes), found.memory_limit_bytes ? `of ${bytes(found.memory_limit_bytes)}` : "no limit"),
      card("Clients", count(found.clients), `${count(found.blocked_clients)} waiting`),
    ]);
    show(meter, safety(found));
    const {commands = [], memory = [], clients = []} = found.curves;
    show(curves, [curve("Commands a second", commands, short), curve("Memory", memory, bytes), curve("Clients", clients, count)]);
    show(replicas, links(found.replication));
  });
}

function safety(found) {
  const one = found.durability;
  const step = (title, value, state, note) => h("div", {class: `step ${state}`}, h("span", {class: "faint"}, title), h("strong", {}, value), h("span", {class: "faint"}, note));
  const disk = one.unsynced_bytes === null
    ? step("On disk", UNKNOWN, "", "this server does not tell")
    : step("On disk", one.unsynced_bytes ? `all but ${bytes(one.unsynced_bytes)}` : "everything", one.unsynced_bytes ? "some" : "all", one.sync_age_ms === null ? "" : `as of ${span(one.sync_age_ms)} ago`);
  const offset = found.replication.offset;
  const behind = one.replicated === null || offset === null ? null : Math.max(0, offset - one.replicated);
  return [
    step("Acknowledged", one.acked === null ? (one.aof ? "AOF on" : one.aof === false ? "AOF off" : UNKNOWN) : bytes(one.acked), one.aof ? "all" : "some", one.aof ? "in the AOF before the reply" : "snapshots only"),
    disk,
    behind === null ? step("On replicas", "no replicas", "", "") : step("On replicas", behind ? `all but ${bytes(behind)}` : "everything", behind ? "some" : "all", `${found.replication.replicas.length} connected`),
    one.last_error || one.write_status === "err" ? h("p", {class: "warning"}, one.last_error ?? "the last write to the AOF failed") : null,
  ];
}

function links(found) {
  if (found.primary) return [h("h2", {}, "Primary"), h("p", {}, `${found.primary}: the link is ${found.link}`)];
  if (!found.replicas.length) return [];
  return [h("h2", {}, "Replicas"), h("table", {}, heads("Address", "State", ">Offset", ">Last word"),
    h("tbody", {}, found.replicas.map((one) => h("tr", {}, h("td", {}, `${one.ip}:${one.port}`), h("td", {}, one.state), h("td", {class: "number"}, count(Number(one.offset))), h("td", {class: "number"}, `${one.lag} s ago`)))))];
}

async function showSlow(place) {
  const found = await attempt(() => get("/server/slow"));
  if (!found) return;
  show(place, h("h2", {}, "Slow commands"), found.commands.length ? h("table", {}, heads("When", ">Took", "Command"),
    h("tbody", {}, found.commands.map((one) => h("tr", {}, h("td", {class: "time"}, moment(one.at_s * 1000)), h("td", {class: "number"}, span(one.took_us / 1000)), h("td", {class: "fields"}, one.words.map(valueText).join(" ")))))) : h("p", {class: "faint"}, "None that the server remembers."));
}

async function showSettings(place) {
  const found = await attempt(() => get("/server/settings"));
  if (!found) return;
  const differs = (one) => one.default !== null && one.default !== undefined && one.default !== one.value;
  const rows = h("tbody");
  const draw = (all) => show(rows, found.settings.filter((one) => all || differs(one)).map((one) => h("tr", {class: differs(one) ? "differs" : ""}, h("td", {}, one.name), h("td", {class: "fields"}, one.value || "–"), h("td", {class: "faint"}, one.default ?? UNKNOWN))));
  const changed = found.settings.filter(differs).length;
  draw(false);
  show(place, h("div", {class: "heading"}, h("h2", {}, `Settings: ${changed} differ from the default`), h("label", {class: "check"}, h("input", {type: "checkbox", onchange: (event) => draw(event.target.checked)}), "show all")),
    h("table", {}, heads("Name", "Value", "Default"), rows));
}
