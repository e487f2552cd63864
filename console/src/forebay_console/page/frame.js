// The head of the page: navigation, which server this is, whether it answers, how safe its data is.

import {h, patch, show} from "/page/dom.js";
import {get, live, session, signOut} from "/page/api.js";
import {attempt} from "/page/dialogs.js";
import {showKeys} from "/page/keys.js";
import {bytes, count, withoutHint} from "/page/words.js";

const NAMES = [["", "Streams"], ["dead", "Dead letters"], ["pipelines", "Pipelines"], ["server", "Server"]];
const LETTERS_EVERY_MS = 5000;
const state = {here: "", server: null, isAway: false, letters: 0, leave: null, stop: null};

export function startFrame(leave) {
  stopFrame();
  state.leave = leave;
  const stopLive = live("/server", {}, (found) => { state.server = found; draw(); });
  const timer = setInterval(countLetters, LETTERS_EVERY_MS);
  state.stop = () => { stopLive(); clearInterval(timer); };
  countLetters();
}

export function stopFrame() {
  state.stop?.();
  state.stop = null;
  state.server = null;
  show(document.getElementById("away"));
}

export function drawFrame(name) {
  state.here = name === "stream" ? "" : name;
  draw();
}

function draw() {
  if (!state.stop) return;
  patch(document.getElementById("top"),
    h("a", {class: "brand", href: "#/"}, h("img", {src: "/page/mark.svg", alt: "", width: 26, height: 26}), "Forebay"),
    h("nav", {"aria-label": "Main"}, NAMES.map(([one, label]) => h("a", {href: `#/${one}`, "aria-current": one === state.here ? "page" : null}, label, one === "dead" && state.letters ? badge() : null))),
    h("div", {class: "tools"},
      connection(), durability(),
      h("span", {class: session.may_write ? "tag" : "tag calm"}, session.may_write ? "may write" : "read only"),
      h("button", {class: "quiet icon", "aria-label": "Light or dark", title: "Light or dark", onclick: turn}, "◐"),
      h("button", {class: "quiet icon keys-button", "aria-label": "Keys", title: "Keys", onclick: showKeys}, "?"),
      h("button", {class: "quiet", title: `signed in as ${session.user}`, onclick: async () => { await attempt(signOut); state.leave(); }}, "Sign out")));
  drawAway();
}

function badge() {
  return h("span", {class: "badge"}, count(state.letters), h("span", {class: "unseen"}, " letters"));
}

function trouble() {
  if (state.isAway) return "console away";
  return state.server?.trouble ? "server away" : "";
}

function connection() {
  const gone = trouble();
  return h("span", {class: `state ${gone ? "bad" : state.server ? "good" : ""}`, title: `signed in as ${session.user}`},
    h("span", {class: "program"}, gone || (state.server?.program ?? "…")), h("span", {class: "faint where"}, session.server.replace(/^rediss?:\/\//, "")));
}

// Durability in a few words; the server view has the details.
function durability() {
  const found = state.server?.durability;
  if (!found || trouble()) return null;
  const waiting = found.unsynced_bytes;
  const [mark, text] = found.aof === false ? ["warm", "in memory only"] : waiting === null ? ["", ""]
    : waiting ? ["some", `${bytes(waiting)} not on disk`] : ["all", "all on disk"];
  return text ? h("a", {class: `safe ${mark}`, href: "#/server", title: "How safe acknowledged writes are"}, text) : null;
}

function drawAway() {
  const why = state.isAway ? "The console does not answer. The page continues as soon as it does."
    : state.server?.trouble ? `The server does not answer (${withoutHint(state.server.trouble)}). The figures are old; the page continues as soon as the server answers.` : "";
  const place = document.getElementById("away");
  if (place.textContent !== why) show(place, why ? h("p", {class: "away"}, why) : null);
}

async function countLetters() {
  if (document.hidden) return;
  const found = await get("/dead").catch(() => null);
  if (!found?.places) return;
  state.letters = found.places.reduce((sum, one) => sum + one.letters, 0);
  draw();
}

export function turn() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
addEventListener("console-away", () => { state.isAway = true; draw(); });
addEventListener("console-here", () => { if (state.isAway) { state.isAway = false; draw(); } });
