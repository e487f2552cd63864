// Elements.  Everything from a server becomes a text node: nothing is ever parsed as HTML.

// h("td", {class: "number", onclick: f}, "text", element, ...): an element.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list" && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...present(children));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...present(children));
  return element;
}

function present(children) {
  return children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);
}

export function show(place, ...children) {
  place.replaceChildren(...present(children));
}

// Like show, for content that changes each second: equal nodes stay, and keep focus, hover and selected text.
// Elements with a data-key are found again when their order changes.  Nodes that stay keep their old handlers.
export function patch(place, ...children) {
  const wanted = present(children).map((child) => (child instanceof Node ? child : document.createTextNode(child)));
  wanted.forEach((next, at) => {
    bringHere(place, next, at);
    const now = place.childNodes[at];
    if (!now) place.append(next);
    else if (now.isEqualNode(next)) return;
    else if (isAlike(now, next)) become(now, next);
    else now.replaceWith(next);
  });
  while (place.childNodes.length > wanted.length) place.lastChild.remove();
}

function bringHere(place, next, at) {
  const key = next.dataset?.key;
  const now = place.childNodes[at];
  if (!key || !now || now.dataset?.key === key) return;
  const old = [...place.children].find((child) => child.dataset.key === key);
  if (old) (place.moveBefore ?? place.insertBefore).call(place, old, now);
}

function isAlike(now, next) {
  return now.nodeType === Node.ELEMENT_NODE && now.nodeName === next.nodeName && now.dataset?.key === next.dataset?.key;
}

function become(now, next) {
  for (const {name} of [...now.attributes]) if (!next.hasAttribute(name)) now.removeAttribute(name);
  for (const {name, value} of next.attributes) if (name !== "style" && now.getAttribute(name) !== value) now.setAttribute(name, value);
  if (now.style.cssText !== next.style.cssText) now.style.cssText = next.style.cssText;  // our content policy forbids the attribute
  patch(now, [...next.childNodes]);
}

export function later(action, ms = 250) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(action, ms); };
}
