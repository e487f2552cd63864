// Pipelines on Spark, by what they report.

import {h, heads, show, count, rate, span} from "/page/dom.js";
import {get} from "/page/api.js";
import {spark} from "/page/charts.js";
import {attempt} from "/page/dialogs.js";

const EVERY_MS = 2000;

export function pipelines(place) {
  const body = h("tbody");
  show(place, h("h1", {}, "Pipelines"), h("div", {class: "scroll"}, h("table", {}, heads("Pipeline", "State", "Rows a second", ">Rate", ">Lag", "Lag curve", ">Batch", ">Last heard"), body)));
  const draw = async () => {
    const found = await attempt(() => get("/pipelines"));
    if (found) show(body, found.pipelines.length ? found.pipelines.map(row) : h("tr", {}, h("td", {colspan: 8, class: "empty"}, "No pipeline has reported. Start one with: forebay pipeline archive --stream orders --lake lake")));
  };
  draw();
  const timer = setInterval(draw, EVERY_MS);
  return () => clearInterval(timer);
}

function row(one) {
  const known = (values) => values.filter((value) => value !== null);
  return [h("tr", {}, h("td", {class: "name"}, one.name), h("td", {}, h("span", {class: `tag ${one.state}`}, one.state)),
    h("td", {}, spark(known(one.curve))), h("td", {class: "number"}, rate(one.rows_per_s)),
    h("td", {class: "number"}, count(one.lag_entries), one.lag_s ? `, ${span(one.lag_s * 1000)}` : ""), h("td", {}, spark(known(one.lag_curve))),
    h("td", {class: "number"}, count(one.batch)), h("td", {class: "number"}, `${span(one.ago_ms)} ago`)),
  one.text ? h("tr", {}, h("td", {colspan: 8, class: "error"}, one.text)) : null];
}
