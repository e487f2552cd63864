// Pictures: a small curve, a curve with axes, bars, and bars over time in which the user can choose a range.

import {h, svg} from "/page/dom.js";
import {KEYS_HINT, placeOf, rangeOf} from "/page/range.js";
import {count, many, moment, roundAbove} from "/page/words.js";

// A small curve for a row of a table.  ``room``: how many points fill its width; the newest is at the right.
export function spark(values, {room = 60, label = "", width = 96, height = 24, top = Math.max(...values, 0)} = {}) {
  const picture = svg("svg", {viewBox: `0 0 ${width} ${height}`, class: "spark", role: "img", "aria-label": label || "no samples yet", preserveAspectRatio: "none"});
  picture.append(svg("line", {x1: 0, x2: width, y1: height - 1, y2: height - 1, class: "ground"}));
  if (top > 0 && values.length) picture.append(...drawn(values, top, room, width, height));
  return picture;
}

function drawn(values, top, room, width, height) {
  const step = width / (Math.max(room, values.length, 2) - 1);
  const from = width - (values.length - 1) * step;
  const points = values.map((value, at) => `${(from + at * step).toFixed(1)},${(height - 1 - (value / top) * (height - 3)).toFixed(1)}`);
  if (points.length === 1) points.unshift(points[0].replace(/^[\d.]+/, (width - step).toFixed(1)));
  const start = points[0].split(",")[0];
  return [svg("polygon", {points: `${start},${height} ${points.join(" ")} ${width},${height}`, class: "area"}), svg("polyline", {points: points.join(" "), class: "line"})];
}

// A curve covers as much time as the console has seen. Rates of streams have a point for each 5 s, all else for each 15 s.
const RATES = [[12, "1 min"], [24, "2 min"], [60, "5 min"]];
const LENGTHS = [[20, "5 min"], [60, "15 min"], [120, "30 min"], [240, "1 h"]];
const lengthOf = (values, lengths = LENGTHS) => lengths.find(([points]) => values.length <= points) ?? lengths.at(-1);

export function lagSpark(values, now) {
  const [room, length] = lengthOf(values);
  return spark(values, {room, label: `lag, last ${length}: now ${now}`});
}

export function rateSpark(values, now) {
  const [room, length] = lengthOf(values, RATES);
  return spark(values, {room, label: `in, last ${length}: now ${now}`});
}

// A curve with its axes.
export function curve(title, values, format) {
  const [room, length] = lengthOf(values);
  const isEmpty = !values.length;
  const newest = isEmpty ? "no samples yet" : format(values[values.length - 1]);
  const most = isEmpty ? 0 : Math.max(...values);
  const top = roundAbove(most, format);
  return h("figure", {class: "curve"},
    h("figcaption", {}, h("span", {}, title), h("strong", {}, newest)),
    h("div", {class: "plot"},
      h("div", {class: "axis-y", "aria-hidden": "true"}, [top, top / 2, 0].map((value) => h("span", {}, value === 0 ? "0" : format(value)))),
      h("div", {class: "field-of-view"}, spark(values, {room, width: 480, height: 96, label: `${title}: now ${newest}, at most ${format(most)} in the last ${length}`, top})),
      h("div", {class: "axis-x", "aria-hidden": "true"}, [`${length} ago`, "now"].map((text) => h("span", {}, text)))));
}

// Bars with labels under them; ``marks`` are classes for some of them.
export function bars(title, labels, values, marks = []) {
  const top = Math.max(...values, 1);
  return h("figure", {class: "bars"},
    h("figcaption", {}, title),
    h("div", {class: "columns", role: "list"}, values.map((value, at) => {
      const bar = h("div", {class: `bar ${marks[at] ?? ""}`});
      bar.style.height = `${value ? Math.max(2, (value / top) * 100) : 0}%`;
      return h("div", {class: "column", role: "listitem"},
        h("div", {class: "room"}, h("span", {class: "amount"}, value ? count(value) : ""), bar), h("span", {class: "faint"}, labels[at]));
    })));
}

