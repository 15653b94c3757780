// The kinds that CustomResourceDefinitions make: they come and go while the page is open.

import { Sorted, find, make } from "./dom.js";
import * as objects from "./objects.js";
import { Copy } from "./reflector.js";
import { Rows } from "./views.js";

const plain = { add() {}, draw() {} };

/** Own draws a list of objects for each kind, and keeps their copies by the name of the definition, as the other copies are. */
export class Own {
  constructor(root, definitions, copies, matches, open, follow) {
    Object.assign(this, { root, definitions, copies, matches, open, follow });
    this.lists = new Sorted(find(".columns", root));
    this.kinds = new Map(); // the copy and the rows of each, by the key of the definition
  }

  /** drawKind begins to follow a kind that is served, and ends with one that is not. */
  drawKind(key) {
    const name = objects.nameIn(key);
    const path = this.definitions.objects.get(key)?.path || "";
    const kind = this.kinds.get(key);
    if (kind?.copy.path === path) return;
    if (kind) {
      kind.copy.ended = true;
      this.kinds.delete(key);
      this.lists.remove(key);
      delete this.copies[name];
    }
    if (path) {
      const { changed } = this.definitions;
      const copy = new Copy(path, (object) => objects.own(object, name, path), changed);
      const list = make("section", {}, make("h3", { text: this.definitions.objects.get(key).title }), make("ul", { className: "rows" }));
      this.kinds.set(key, { copy, rows: new Rows(list, copy, this.matches, this.open, plain) });
      this.lists.add(key, list);
      this.copies[name] = copy;
      this.follow(name, copy);
    }
    this.root.hidden = !this.kinds.size;
  }

  /** draw draws what has changed, and returns the names of the kinds and the keys of their objects. */
  draw() {
    for (const key of this.definitions.take()) this.drawKind(key);
    const drawn = [];
    for (const [of, { copy, rows }] of this.kinds) {
      for (const key of copy.take()) {
        rows.draw(key);
        drawn.push([objects.nameIn(of), key]);
      }
    }
    return drawn;
  }

  filter() {
    for (const { rows } of this.kinds.values()) rows.filter();
  }
}
