// Small helpers for the page's elements. Text only ever becomes text.

export const find = (selector, within = document) => within.querySelector(selector);

/** make returns a new element with a class, a text, a state, and children. */
export function make(tag, { className = "", text = "", state, ...properties } = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  if (className) element.className = className;
  if (text) element.textContent = text;
  if (state) element.dataset.state = state;
  element.append(...children);
  return element;
}

/** write changes a text if it is another one, for that costs less than to draw it again. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** fill replaces children only if what they say is another, so that the focus and what is selected stay. */
export function fill(element, says, children) {
  const text = JSON.stringify(says);
  if (element.says === text) return;
  element.says = text;
  element.replaceChildren(...children());
}

/** age returns an element with the age of a time, in milliseconds or as the server writes it. */
export function age(at) {
  const time = new Date(at ?? NaN);
  if (isNaN(time)) return make("span", { text: "unknown" });
  return make("time", { dateTime: time.toISOString(), title: time.toLocaleString(), text: ageInWords(time) });
}

/** drawAges lets all ages be those of now. */
export function drawAges() {
  for (const time of document.querySelectorAll("time")) write(time, ageInWords(new Date(time.dateTime)));
}

function ageInWords(time) {
  const seconds = Math.max(0, Math.floor((Date.now() - time) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86400)}d`;
}

/** Keys are different keys in order. */
export class Keys {
  keys = [];

  get size() {
    return this.keys.length;
  }

  add(key) {
    this.keys.splice(this.find(key), 0, key);
  }

  remove(key) {
    this.keys.splice(this.find(key), 1);
  }

  /** find returns where a key is, or would be. */
  find(key) {
    let [low, high] = [0, this.keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (inOrder(this.keys[middle], key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Sorted is the children of an element, each under a key, in the order of the keys. */
export class Sorted extends Keys {
  constructor(element) {
    super();
    this.element = element;
    this.children = new Map();
  }

  get(key) {
    return this.children.get(key);
  }

  add(key, child) {
    this.element.insertBefore(child, this.children.get(this.keys[this.find(key)]) || null);
    super.add(key);
    this.children.set(key, child);
    return child;
  }

  remove(key) {
    const child = this.children.get(key);
    if (!child) return;
    child.remove();
    this.children.delete(key);
    super.remove(key);
  }
}

const collator = new Intl.Collator("en", { numeric: true });

/** inOrder compares names as people do: node-2 is before node-10. */
const inOrder = (a, b) => collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
