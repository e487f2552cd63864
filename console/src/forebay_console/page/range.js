// A range of time in a picture of bars: drawn with a pointer, or chosen with keys.
//
//   ← →          one bar back or forward; Page keys: ten; Home, End: to either end
//   Shift + ← →  narrower or wider
//   Enter        show the entries in it
//   Esc          clear the range; once more: all times again
//
// To a screen reader the picture is a slider: its text says the times of the range and how many entries it has.

import {svg} from "/page/dom.js";
import {many, moment} from "/page/words.js";

const STEPS = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity};
export const KEYS_HINT = "← → move the range, with Shift they resize it, Enter shows its entries, Esc clears it.";

// ``choose(fromMs, toMs)``: show a range.  ``leave()``: show all again.  ``tell(text)``: say what is chosen, "" for nothing.
export function rangeOf(picture, found, {choose, leave, tell}) {
  const {width, height} = picture.viewBox.baseVal;
  const shade = svg("rect", {x: 0, y: 0, width: 0, height, class: "chosen"});
  const state = {chosen: null};
  const bars = [...picture.children];
  const draw = (from, to) => {
    const [low, high] = [Math.min(from, to), Math.max(from, to)];
    shade.setAttribute("x", low * width);
    shade.setAttribute("width", (high - low) * width);
    const isOut = (at) => low < high && (at < low || at > high);
    bars.forEach((bar, at) => bar.classList.toggle("out", isOut((at + 0.5) / bars.length)));
  };
  const set = (chosen) => {
    state.chosen = chosen;
    draw(...(chosen ? [chosen[0] / bars.length, (chosen[1] + 1) / bars.length] : [0, 0]));
    const text = chosen ? toldOf(found, chosen) : "";
    picture.setAttribute("aria-valuenow", chosen?.[0] ?? 0);
    picture.setAttribute("aria-valuetext", text || "no range is chosen");
    tell(text);
  };
  picture.prepend(shade);
  keys(picture, found, state, {set, choose, leave});
  dragging(picture, found, {draw, choose, clear: () => set(null)});
  set(null);
}

function toldOf(found, [first, last]) {
  const sum = found.bars.slice(first, last + 1).reduce((all, value) => all + value, 0);
  const [from, to] = [first, last + 1].map((bar) => moment(found.start_ms + bar * found.step_ms));
  return `${from} to ${to}: ${found.is_exact ? "" : "about "}${many(sum, "entry", "entries")}`;
}

function keys(picture, found, state, {set, choose, leave}) {
  const actions = {
    Enter: () => state.chosen && choose(...timesOf(found, state.chosen)),
    Escape: () => (state.chosen ? set(null) : leave()),
  };
  picture.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = STEPS[event.key];
    if (by) set(moved(state.chosen, by, event.shiftKey, found.bars.length - 1));
    else if (event.key in actions) actions[event.key]();
    else return;
    event.preventDefault();
  });
}

// The first and the last millisecond of a range: they cover the entries that its bars have counted.
function timesOf(found, [first, last]) {
  return [found.start_ms + first * found.step_ms, found.start_ms + (last + 1) * found.step_ms - 1];
}

// The range after a key: moved or widened by ``by`` bars; the first key chooses the bar at the end that it moves away from.
function moved(chosen, by, isWider, end) {
  const within = (value, least, most) => Math.min(most, Math.max(least, value));
  if (!chosen) return Array(2).fill(by === 1 || by === 10 || by === -Infinity ? 0 : end);
  const [first, last] = chosen;
  if (isWider) return [first, within(last + by, first, end)];
  const step = within(by, -first, end - last);
  return [first + step, last + step];
}

export function placeOf(picture, event) {
  const box = picture.getBoundingClientRect();
  return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
}

function dragging(picture, found, {draw, choose, clear}) {
  let begun = null;
  picture.addEventListener("pointerdown", (event) => {
    begun = placeOf(picture, event);
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointermove", (event) => { if (begun !== null) draw(begun, placeOf(picture, event)); });
  picture.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    const ended = placeOf(picture, event);
    const [from, to] = [Math.min(begun, ended), Math.max(begun, ended)];
    begun = null;
    const whole = found.step_ms * found.bars.length;
    if (to - from < 0.005) return clear();
    choose(Math.floor(found.start_ms + from * whole), Math.ceil(found.start_ms + to * whole));
  });
}
