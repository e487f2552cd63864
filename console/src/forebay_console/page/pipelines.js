// Pipelines on Spark, from their reports.

import {h, show} from "/page/dom.js";
import {get} from "/page/api.js";
import {spark} from "/page/charts.js";
import {attempt} from "/page/dialogs.js";
import {table} from "/page/tables.js";
import {ago, bytes, count, many, rate, span} from "/page/words.js";

const EVERY_MS = 2000;
const TITLES = ["Pipeline", "State", "Rows a second", ">Rate", "Lag, entries", ">Lag", ">Batch", ">Last report"];

export function pipelines(place) {
  const list = table("Pipelines", TITLES, {empty: ["No pipeline has reported yet. Start one with ", h("code", {}, "forebay pipeline archive --stream orders --lake lake")]});
  show(place, h("h1", {}, "Pipelines"), h("p", {class: "lead"}, "Spark jobs that read streams. Each job reports these figures itself."), list.element);
  const draw = async () => {
    const found = await attempt(() => get("/pipelines"));
    if (found) list.show(found.pipelines.map(row));
  };
  draw();
  const timer = setInterval(draw, EVERY_MS);
  return () => clearInterval(timer);
}

function row(one) {
  const known = (values) => values.filter((value) => value !== null);
  return h("tr", {"data-key": one.name},
    h("td", {class: "name"}, one.name, one.text ? h("p", {class: "error"}, one.text) : null, one.lakes.map(lake)),
    h("td", {}, h("span", {class: `tag ${one.state}`}, one.state)),
    h("td", {class: "picture"}, spark(known(one.curve), {label: `rows a second: now ${rate(one.rows_per_s)}`})), h("td", {class: "number"}, rate(one.rows_per_s)),
    h("td", {class: "picture"}, spark(known(one.lag_curve), {label: `lag: now ${count(one.lag_entries)}`})),
    h("td", {class: "number"}, count(one.lag_entries), one.lag_s ? h("span", {class: "faint"}, `, ${span(one.lag_s * 1000)}`) : null),
    h("td", {class: "number"}, count(one.batch)), h("td", {class: "number"}, ago(one.ago_ms)));
}

// A table that the job fills, as the job last reported it.
function lake(one) {
  const committed = one.committed_ms ? `, last commit ${ago(Date.now() - one.committed_ms)}` : "";
  return h("p", {class: "faint lake"}, `${one.path}: ${bytes(one.bytes)} in ${many(one.files ?? 0, "file")}, version ${count(one.version)}${committed}`);
}
