// How each kind of object is drawn. A view draws one object anew, by its key, when it has changed.

import { Keys, Sorted, age, find, make, write } from "./dom.js";
import { kindOf, label, nameIn, some } from "./objects.js";

const mostPods = 12; // of a machine that is not unfolded

/** Machines draws a card for each machine, and a button for each pod on it, or for some if they are many. */
export class Machines {
  constructor(root, nodes, pods, filter, open) {
    Object.assign(this, { nodes, pods, filter, open });
    this.sorted = new Sorted(find(".cards", root));
    this.cards = new Map(); // by the name of the machine, "" for none
    this.places = new Map(); // of each pod
    this.changed = new Set(); // cards to draw
  }

  /** card returns what is known of the card of a machine, which is then drawn. */
  card(name) {
    if (!this.cards.has(name)) this.cards.set(name, { pods: new Keys(), buttons: new Map(), isUnfolded: false });
    this.changed.add(name);
    return this.cards.get(name);
  }

  change(key, kind) {
    if (kind === "nodes") return this.card(nameIn(key));
    const pod = this.pods.objects.get(key);
    const place = this.places.get(key);
    if (place !== undefined && place !== pod?.node) {
      this.card(place).pods.remove(key);
      this.places.delete(key);
    }
    if (!pod) return;
    const card = this.card(pod.node);
    if (!this.places.has(key)) card.pods.add(key);
    this.places.set(key, pod.node);
  }

  draw() {
    for (const name of this.changed) this.drawCard(name, this.cards.get(name));
    this.changed.clear();
  }

  /** drawCard draws a machine, or "" for none. One that is gone goes with its last pod. */
  drawCard(name, card) {
    const node = this.nodes.objects.get(`/${name}`);
    if (!node && !card.pods.size) {
      this.sorted.remove(name);
      this.cards.delete(name);
      return;
    }
    if (!card.element) {
      card.element = this.makeCard(name, card);
      this.sorted.add(name, card.element);
    }
    card.element.dataset.state = node?.state || (name ? "bad" : "waiting");
    write(find(".words", card.element), node?.words || (name ? "gone" : ""));
    write(find(".size", card.element), some(card.pods.size, "pods"));
    this.drawPods(card);
  }

  drawPods(card) {
    const all = card.pods.keys.filter((key) => this.filter.matches(this.pods.objects.get(key)));
    const shown = card.isUnfolded ? all : this.first(all);
    const wanted = new Set(shown);
    for (const [key, button] of card.buttons) {
      if (wanted.has(key)) continue;
      button.remove();
      card.buttons.delete(key);
    }
    const list = find(".pods", card.element);
    let next = list.firstChild;
    for (const key of shown) {
      const pod = this.pods.objects.get(key);
      let button = card.buttons.get(key);
      if (!button) card.buttons.set(key, (button = this.makePod(key, pod)));
      if (button === next) next = next.nextSibling;
      else list.insertBefore(button, next);
      if (button.dataset.state !== pod.state) button.dataset.state = pod.state;
      write(button.lastChild, pod.words === "Running" ? "" : pod.words);
    }
    const more = find(".more", card.element);
    more.hidden = all.length <= mostPods;
    more.ariaExpanded = String(card.isUnfolded);
    write(more, card.isUnfolded ? "fewer" : `${all.length - shown.length} more`);
  }

  /** first returns as many pods as are shown of a machine. What is wrong is shown first, but at its place. */
  first(keys) {
    if (keys.length <= mostPods) return keys;
    const isBad = (key) => this.pods.objects.get(key).state === "bad";
    const chosen = new Set([...keys.filter(isBad), ...keys.filter((key) => !isBad(key))].slice(0, mostPods));
    return keys.filter((key) => chosen.has(key));
  }

  makeCard(name, card) {
    const title = name ? make("button", { type: "button", className: "name", text: name, onclick: () => this.open(`/${name}`, "nodes") }) : "no machine yet";
    const more = make("button", { type: "button", className: "more" });
    more.onclick = () => {
      card.isUnfolded = !card.isUnfolded;
      this.changed.add(name);
      this.nodes.changed();
    };
    const element = make("article", { className: "card", ariaLabel: name || title }, make("h3", {}, title));
    element.append(make("p", {}, make("span", { className: "words" }), make("span", { className: "size" })), make("div", { className: "pods" }), more);
    return element;
  }

  makePod(key, pod) {
    return make("button", { type: "button", className: "pod", onclick: () => this.open(key, "pods") }, make("span", { text: label(pod) }), " ", make("small"));
  }

  /** refilter draws all that a filter may hide. */
  refilter() {
    for (const name of this.cards.keys()) this.changed.add(name);
  }

  get hidden() {
    return [...this.pods.objects.values()].filter((pod) => !this.filter.matches(pod)).length;
  }
}

