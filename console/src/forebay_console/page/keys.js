// Keys: everything works with Tab and Enter alone; these are quicker.  Users who dictate can turn them off.

import {h} from "/page/dom.js";
import {opened} from "/page/dialogs.js";

const KEYS = [
  ["/", "Search streams, or the field to filter entries by"], ["j", "Next row"], ["k", "Previous row"], ["Enter", "Open the row, unfold the entry"],
  ["l", "Live tail on or off, in the entries of a stream"], ["g then s", "Streams"], ["g then d", "Dead letters"],
  ["g then p", "Pipelines"], ["g then v", "Server"], ["← or →", "Move the range in the bars over time; Page keys move it by ten, Home and End to either end"],
  ["Shift and ← or →", "Make that range narrower or wider; Enter shows its entries"],
  ["Esc", "Close a dialog; clear the range, then show all times"], ["?", "This list"],
];
const PLACES = {s: "#/", d: "#/dead", p: "#/pipelines", v: "#/server"};
const ROWS = "main tbody a, main tbody button.link, main a.kind";
let isAfterG = false;

const areOn = () => localStorage.getItem("keys") !== "off";

export function showKeys() {
  if (document.querySelector("dialog")) return;
  const box = h("input", {type: "checkbox", checked: areOn(), onchange: () => localStorage.setItem("keys", box.checked ? "on" : "off")});
  const dialog = h("dialog", {"aria-labelledby": "dialog-title"},
    h("h2", {id: "dialog-title"}, "Keys"),
    h("dl", {class: "keys"}, KEYS.map(([key, what]) => [h("dt", {}, key.split(/( then | or | and )/).map((one, at) => (at % 2 ? one : h("kbd", {}, one)))), h("dd", {}, what)])),
    h("label", {class: "check"}, box, "Use single-key shortcuts"),
    h("div", {class: "buttons"}, h("button", {class: "main", onclick: () => dialog.close()}, "Close")));
  opened(dialog);
}

export function listenToKeys() {
  addEventListener("keydown", (event) => {
    const isWriting = event.target.matches("input:not([type=checkbox]), textarea, select");
    if (isWriting || event.ctrlKey || event.metaKey || event.altKey || !areOn() || document.querySelector("dialog")) return;
    const target = PLACES[event.key];
    if (isAfterG && target) location.hash = target;
    else if (!act(event.key)) { isAfterG = event.key === "g"; return; }
    isAfterG = false;
    event.preventDefault();
  });
}

function act(key) {
  if (key === "?") return showKeys(), true;
  if (key === "/") return search();
  if (key === "j" || key === "k") return step(key === "j" ? 1 : -1);
  if (key === "l") return press("button.tail");
  return false;
}

function search() {
  const find = () => document.querySelector("input[type=search]");
  if (find()) return find().focus(), true;
  addEventListener("hashchange", () => requestAnimationFrame(() => find()?.focus()), {once: true});
  location.hash = "#/";
  return true;
}

function press(css) {
  const button = document.querySelector(css);
  button?.click();
  return Boolean(button);
}

// One link for each row: its first.
function step(by) {
  const rows = new Map();
  for (const link of document.querySelectorAll(ROWS)) {
    const row = link.closest("tr") ?? link;
    if (!rows.has(row)) rows.set(row, link);
  }
  const links = [...rows.values()];
  const now = links.findIndex((link) => link === document.activeElement);
  links[Math.min(links.length - 1, Math.max(0, now === -1 ? 0 : now + by))]?.focus();
  return links.length > 0;
}
