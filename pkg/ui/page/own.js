// The kinds that CustomResourceDefinitions make: they come and go while the page is open.

import { Sorted, find, make } from "./dom.js";
import * as objects from "./objects.js";
import { Copy } from "./reflector.js";
import { Rows } from "./views.js";

/** Own draws a list of objects for each kind, and keeps their copies by the name of the definition, as the other copies are. */
export class Own {
  constructor(root, definitions, copies, filter, open, follow) {
    Object.assign(this, { root, definitions, copies, filter, open, follow });
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
      const copy = new Copy(path, objects.own(name), this.definitions.changed);
      const list = make("section", {}, make("h3", { text: this.definitions.objects.get(key).title }), make("ul", { className: "rows" }));
      this.copies[name] = copy;
      this.kinds.set(key, { copy, rows: new Rows(list, this.copies, this.filter, this.open) });
      this.lists.add(key, list);
      this.follow(name, copy);
    }
    this.root.hidden = !this.kinds.size;
  }

  /** draw draws what has changed, and tells the keys and the names of their kinds. */
  draw(told) {
    for (const key of this.definitions.take()) this.drawKind(key);
    for (const [of, { copy, rows }] of this.kinds) {
      const name = objects.nameIn(of);
      for (const key of copy.take()) {
        rows.draw(key, name);
        told(key, name);
      }
    }
  }

  refilter() {
    for (const { rows } of this.kinds.values()) rows.refilter();
  }

  get hidden() {
    return [...this.kinds.values()].reduce((sum, { rows }) => sum + rows.hidden, 0);
  }
}
