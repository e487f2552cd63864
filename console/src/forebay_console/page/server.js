// The server: load, memory, how safe its data is, replicas, slow commands, settings.

import {h, patch, show} from "/page/dom.js";
import {get, live} from "/page/api.js";
import {card} from "/page/overview.js";
import {curve} from "/page/charts.js";
import {attempt} from "/page/dialogs.js";
import {table} from "/page/tables.js";
import {valueText} from "/page/values.js";
import {ago, bytes, count, many, moment, short, span, UNKNOWN} from "/page/words.js";

const ROLES = {master: "primary", slave: "replica"};

export function server(place) {
  const cards = h("div", {class: "cards"});
  const meter = h("ol", {class: "meter"});
  const curves = h("div", {class: "curves"});
  const [trouble, replicas, slow, settings] = [h("div"), h("div"), h("div"), h("div")];
  show(place, h("h1", {}, "Server"), cards, h("h2", {}, "How safe acknowledged writes are"), meter, trouble, h("h2", {}, "Over time"), curves, replicas, slow, settings);
  showSlow(slow);
  showSettings(settings);
  return live("/server", {}, (found) => {
    if (found.error) return;
    patch(cards,
      card(found.program ?? UNKNOWN, ROLES[found.role] ?? UNKNOWN, found.uptime_s === null ? "" : `up ${span(found.uptime_s * 1000)}`),
      card("Commands", `${short(found.commands_a_s)} /s`), card("Memory", bytes(found.memory_bytes), found.memory_limit_bytes ? `of ${bytes(found.memory_limit_bytes)}` : "no limit"),
      card("Clients", count(found.clients), `${count(found.blocked_clients)} waiting`));
    patch(meter, safety(found));
    patch(trouble, found.why_unknown ? h("p", {class: "warning"}, found.why_unknown) : failed(found.durability));
    const {commands = [], memory = [], clients = []} = found.curves;
    patch(curves, curve("Commands a second", commands, short), curve("Memory", memory, bytes), curve("Clients", clients, count));
    patch(replicas, links(found.replication));
  });
}

const SIGNS = {all: "✓", some: "◔", none: "–"};

function step(title, state, value, note) {
  return h("li", {class: `step ${state}`}, h("span", {class: "sign", "aria-hidden": "true"}, SIGNS[state]),
    h("div", {}, h("span", {class: "faint"}, title), h("strong", {}, value), h("span", {class: "faint"}, note)));
}

// The steps of an acknowledged write: written, on disk, on replicas.
function safety(found) {
  const one = found.durability;
  const written = one.aof === null ? step("Acknowledged", "none", UNKNOWN, "this server does not report it")
    : one.aof ? step("Acknowledged", "all", one.acked === null ? "AOF on" : bytes(one.acked), "written to the AOF before the reply")
      : step("Acknowledged", "some", "in memory only", "the AOF is off: snapshots only");
  const disk = one.unsynced_bytes === null ? step("On disk", "none", UNKNOWN, "this server does not report it")
    : step("On disk", one.unsynced_bytes ? "some" : "all", one.unsynced_bytes ? `all but ${bytes(one.unsynced_bytes)}` : "everything", one.sync_age_ms === null ? "" : `synced ${ago(one.sync_age_ms)}`);
  const {offset, replicas} = found.replication;
  const behind = one.replicated === null || offset === null ? null : Math.max(0, offset - one.replicated);
  const copies = behind === null ? step("On replicas", "none", "no replicas", "this server has the only copy")
    : step("On replicas", behind ? "some" : "all", behind ? `all but ${bytes(behind)}` : "everything", `on ${many(replicas.length, "replica")}`);
  return [written, disk, copies];
}

function failed(one) {
  return one.last_error || one.write_status === "err" ? h("p", {class: "warning"}, one.last_error ?? "The last write to the AOF failed.") : null;
}

function links(found) {
  if (found.primary) return [h("h2", {}, "Primary"), h("p", {}, `${found.primary}: the link is ${found.link}`)];
  if (!found.replicas.length) return [];
  const list = table("Replicas", ["Address", "State", ">Offset", ">Last heard"]);
  list.show(found.replicas.map((one) => h("tr", {}, h("td", {}, `${one.ip}:${one.port}`), h("td", {}, one.state), h("td", {class: "number"}, count(Number(one.offset))), h("td", {class: "number"}, `${one.lag} s ago`))));
  return [h("h2", {}, "Replicas"), list.element];
}

async function showSlow(place) {
  const found = await attempt(() => get("/server/slow"));
  if (!found) return;
  const list = table("Slow commands", ["When (UTC)", ">Took", "Command"], {empty: "The server remembers none."});
  list.show(found.commands.map((one) => h("tr", {}, h("td", {class: "time"}, moment(one.at_s * 1000).slice(0, 19)), h("td", {class: "number"}, span(one.took_us / 1000)), h("td", {class: "fields"}, h("code", {}, one.words.map(valueText).join(" "))))));
  show(place, h("h2", {}, "Slow commands"), list.element);
}

async function showSettings(place) {
  const found = await attempt(() => get("/server/settings"));
  if (!found) return;
  const differs = (one) => one.default !== null && one.default !== undefined && one.default !== one.value;
  const list = table("Settings", ["Name", "Value", "Default"], {empty: "All settings have their defaults."});
  const draw = (all) => list.show(found.settings.filter((one) => all || differs(one)).map((one) => h("tr", {class: differs(one) ? "differs" : ""}, h("td", {}, h("code", {}, one.name)), h("td", {class: "fields"}, one.value || "–"), h("td", {class: "faint"}, one.default ?? UNKNOWN))));
  const changed = found.settings.filter(differs).length;
  draw(false);
  show(place, h("div", {class: "heading"}, h("h2", {}, `Settings: ${changed} ${changed === 1 ? "differs" : "differ"} from the default`), h("label", {class: "check"}, h("input", {type: "checkbox", onchange: (event) => draw(event.target.checked)}), "show all")), list.element);
}
