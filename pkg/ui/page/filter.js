// What the page hides: by a part of the name, by namespace, and by labels.

import { label } from "./objects.js";

const name = "[\\w./-]+";
const forms = [
  [new RegExp(`^(${name})\\s*==?\\s*([\\w.-]*)$`), (key, value) => (labels) => labels[key] === value],
  [new RegExp(`^(${name})\\s*!=\\s*([\\w.-]*)$`), (key, value) => (labels) => labels[key] !== value],
  [new RegExp(`^(${name})\\s+in\\s*\\(([^()]*)\\)$`), (key, values) => (labels) => list(values).includes(labels[key])],
  [new RegExp(`^(${name})\\s+notin\\s*\\(([^()]*)\\)$`), (key, values) => (labels) => !list(values).includes(labels[key])],
  [new RegExp(`^(${name})$`), (key) => (labels) => key in labels],
  [new RegExp(`^!\\s*(${name})$`), (key) => (labels) => !(key in labels)],
];

const list = (values) => values.split(",").map((value) => value.trim());

/** parseSelector returns what labels must fulfil, or undefined if the text is no label selector as kubectl takes one. */
export function parseSelector(text) {
  const all = [];
  for (const one of text.split(/,(?![^(]*\))/).map((one) => one.trim())) {
    if (!one) continue;
    const [pattern, requirement] = forms.find(([pattern]) => pattern.test(one)) || [];
    if (!pattern) return undefined;
    all.push(requirement(...pattern.exec(one).slice(1)));
  }
  return all;
}

/** Filter is what somebody has written into the fields of a form. An unfinished selector changes nothing. */
export class Filter {
  part = "";
  namespace = "";
  requirements = [];
  trouble = ""; // what is wrong with what was written

  constructor(form, changed) {
    this.form = form;
    form.onsubmit = (submitted) => submitted.preventDefault();
    form.oninput = () => {
      const parsed = parseSelector(form.selector.value);
      form.selector.ariaInvalid = String(!parsed);
      this.trouble = parsed ? "" : "That is no label selector. One is: app=web, tier!=test, zone in (a,b), !old";
      this.requirements = parsed || this.requirements;
      this.part = form.part.value.trim();
      this.namespace = form.namespace.value;
      changed();
    };
  }

  get isActive() {
    return Boolean(this.part || this.namespace || this.requirements.length);
  }

  clear() {
    this.form.reset();
    this.form.oninput();
  }

  /** matches takes what is kept of an object, or another with a name, a namespace and labels. */
  matches(object) {
    if (this.namespace && object.namespace !== this.namespace) return false;
    if (this.part && !label(object).includes(this.part)) return false;
    return this.requirements.every((fulfils) => fulfils(object.labels || {}));
  }
}
