// Questions to the person: what would happen, then do it or leave it.

import {h, show} from "/page/dom.js";

let notice;

export function say(text, kind = "good") {
  const place = document.getElementById("notice");
  clearTimeout(notice);
  show(place, h("div", {class: `notice ${kind}`}, text, h("button", {class: "quiet", "aria-label": "Close", onclick: () => show(place)}, "×")));
  if (kind === "good") notice = setTimeout(() => show(place), 6000);
}

export async function attempt(deed) {
  try {
    return await deed();
  } catch (error) {
    say(error.message, "bad");
    return null;
  }
}

// A dialog with a form; ``submit`` gets its values and returns whether the dialog may close.
export function ask(title, content, {label = "OK", danger = false, submit}) {
  const form = h("form", {method: "dialog"});
  const cancel = h("button", {type: "button", class: "quiet"}, "Cancel");
  const accept = h("button", {type: "submit", class: danger ? "danger" : "main"}, label);
  const dialog = h("dialog", {"aria-labelledby": "dialog-title"});
  form.append(h("h2", {id: "dialog-title"}, title), ...[content].flat(), h("div", {class: "buttons"}, cancel, accept));
  dialog.append(form);
  const close = () => { dialog.close(); dialog.remove(); };
  cancel.addEventListener("click", close);
  dialog.addEventListener("cancel", close);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    accept.disabled = true;
    const isDone = await attempt(async () => (await submit(Object.fromEntries(new FormData(form)))) !== false);
    accept.disabled = false;
    if (isDone) close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

export function field(label, name, attributes = {}) {
  return h("label", {}, h("span", {}, label), h("input", {name, autocomplete: "off", ...attributes}));
}
