// The frame: where we are (in the address bar), who looks, light or dark; it shows one view at a time.

import {h, show} from "/page/dom.js";
import {live, session, signIn, signOut, whoAmI} from "/page/api.js";
import {attempt, field} from "/page/dialogs.js";
import {overview} from "/page/overview.js";
import {stream} from "/page/stream.js";
import {dead} from "/page/dead.js";
import {pipelines} from "/page/pipelines.js";
import {server} from "/page/server.js";

const VIEWS = {"": overview, stream, dead, pipelines, server};
const NAMES = [["", "Streams"], ["dead", "Dead letters"], ["pipelines", "Pipelines"], ["server", "Server"]];
const content = document.getElementById("content");
let stop = null;
let stopServer = null;
let last = "";

// #/stream/orders/entries?order=newest: a view, its parts, its words.
function address() {
  const [path, words] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...parts] = path.split("/");
  return {name, parts: parts.filter(Boolean), words: Object.fromEntries(new URLSearchParams(words ?? ""))};
}

function draw() {
  const {name, parts, words} = address();
  const path = location.hash.split("?")[0];
  const view = {
    parts, words,
    hadFocus: path === last && document.activeElement?.type === "search",
    go(next) {
      const used = Object.entries(next).filter(([, value]) => value !== "" && value !== 0);
      const text = new URLSearchParams(used).toString();
      location.hash = `${path || "#/"}${text ? `?${text}` : ""}`;
    },
    again: draw,
  };
  leave();
  head(name);
  if (path !== last) content.focus({preventScroll: true});
  last = path;
  document.title = `${parts[0] ? decodeURIComponent(parts[0]) : "Forebay console"}`;
  const drawn = (VIEWS[name] ?? overview)(content, view);
  Promise.resolve(drawn).then((found) => { stop = typeof found === "function" ? found : null; });
}

function leave() {
  stop?.();
  stop = null;
}

function head(name) {
  const here = name === "stream" ? "" : name;
  show(document.getElementById("top"),
    h("a", {class: "brand", href: "#/"}, h("img", {src: "/page/mark.svg", alt: "", width: 26, height: 26}), "Forebay"),
    h("nav", {"aria-label": "Main"}, NAMES.map(([one, label]) => h("a", {href: `#/${one}`, "aria-current": one === here ? "page" : null}, label))),
    h("span", {class: "grow"}),
    h("span", {id: "state", class: "state", role: "status"}),
    h("span", {class: "faint where"}, session.server),
    session.may_write ? h("span", {class: "tag"}, "may write") : h("span", {class: "tag calm"}, "read only"),
    h("button", {class: "quiet", "aria-label": "Light or dark", onclick: turn}, "◐"),
    h("button", {class: "quiet", onclick: async () => { await attempt(signOut); entrance(); }}, `${session.user} · sign out`));
  drawState();
}

let state = null;

function drawState() {
  const place = document.getElementById("state");
  if (!place || !state) return;
  place.textContent = state.trouble ? "server away" : state.program ?? "";
  place.className = `state ${state.trouble ? "bad" : "good"}`;
  place.title = state.trouble ?? "";
  document.body.classList.toggle("away", Boolean(state.trouble));
}

function entrance(text = "") {
  leave();
  stopServer?.();
  show(document.getElementById("top"));
  const told = h("p", {class: "warning", role: "alert"}, text);
  const form = h("form", {class: "entrance", onsubmit: async (event) => {
    event.preventDefault();
    const words = Object.fromEntries(new FormData(form));
    try {
      await signIn(words.user, words.password);
      begin();
    } catch (error) {
      told.textContent = error.message;
    }
  }},
    h("img", {src: "/page/mark.svg", alt: "", width: 48, height: 48}), h("h1", {}, "Sign in"),
    h("p", {class: "faint"}, `with a user of ${session.server}`),
    field("User", "user", {value: "default", autocomplete: "username"}), field("Password", "password", {type: "password", autocomplete: "current-password"}),
    told, h("button", {class: "main", type: "submit"}, "Sign in"));
  show(content, form);
  form.querySelector("input[name=password]").focus();
}

function turn() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

function begin() {
  stopServer?.();
  stopServer = live("/server", {}, (found) => { state = found; drawState(); });
  draw();
}

const theme = localStorage.getItem("theme");
if (theme) document.documentElement.dataset.theme = theme;
addEventListener("hashchange", draw);
addEventListener("signed-out", () => entrance("The session is over. Sign in again."));
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, textarea, select")) return;
  const search = document.querySelector("input[type=search]");
  if (search) { event.preventDefault(); search.focus(); }
});
if (await attempt(whoAmI)) begin();
else entrance(session.trouble ?? "");
