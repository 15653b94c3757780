// Small helpers for the page's elements. Text only ever becomes text.

export const find = (selector, within = document) => within.querySelector(selector);

/** make returns a new element with a class, a text, and children. */
export function make(tag, { className = "", text = "", ...properties } = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  if (className) element.className = className;
  if (text) element.textContent = text;
  element.append(...children);
  return element;
}

/** write changes a text if it is another one, for that costs less than to draw it again. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sorted is the children of an element, each under a key, in the order of the keys. */
export class Sorted {
  constructor(element) {
    this.element = element;
    this.keys = [];
    this.children = new Map();
  }

  get size() {
    return this.keys.length;
  }

  get(key) {
    return this.children.get(key);
  }

  add(key, child) {
    const at = this.find(key);
    this.element.insertBefore(child, this.children.get(this.keys[at]) || null);
    this.keys.splice(at, 0, key);
    this.children.set(key, child);
    return child;
  }

  remove(key) {
    const child = this.children.get(key);
    if (!child) return;
    child.remove();
    this.children.delete(key);
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

const collator = new Intl.Collator("en", { numeric: true });

/** inOrder compares names as people do: node-2 is before node-10. */
const inOrder = (a, b) => collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