/**
 * Rows draws a row for each object of some kinds, or below the row of its owner, if there is one: its name, a
 * word, and what else functions of its kind add.
 */
export class Rows {
  constructor(root, copies, filter, open, extensions = {}) {
    Object.assign(this, { copies, filter, open, extensions });
    this.top = new Sorted(find(".rows", root));
    this.below = new Map(); // the list below an owner, by its uid
    this.rows = new Map(); // by name and kind, which is also their order
  }

  change(key, kind) {
    const id = `${key} ${kind}`;
    const object = this.copies[kind]?.objects.get(key);
    let row = this.rows.get(id);
    if (row && row.object.uid !== object?.uid) {
      this.remove(row);
      row = undefined;
    }
    if (!object) return;
    if (!row) row = this.add(id, key, object);
    row.object = object;
    this.place(row);
    row.element.dataset.state = object.state;
    write(row.words, object.words);
    this.extensions[kind]?.draw(row.element, key, object);
    this.hide(row);
  }

  add(id, key, object) {
    const name = make("button", { type: "button", className: "name", text: label(object), onclick: () => this.open(key, object.kind) });
    const words = make("span", { className: "words" });
    const element = make("li", {}, name, words);
    const row = { id, object, element, words };
    this.rows.set(id, row);
    this.extensions[object.kind]?.add(element, key, object);
    if (this.extensions[object.kind]?.hasBelow) {
      const list = element.appendChild(make("ul", { className: "below", ariaLabel: `of ${label(object)}` }));
      this.below.set(object.uid, new Sorted(list));
      this.placeAll(object.uid);
    }
    return row;
  }

  remove(row) {
    row.home.remove(row.id);
    this.rows.delete(row.id);
    if (this.below.delete(row.object.uid)) this.placeAll(row.object.uid);
  }

  /** placeAll places what an owner has, which may have come before it, and may stay without it. */
  placeAll(owner) {
    for (const row of this.rows.values()) {
      if (row.home && row.object.owner === owner) {
        this.place(row);
        this.hide(row);
      }
    }
  }

  place(row) {
    const home = this.below.get(row.object.owner) || this.top;
    if (row.home === home) return;
    row.home?.remove(row.id);
    home.add(row.id, row.element);
    row.home = home;
  }

  hide({ element, home, object }) {
    element.hidden = home === this.top ? !this.filter.matches(object) : object.isOld;
  }

  refilter() {
    for (const row of this.rows.values()) this.hide(row);
  }

  get hidden() {
    return [...this.rows.values()].filter(({ element, home }) => element.hidden && home === this.top).length;
  }
}

/** workload says what a row of pods' owners is of, and lets it be scaled if it can. What somebody writes is not overwritten. */
export const workload = (scale, hasBelow = false) => ({
  hasBelow,
  add(row, key, object) {
    row.append(make("small", { className: "what" }));
    if (!scale) return;
    const replicas = make("input", { type: "number", name: "replicas", min: "0", max: "5000", required: true, ariaLabel: `pods wanted of ${label(object)}` });
    const form = make("form", {}, replicas, make("button", { text: "Scale" }));
    form.onsubmit = (submitted) => {
      submitted.preventDefault();
      scale(object, replicas.valueAsNumber);
    };
    row.append(form);
  },
  draw(row, key, { kind, wanted, image, revision }) {
    write(find(".what", row), [kindOf(kind) + (revision ? `, revision ${revision}` : ""), image].filter(Boolean).join(", "));
    const replicas = scale && find("input", row);
    if (replicas && replicas !== document.activeElement) replicas.value = wanted;
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
  constructor(root, copies, filter, most) {
    Object.assign(this, { copies, filter, most });
    this.list = find(".rows", root);
  }

  change = () => (this.isStale = true);

  refilter = this.change;

  draw() {
    if (!this.isStale) return;
    this.isStale = false;
    const newest = [...this.copies.events.objects.values()].filter((event) => this.matches(event)).sort((a, b) => b.at - a.at || (a.version < b.version ? 1 : -1));
    this.list.replaceChildren(...newest.slice(0, this.most).map(eventRow));
  }

  /** matches asks about the object of an event, whose labels are known if it is still there. */
  matches({ about }) {
    const object = this.copies[`${about.kind.toLowerCase()}s`]?.objects.get(`${about.namespace || ""}/${about.name}`);
    return this.filter.matches(object || about);
  }
}

/** eventRow is what an event says. */
export function eventRow({ at, type, about, reason, message, count }) {
  const row = make("li", { state: type === "Warning" ? "bad" : "good" }, age(at), make("b", { text: reason }));
  if (about) row.append(make("span", { className: "words", text: `${about.kind.toLowerCase()} ${label(about)}` }));
  row.append(make("span", { text: count > 1 ? `${message} (${count} times)` : message }));
  return row;
}
