// A live tail: entries as they arrive.  It pauses while the reader is further down or has unfolded an entry, and says so.

import {h, show} from "/page/dom.js";
import {tail} from "/page/api.js";
import {many} from "/page/words.js";

const MOST_SHOWN = 1000;

export function startTail(key, state, row) {
  const {list, note} = state;
  const said = h("span", {}, "Live: waiting for entries");
  const spoken = h("span", {class: "unseen", role: "status"});
  const resume = h("button", {class: "small main", hidden: true, onclick: () => { fold(list.body); note.scrollIntoView({block: "center"}); paint(); }}, "Show them");
  let waiting = [];
  let leftOut = 0;
  show(note, h("span", {class: "pulse", "aria-hidden": "true"}), said, spoken, resume);
  const paint = () => {
    if (!waiting.length) return tell();
    list.prepend(waiting.map(row).reverse());
    state.found.unshift(...waiting.reverse());
    waiting = [];
    while (list.body.children.length > MOST_SHOWN) list.body.lastChild.remove();
    state.found.length = Math.min(state.found.length, MOST_SHOWN);
    tell();
  };
  const tell = () => {
    resume.hidden = !waiting.length;
    note.classList.toggle("paused", waiting.length > 0);
    const mode = waiting.length ? "Paused while you read" : "Live";
    if (spoken.textContent !== mode) spoken.textContent = mode;
    const missed = leftOut ? ` (${many(leftOut, "entry", "entries")} arrived too fast to be shown)` : "";
    said.textContent = (waiting.length ? `${mode}: ${many(waiting.length, "new entry", "new entries")}` : mode) + missed;
  };
  const onScroll = () => { if (waiting.length && !isReading(list.body)) paint(); };
  addEventListener("scroll", onScroll, {passive: true});
  const stop = tail(key, (found) => {
    waiting = [...waiting, ...found.entries].slice(-MOST_SHOWN);
    leftOut += found.left_out ?? 0;
    if (found.trouble) { said.textContent = `Live: ${found.trouble}`; return; }
    if (isReading(list.body)) tell();
    else paint();
  });
  return () => { stop(); removeEventListener("scroll", onScroll); };
}

// Reading further down: the first row is hidden under the head of the page.  Or an entry is unfolded.
function isReading(body) {
  const head = document.getElementById("top").getBoundingClientRect().bottom;
  return body.getBoundingClientRect().top < head || body.querySelector(".unfolded") !== null;
}

function fold(body) {
  body.querySelectorAll(".unfolded").forEach((line) => line.previousSibling.querySelector("button.link").click());
}
