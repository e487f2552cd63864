// Small pictures: a curve, bars, bars whose range can be chosen with the mouse or the keyboard.

import {h, svg, count, moment} from "/page/dom.js";

// A curve without axes, for a line of a table.
export function spark(values, {width = 96, height = 24, label = ""} = {}) {
  const picture = svg("svg", {viewBox: `0 0 ${width} ${height}`, class: "spark", role: "img", "aria-label": label, preserveAspectRatio: "none"});
  if (values.length === 1) return spark([values[0], values[0]], {width, height, label});
  if (!values.length) return picture;
  const top = Math.max(...values, 1e-9);
  const step = width / (values.length - 1);
  const points = values.map((value, at) => [at * step, height - 2 - (value / top) * (height - 4)]);
  const line = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  picture.append(
    svg("polygon", {points: `0,${height} ${line} ${width},${height}`, class: "area"}),
    svg("polyline", {points: line, class: "line"}),
  );
  return picture;
}

// A larger curve with its greatest and its newest value.
export function curve(title, values, format) {
  const newest = values.length ? format(values[values.length - 1]) : "no samples yet";
  const most = values.length ? format(Math.max(...values)) : "";
  return h("figure", {class: "curve"},
    h("figcaption", {}, h("span", {}, title), h("strong", {}, newest)),
    spark(values, {width: 320, height: 72, label: `${title}: now ${newest}, at most ${most}`}),
    h("div", {class: "faint"}, most ? `at most ${most}` : ""));
}

// Bars with labels under them.
export function bars(title, labels, values) {
  const top = Math.max(...values, 1);
  return h("figure", {class: "bars"},
    h("figcaption", {}, title),
    h("div", {class: "columns", role: "list"}, values.map((value, at) => {
      const bar = h("div", {class: "bar"});
      bar.style.height = `${value ? Math.max(2, (value / top) * 100) : 0}%`;
      return h("div", {class: "column", role: "listitem", "aria-label": `${labels[at]}: ${value}`},
        h("span", {class: "faint"}, value ? count(value) : ""), h("div", {class: "room"}, bar), h("span", {class: "faint"}, labels[at]));
    })));
}

// Entries over time; ``choose(fromMs, toMs)`` is called when a range was drawn.
export function histogram(found, choose) {
  const width = 960;
  const height = 84;
  const picture = svg("svg", {viewBox: `0 0 ${width} ${height}`, class: "histogram", preserveAspectRatio: "none"});
  const top = Math.max(...found.bars, 1);
  const step = width / found.bars.length;
  found.bars.forEach((value, at) => {
    const tall = value ? Math.max(2, (value / top) * (height - 4)) : 0;
    const bar = svg("rect", {x: at * step + 0.5, y: height - tall, width: Math.max(1, step - 1), height: tall, class: "bar"});
    bar.append(svg("title", {}, `${moment(found.start_ms + at * found.step_ms)}: ${found.is_exact ? "" : "about "}${count(value)}`));
    picture.append(bar);
  });
  const chosen = svg("rect", {x: 0, y: 0, width: 0, height, class: "chosen"});
  picture.append(chosen);
  dragging(picture, chosen, width, found, choose);
  const end = found.start_ms + found.step_ms * found.bars.length;
  return h("figure", {class: "over-time"},
    picture,
    h("figcaption", {class: "faint"},
      h("span", {}, moment(found.start_ms)),
      h("span", {}, `${found.is_exact ? "" : "about "}${count(found.bars.reduce((sum, value) => sum + value, 0))} entries; draw a range to look into it`),
      h("span", {}, moment(end))));
}

function dragging(picture, chosen, width, found, choose) {
  let begun = null;
  const place = (event) => {
    const box = picture.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const draw = (from, to) => {
    chosen.setAttribute("x", Math.min(from, to) * width);
    chosen.setAttribute("width", Math.abs(to - from) * width);
  };
  picture.addEventListener("pointerdown", (event) => {
    begun = place(event);
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointermove", (event) => { if (begun !== null) draw(begun, place(event)); });
  picture.addEventListener("pointerup", (event) => {
    const ended = place(event);
    const [from, to] = [Math.min(begun, ended), Math.max(begun, ended)];
    begun = null;
    const whole = found.step_ms * found.bars.length;
    if (to - from < 0.005) return draw(0, 0);
    choose(Math.floor(found.start_ms + from * whole), Math.ceil(found.start_ms + to * whole));
  });
}
