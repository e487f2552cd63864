// One entry in all groups (not delivered yet, pending with which consumer, done, dead), and in lakes.

import {h, show} from "/page/dom.js";
import {get} from "/page/api.js";
import {ago, idMoment, many} from "/page/words.js";

const IN_GROUPS = {
  not_given: () => "not delivered yet",
  pending: (one) => `pending with ${one.consumer}, delivered ${ago(one.idle_ms)}, ${many(one.deliveries, "delivery", "deliveries")}`,
  released: () => "released: any consumer may claim it",
  done: () => "acknowledged, or skipped",
  dead: (one) => h("a", {href: `#/dead/${one.letter_stream}/${one.letter}`}, `dead after ${many(one.deliveries, "attempt")}: ${one.error}`),
};

const reported = (one) => (one.by === "report" ? `, as its job reported ${ago(Date.now() - one.at_ms).replace(/^now$/, "just now")}` : "");
const IN_LAKES = {
  archived: (one) => [one.files.length ? `archived, in ${one.files.length > 1 ? "one of " : ""}` : `archived${reported(one)}`, one.files.map((path) => h("code", {}, path))],
  not_yet: (one) => `not archived yet: the lake has entries up to ${idMoment(one.cut)}${reported(one)}`,
  left_out: () => "not in the lake: its job has read past it, and the table has no such row",
  unknown: (one) => `unknown: ${one.why}`,
};

export function wayOf(key, id) {
  const place = h("div", {class: "groups-of-entry"});
  const fill = async () => {
    const found = await get(`/streams/${key}/entries/${id}/way`).catch((error) => ({error: error.message}));
    if (found.error) return show(place, h("p", {class: "faint"}, `Its groups are not shown: ${found.error}`));
    const groups = found.groups.map((one) => [h("dt", {}, h("a", {href: `#/stream/${key}/groups/${one.key}`}, one.group)), h("dd", {class: one.state}, IN_GROUPS[one.state](one))]);
    const lakes = found.lakes?.map((one) => [h("dt", {}, one.path), h("dd", {class: one.state}, IN_LAKES[one.state](one))]);
    show(place,
      groups.length ? [h("h2", {}, "In its groups"), h("dl", {}, groups)] : null,
      lakes?.length ? [h("h2", {}, "In lakes"), h("dl", {class: "lakes"}, lakes)] : null,
      lakes ? null : h("p", {class: "faint"}, "Unknown whether it is in a lake: this user may not read the reports of pipelines."));
  };
  fill();
  return place;
}
