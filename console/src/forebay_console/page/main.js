// The address bar says which view is shown and with which words; this module draws that view.
//
//   #/stream/orders/entries?order=oldest     a view, its parts, its words

import {show} from "/page/dom.js";
import {session, whoAmI} from "/page/api.js";
import {attempt} from "/page/dialogs.js";
import {entrance} from "/page/entrance.js";
import {drawFrame, startFrame, stopFrame} from "/page/frame.js";
import {listenToKeys} from "/page/keys.js";
import {overview} from "/page/overview.js";
import {stream} from "/page/stream.js";
import {dead} from "/page/dead.js";
import {pipelines} from "/page/pipelines.js";
import {server} from "/page/server.js";
import {decoded} from "/page/words.js";

const VIEWS = {"": overview, stream, dead, pipelines, server};
const TITLES = {"": "Streams", stream: "", dead: "Dead letters", pipelines: "Pipelines", server: "Server"};
const AGAIN_AFTER_MS = 5000;
const content = document.getElementById("content");
let stop = null;
let last = "";
let drawing = 0;

function address() {
  const [path, words] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...parts] = path.split("/");
  return {name: name in VIEWS ? name : "", parts: parts.filter(Boolean), words: Object.fromEntries(new URLSearchParams(words ?? ""))};
}

// The object that a view gets: ``go`` changes its words, with a new history entry unless the user is still typing; ``refocus``
// is for elements that are drawn after the view itself and may have had the focus before.
function viewOf(parts, words, path, focus) {
  return {
    parts, words,
    go(next, {isTyping = false, usual = {}} = {}) {
      const used = Object.entries(next).filter(([name, value]) => value !== "" && value !== 0 && value !== usual[name]);
      const hash = `${path || "#/"}${used.length ? `?${new URLSearchParams(used)}` : ""}`;
      if (isTyping) location.replace(hash);
      else location.hash = hash;
    },
    refocus() {
      if (focus && [document.body, content].includes(document.activeElement)) giveFocus(focus);
    },
    again: draw,
  };
}

async function draw() {
  if (session.user === null) return;
  const {name, parts, words} = address();
  const path = location.hash.split("?")[0];
  const focus = path === last ? markOf(document.activeElement) : null;
  const mine = ++drawing;
  leave();
  drawFrame(name);
  document.title = [...parts.map(decoded).reverse(), TITLES[name], "Forebay"].filter(Boolean).join(" · ");
  if (path !== last) { content.focus({preventScroll: true}); scrollTo(0, 0); }
  last = path;
  const drawn = VIEWS[name](content, viewOf(parts, words, path, focus));
  if (focus) giveFocus(focus);
  const found = await drawn;
  if (mine !== drawing) return typeof found === "function" && found();
  stop = typeof found === "function" ? found : null;
  if (focus) giveFocus(focus);
  if (document.activeElement === document.body) content.focus({preventScroll: true});
}

// A redrawn view has new elements: the one that matches the old one gets the focus.
function markOf(element) {
  if (!element || !content.contains(element) || element === content) return null;
  const {selectionStart, selectionEnd} = element;
  return {tag: element.tagName, name: nameOf(element), selectionStart, selectionEnd};
}

const nameOf = (element) => element.id || element.getAttribute("aria-label") || element.textContent.replace(/[^\p{L}\d ]/gu, "").trim();

function giveFocus({tag, name, selectionStart, selectionEnd}) {
  const found = [...content.querySelectorAll(tag)].find((element) => nameOf(element) === name);
  if (!found || found === document.activeElement) return;
  found.focus({preventScroll: true});
  if (typeof selectionStart === "number") found.setSelectionRange(selectionStart, selectionEnd);
}

function leave() {
  stop?.();
  stop = null;
}

function begin() {
  last = "";
  startFrame(() => enter(""));
  draw();
}

function enter(text) {
  leave();
  stopFrame();
  session.user = null;
  drawing += 1;
  show(document.getElementById("top"));
  document.title = "Sign in · Forebay";
  entrance(content, text, begin);
}

// A restarted console has no sessions; where the server needs no password, the page gets a new one without a sign-in.
let triedAt = -AGAIN_AFTER_MS;

async function signedOut() {
  if (session.user === null) return;
  const isFirst = performance.now() - triedAt > AGAIN_AFTER_MS;
  triedAt = performance.now();
  if (isFirst && await whoAmI().catch(() => false)) return begin();
  enter("The session is over. Sign in again.");
}

document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); content.focus(); });
addEventListener("hashchange", draw);
addEventListener("signed-out", signedOut);
listenToKeys();
if (await attempt(whoAmI)) begin();
else enter(session.trouble ?? "");
