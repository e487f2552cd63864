// Sign-in, with a user of the server that the console shows.

import {h, show} from "/page/dom.js";
import {session, signIn} from "/page/api.js";
import {field} from "/page/dialogs.js";
import {withoutHint} from "/page/words.js";

export function entrance(place, text, begin) {
  const told = h("p", {class: "warning", role: "alert"}, text);
  const form = h("form", {class: "entrance"},
    h("img", {src: "/page/mark.svg", alt: "", width: 44, height: 44}), h("h1", {}, "Sign in"),
    h("p", {class: "faint"}, "with a user of ", h("code", {}, session.server || "the server")),
    field("User", "user", {value: "default", autocomplete: "username", required: true}),
    field("Password", "password", {type: "password", autocomplete: "current-password"}),
    told, h("button", {class: "main", type: "submit"}, "Sign in"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const {user, password} = Object.fromEntries(new FormData(form));
    try {
      await signIn(user, password);
      begin();
    } catch (error) {
      told.textContent = withoutHint(error.message);
      form.elements.password.select();
    }
  });
  show(place, form);
  form.elements.password.focus();
}
