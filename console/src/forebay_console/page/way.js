// One entry followed through all groups: not given yet, pending with whom, done, dead.

import {h, show} from "/page/dom.js";
import {get} from "/page/api.js";
import {ago, many} from "/page/words.js";

const WORDS = {
  not_given: () => "not given yet",
  pending: (one) => `pending with ${one.consumer}, given ${ago(one.idle_ms)}, ${many(one.deliveries, "delivery", "deliveries")}`,
  released: () => "released: any consumer may have it",
  done: () => "acknowledged, or passed over",
  dead: (one) => h("a", {href: `#/dead/${one.letter_stream}/${one.letter}`}, `dead after ${many(one.deliveries, "attempt")}: ${one.error}`),
};

export function wayOf(key, id) {
  const place = h("div", {class: "groups-of-entry"});
  const fill = async () => {
    const found = await get(`/streams/${key}/entries/${id}/way`).catch((error) => ({error: error.message, groups: []}));
    if (found.error) return show(place, h("p", {class: "faint"}, `Its groups are not shown: ${found.error}`));
    if (!found.groups.length) return;
    show(place, h("h2", {}, "In its groups"),
      h("dl", {}, found.groups.map((one) => [h("dt", {}, h("a", {href: `#/stream/${key}/groups/${one.key}`}, one.group)), h("dd", {class: one.state}, WORDS[one.state](one))])));
  };
  fill();
  return place;
}
