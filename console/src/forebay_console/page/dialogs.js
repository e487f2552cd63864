// Dialogs: show what would happen, then let the user confirm or cancel.

import {h, show} from "/page/dom.js";

const SHOWN_MS = 6000;
let notice;

export function say(text, kind = "good") {
  const place = document.getElementById("notice");
  clearTimeout(notice);
  show(place, h("div", {class: `notice ${kind}`}, h("span", {}, text), h("button", {class: "quiet", "aria-label": "Close", onclick: () => show(place)}, "×")));
  if (kind === "good") notice = setTimeout(() => show(place), SHOWN_MS);
}

export async function attempt(action) {
  try {
    return await action();
  } catch (error) {
    say(error.message, "bad");
    return null;
  }
}

// A dialog with a form.  ``submit`` gets its values; the dialog stays open if it fails.  If ``submit`` returns a function,
// it is called after the dialog has closed and the focus is back where it was.
// With ``preview`` the first press only shows what would happen; after a change in the form it must be shown again.
export function ask(title, content, {label = "OK", danger = false, preview = null, submit}) {
  const told = h("div", {class: "preview", role: "status"});
  const trouble = h("p", {class: "warning", role: "alert"});
  const accept = h("button", {type: "submit"});
  let seen = null;
  const dress = () => {
    const isNext = !preview || seen !== null;
    accept.textContent = isNext ? label : "Show what will happen";
    accept.className = isNext && danger ? "danger" : "main";
  };
  const form = h("form", {method: "dialog"}, h("h2", {id: "dialog-title"}, title), content, told, trouble);
  const take = async () => {
    const words = Object.fromEntries(new FormData(form));
    const text = JSON.stringify(words);
    if (!preview || seen === text) return (await submit(words)) ?? (() => {});
    show(told, await preview(words));
    seen = text;
    return null;
  };
  form.addEventListener("input", () => { if (preview) { seen = null; show(told); dress(); } });
  return open(form, accept, async () => {
    trouble.textContent = "";
    try {
      return await take();
    } catch (error) {
      trouble.textContent = error.message;
      return null;
    } finally {
      dress();
    }
  }, dress);
}

function open(form, accept, take, dress) {
  const dialog = h("dialog", {"aria-labelledby": "dialog-title"}, form);
  const cancel = h("button", {type: "button", class: "quiet", onclick: () => dialog.close()}, "Cancel");
  form.append(h("div", {class: "buttons"}, cancel, accept));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    accept.setAttribute("aria-busy", "true");
    const after = await take();
    accept.removeAttribute("aria-busy");
    if (!after) return;
    dialog.close();
    after();
  });
  dress();
  return opened(dialog);
}

// Shown above everything until Escape or close(); the focus then returns to where it was.
export function opened(dialog) {
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

export function field(label, name, attributes = {}) {
  return h("label", {}, h("span", {}, label), h("input", {name, autocomplete: "off", ...attributes}));
}