const WIDTH = 960;
const HEIGHT = 96;

// Entries over time; ``choose(fromMs, toMs)`` is called when the user has chosen a range, ``leave()`` to show all again.
export function histogram(found, choose, leave) {
  const sum = found.bars.reduce((all, value) => all + value, 0);
  const end = found.start_ms + found.step_ms * found.bars.length;
  const about = found.is_exact ? "" : "about ";
  const all = `${about}${many(sum, "entry", "entries")}`;
  const top = roundAbove(Math.max(...found.bars, 1), count);
  const picture = svg("svg", {
    id: "over-time", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "histogram", preserveAspectRatio: "none",
    role: "slider", tabindex: 0, "aria-label": `Range of time: ${all} from ${moment(found.start_ms)} to ${moment(end)}`,
    "aria-describedby": "over-time-hint", "aria-valuemin": 0, "aria-valuemax": found.bars.length - 1,
  });
  picture.append(...columns(found, top));
  const under = h("span", {});
  const hint = h("span", {id: "over-time-hint"});
  let chosen = "";
  const rest = () => { under.textContent = chosen || all; };
  rangeOf(picture, found, {choose, leave, tell: (text) => { chosen = text; rest(); }});
  hints(picture, hint);
  picture.addEventListener("pointermove", (event) => {
    const at = Math.min(found.bars.length - 1, Math.floor(placeOf(picture, event) * found.bars.length));
    under.textContent = `${moment(found.start_ms + at * found.step_ms)}: ${about}${count(found.bars[at])}`;
  });
  picture.addEventListener("pointerleave", rest);
  return h("figure", {class: "over-time"},
    h("figcaption", {class: "faint"}, under, hint),
    h("div", {class: "plot"},
      h("div", {class: "axis-y", "aria-hidden": "true"}, h("span", {}, count(top)), h("span", {}, "0")),
      h("div", {class: "field-of-view"}, picture),
      h("div", {class: "axis-x placed", "aria-hidden": "true"}, ticks(found.start_ms, end))));
}

// The hint for a pointer, or, if the focus came by Tab, for keys.
function hints(picture, hint) {
  const say = () => { hint.textContent = picture.matches(":focus-visible") ? KEYS_HINT : "Drag over the bars to choose a range of time, or fill in From and To."; };
  for (const event of ["focus", "blur", "keydown"]) picture.addEventListener(event, say);
  say();
}

function columns(found, top) {
  const step = WIDTH / found.bars.length;
  return found.bars.map((value, at) => {
    const tall = value ? Math.max(2, (value / top) * HEIGHT) : 0;
    return svg("rect", {x: at * step + step * 0.08, y: HEIGHT - tall, width: step * 0.84, height: tall, class: "bar"});
  });
}

const SECOND = 1000;
const DAY = 86400 * SECOND;
const STEPS = [0.001, 0.01, 0.1, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200].map((s) => s * SECOND).concat([1, 2, 7, 30, 90, 365, 3650].map((d) => d * DAY));
const MOST_TICKS = 8;

// Labels at round times, at their place on the axis.
function ticks(start, end) {
  const step = STEPS.find((one) => (end - start) / one <= MOST_TICKS) ?? end - start;
  const found = [];
  for (let at = Math.ceil(start / step) * step; at <= end && found.length <= MOST_TICKS; at += step) {
    const place = (at - start) / (end - start);
    if (place < 0.03 || place > 0.97) continue;
    const label = h("span", {}, tickText(at, step));
    label.style.left = `${place * 100}%`;
    found.push(label);
  }
  return found;
}

function tickText(at, step) {
  const text = moment(at);
  if (step >= DAY) return text.slice(0, 10);
  return step >= 60 * SECOND ? text.slice(11, 16) : step >= SECOND ? text.slice(11, 19) : text.slice(11);
}
