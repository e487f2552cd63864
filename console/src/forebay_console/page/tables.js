// Tables: the head stays in view, rows can be ticked, and on a phone each row is a card whose cells name their column.

import {h, patch} from "/page/dom.js";

// A title that begins with > is for a column of numbers; an element is used as the head itself.
export function table(name, titles, {kind = "", empty = ""} = {}) {
  const columns = titles.filter(Boolean).map(column);
  const body = h("tbody", {}, waiting(columns.length));
  const element = h("div", {class: "scroll"}, h("table", {class: `rows ${kind}`, "aria-label": name},
    h("thead", {}, h("tr", {}, columns.map((one) => one.head))), body));
  const labelled = (rows) => rows.flat().filter(Boolean).map((row) => label(row, columns));
  const nothing = () => h("tr", {}, h("td", {colspan: columns.length, class: "empty"}, empty));
  return {
    element, body,
    show: (rows) => patch(body, rows.length ? labelled(rows) : nothing()),
    add: (rows) => { dropWaiting(body); body.append(...labelled(rows)); },
    prepend: (rows) => { dropWaiting(body); body.prepend(...labelled(rows)); },
  };
}

function column(title) {
  if (typeof title !== "string") return {head: title, text: title.dataset.label ?? title.textContent};
  const text = title.replace(/^>/, "");
  return {text, head: h("th", {scope: "col", class: title.startsWith(">") ? "number" : null}, text)};
}

function label(row, columns) {
  [...row.cells].forEach((cell, at) => { if (cell.colSpan === 1) cell.dataset.label = columns[at].text; });
  return row;
}

// Grey lines until the first answer arrives.
function waiting(columns) {
  return [1, 2, 3].map(() => h("tr", {class: "waiting", "aria-hidden": "true"}, h("td", {colspan: columns}, h("span", {class: "bone"}))));
}

function dropWaiting(body) {
  body.querySelectorAll("tr.waiting").forEach((row) => row.remove());
}

// Checkboxes before rows: ``changed`` is called with the number of chosen rows.
export class Ticks {
  constructor(changed) {
    this.chosen = new Set();
    this._boxes = new Map();
    this._changed = changed;
    this._all = h("input", {type: "checkbox", "aria-label": "Choose all rows shown", onchange: () => this._setAll(this._all.checked)});
  }

  head() {
    return h("th", {scope: "col", class: "tick", "data-label": "Choose"}, this._all);
  }

  cell(id) {
    const box = h("input", {type: "checkbox", "aria-label": `Choose ${id}`, onchange: () => this._set(id, box)});
    this._boxes.set(id, box);
    return h("td", {class: "tick"}, box);
  }

  _set(id, box) {
    if (box.checked) this.chosen.add(id);
    else this.chosen.delete(id);
    this._changed(this.chosen.size);
  }

  _setAll(isOn) {
    for (const [id, box] of this._boxes) {
      if (!box.isConnected) continue;
      box.checked = isOn;
      if (isOn) this.chosen.add(id);
      else this.chosen.delete(id);
    }
    this._changed(this.chosen.size);
  }
}
