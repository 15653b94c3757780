// How each kind of object is drawn. A view draws one object anew, by its key, when it has changed.

import { Sorted, find, make, write } from "./dom.js";
import { label } from "./objects.js";

/** podsInWords says a number of pods. */
export const podsInWords = (count) => (count === 1 ? "1 pod" : `${count} pods`);

/** Machines draws a card for each machine, and a button for each pod on it. */
export class Machines {
  constructor(root, nodes, pods, matches, open) {
    Object.assign(this, { nodes, pods, matches, open });
    this.cards = new Sorted(find(".cards", root));
    this.lists = new Map(); // the pods of each card
    this.places = new Map(); // of each pod
  }

  /** drawCard draws a machine, or "" for none. One that is gone goes with its last pod. */
  drawCard(name) {
    const node = this.nodes.objects.get(`/${name}`);
    const list = this.list(name);
    if (!node && !list.size) {
      this.cards.remove(name);
      this.lists.delete(name);
      return;
    }
    const card = this.cards.get(name) || this.cards.add(name, this.makeCard(name || "no machine yet", list.element));
    card.dataset.state = node?.state || (name ? "bad" : "waiting");
    write(find(".words", card), node?.words || (name ? "gone" : ""));
    write(find(".size", card), podsInWords(list.size));
  }

  makeCard(title, pods) {
    const card = make("article", { className: "card" }, make("h3", { text: title }), make("p", {}, make("span", { className: "words" }), make("span", { className: "size" })), pods);
    card.setAttribute("aria-label", title);
    return card;
  }

  /** list returns the pods of a machine. */
  list(name) {
    if (!this.lists.has(name)) this.lists.set(name, new Sorted(make("div", { className: "pods" })));
    return this.lists.get(name);
  }

  drawPod(key) {
    const pod = this.pods.objects.get(key);
    const place = this.places.get(key);
    if (place !== undefined && place !== pod?.node) {
      this.list(place).remove(key);
      this.places.delete(key);
      this.drawCard(place);
    }
    if (!pod) return;
    if (!this.places.has(key)) {
      this.places.set(key, pod.node);
      this.list(pod.node).add(key, this.makePod(key, pod));
      this.drawCard(pod.node);
    }
    const button = this.list(pod.node).get(key);
    button.dataset.state = pod.state;
    write(button.lastChild, pod.words === "Running" ? "" : pod.words);
    button.hidden = !this.matches(key);
  }

  makePod(key, pod) {
    const button = make("button", { type: "button", className: "pod" }, make("span", { text: label(pod) }), " ", make("small"));
    button.onclick = () => this.open(key, "pods");
    return button;
  }

  filter() {
    for (const list of this.lists.values()) for (const [key, button] of list.children) button.hidden = !this.matches(key);
  }
}

/** Rows draws a row for each object of a kind: its name, a word, and what else a function adds. */
export class Rows {
  constructor(root, copy, matches, open, extend) {
    Object.assign(this, { copy, matches, open, extend });
    this.rows = new Sorted(find(".rows", root));
  }

  draw(key) {
    const object = this.copy.objects.get(key);
    if (!object) return this.rows.remove(key);
    const row = this.rows.get(key) || this.rows.add(key, this.row(key, object));
    row.dataset.state = object.state || "good";
    write(find(".words", row), object.words);
    row.hidden = !this.matches(key);
    this.extend.draw(row, key, object);
  }

  row(key, object) {
    const name = make("button", { type: "button", className: "name", text: label(object) });
    name.onclick = () => this.open(key, object.kind);
    const row = make("li", {}, name, make("span", { className: "words" }));
    this.extend.add(row, key, object);
    return row;
  }

  filter() {
    for (const [key, row] of this.rows.children) row.hidden = !this.matches(key);
  }
}

/** scaler lets a row of a controller be scaled. What somebody writes is not overwritten. */
export const scaler = (scale) => ({
  add(row, key, controller) {
    const replicas = make("input", { type: "number", name: "replicas", min: "0", max: "5000", required: true });
    replicas.setAttribute("aria-label", `pods wanted of ${label(controller)}`);
    const form = make("form", {}, replicas, make("button", { text: "Scale" }));
    form.onsubmit = (submitted) => {
      submitted.preventDefault();
      scale(controller, replicas.valueAsNumber);
    };
    row.append(form);
  },
  draw(row, key, { wanted }) {
    const replicas = find("input", row);
    if (replicas !== document.activeElement) replicas.value = wanted;
  },
});

/** targets shows where the connections to a service go: some of them, if they are many. */
export const targets = (endpoints) => ({
  add: (row) => row.append(make("span", { className: "targets" })),
  draw(row, key) {
    const { ready = [], notReady = [] } = endpoints.objects.get(key) || {};
    const shown = ready.slice(0, 20).join(" ");
    const more = ready.length > 20 ? ` and ${ready.length - 20} more` : "";
    write(find(".targets", row), (ready.length ? `to ${shown}${more}` : "to nobody") + (notReady.length ? `, ${notReady.length} not ready` : ""));
    row.dataset.state = ready.length ? "good" : "waiting";
  },
});

/** Stream draws the newest events, the newest first. */
export class Stream {
  constructor(root, copy, most) {
    Object.assign(this, { copy, most });
    this.list = find(".rows", root);
  }

  draw() {
    const newest = [...this.copy.objects.values()].sort((a, b) => b.at - a.at || (a.version < b.version ? 1 : -1)).slice(0, this.most);
    this.list.replaceChildren(...newest.map((event) => this.row(event)));
  }

  row({ at, type, about, reason, message, count }) {
    const row = make("li", {}, make("time", { text: new Date(at).toLocaleTimeString() }), make("b", { text: reason }), make("span", { className: "words", text: about }));
    row.append(make("span", { text: count > 1 ? `${message} (${count} times)` : message }));
    row.dataset.state = type === "Warning" ? "bad" : "good";
    return row;
  }
}
