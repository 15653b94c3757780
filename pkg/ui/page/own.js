// The kinds that CustomResourceDefinitions make: they come and go while the page is open.

import { Sorted, find, make } from "./dom.js";
import * as objects from "./objects.js";
import { Copy } from "./reflector.js";
import { Rows } from "./views.js";

/** Own has a list of objects for each definition, and a copy and a view of them by its name, as those of other kinds are. */
export class Own {
  constructor(root, copies, views, filter, open, follow) {
    Object.assign(this, { root, copies, views, filter, open, follow });
    this.lists = new Sorted(find(".columns", root));
  }

  /** change begins to follow a kind that is served, and ends with one that is not. */
  change(key) {
    const { definitions } = this.copies;
    const { path = "", title } = definitions.objects.get(key) || {};
    const name = objects.nameIn(key);
    const before = this.copies[name];
    if ((before?.path || "") === path) return;
    if (before) {
      before.ended = true;
      delete this.copies[name];
      delete this.views[name];
      this.lists.remove(key);
    }
    if (path) {
      const list = this.lists.add(key, make("section", {}, make("h3", { text: title }), make("ul", { className: "rows" })));
      this.copies[name] = new Copy(path, objects.own(name), definitions.changed);
      this.views[name] = new Rows(list, this.copies, this.filter, this.open);
      this.follow(name, this.copies[name]);
    }
    this.root.hidden = !this.lists.size;
  }
}
