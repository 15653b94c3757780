// The dialog of one object: what the server says of it now, its events and its log, and what it belongs to.

import { read, request } from "./api.js";
import { age, fill, find, make, write } from "./dom.js";
import * as objects from "./objects.js";
import { eventRow } from "./views.js";
import { yaml } from "./yaml.js";

const mostLines = 1000; // of a log
const mostText = 1 << 18; // of a log, in characters
const mostOwned = 100; // buttons

/** Details shows one object at a time, as long as it is there. */
export class Details {
  constructor(dialog, copies, actions) {
    Object.assign(this, { dialog, copies, actions, log: new Log(find(".log", dialog)) });
    dialog.onclose = () => {
      if (dialog.open) return; // again, before this was told
      this.shown = undefined;
      this.log.end();
    };
    find("summary", dialog).parentElement.ontoggle = () => this.drawText();
  }

  /** kept is what the page keeps of the object that is shown. */
  get kept() {
    return this.shown && this.copies[this.shown.kind]?.objects.get(this.shown.key);
  }

  open(key, kind) {
    this.log.end();
    this.shown = { key, kind };
    this.object = undefined;
    this.trouble = "";
    this.events = [];
    for (const part of this.dialog.querySelectorAll("[data-part]")) part.hidden = true;
    this.draw();
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.scrollTop = 0;
    this.refresh();
  }

  /** changed is told of each change, also of events. */
  changed(key, kind) {
    if (!this.shown) return;
    const about = kind === "events" && this.copies.events.objects.get(key)?.about;
    if (about ? about.name === this.kept?.name : key === this.shown.key && kind === this.shown.kind) this.refresh();
  }

  /** refresh asks for the object and its events: once more at the end, if they have changed meanwhile. */
  async refresh() {
    this.isStale = true;
    if (this.isAsking) return;
    this.isAsking = true;
    while (this.isStale && this.kept) {
      this.isStale = false;
      const { shown, kept } = this;
      const about = new URLSearchParams({ fieldSelector: `involvedObject.name=${kept.name}` });
      const path = kept.namespace ? `/api/v1/namespaces/${kept.namespace}/events` : "/api/v1/events";
      try {
        const [object, events] = await Promise.all([request("GET", objects.pathOf(this.copies[shown.kind], kept)), request("GET", `${path}?${about}`).catch(() => ({ items: [] }))]);
        if (this.shown !== shown) continue;
        this.object = object;
        this.events = objects.inCausalOrder(events.items.filter(({ involvedObject }) => involvedObject.kind === object.kind && (!kept.namespace || involvedObject.uid === kept.uid)));
        this.trouble = "";
      } catch (error) {
        this.trouble = error.message; // which may be of an object that has just gone: then its copy goes too
      }
      if (this.shown !== shown) continue;
      this.draw();
      if (shown.kind === "pods" && this.object && this.shown) this.log.follow(objects.pathOf(this.copies.pods, kept), this.object);
    }
    this.isAsking = false;
  }

  draw() {
    if (!this.shown) return;
    const { kept, object } = this;
    if (!kept) return this.dialog.close();
    const { kind } = this.shown;
    write(find("h2", this.dialog), objects.label(kept));
    const note = find(".note", this.dialog);
    write(note, [objects.kindOf(kind), kept.words, this.trouble].filter(Boolean).join(": "));
    note.dataset.state = kept.state || "good";
    this.drawActions(kept);
    this.drawFacts(kept, object);
    this.drawOwned(kept);
    if (!object) return;
    this.part("conditions", (object.status?.conditions || []).map((condition) => [condition.type, condition.status, condition.reason, condition.message, condition.lastTransitionTime]), ([type, status, reason, message, since]) =>
      make("li", {}, make("b", { text: type }), status, make("span", { text: [reason, message].filter(Boolean).join(": ") }), age(since)));
    this.part("containers", containersOf(object), ({ name, image, words, restarts, state }) =>
      make("li", { state }, make("b", { text: name }), make("span", { text: image }), make("span", { className: "words", text: words }), restarts === 1 ? "1 restart" : `${restarts} restarts`));
    this.part("events", this.events.map((event) => ({ ...objects.event(event), version: undefined, about: undefined })), eventRow);
    this.drawText();
  }

  /** part draws a list, and hides it if it is empty. */
  part(name, items, row) {
    const part = find(`[data-part=${name}]`, this.dialog);
    part.hidden = !items.length;
    fill(find("ul, ol", part), items, () => items.map(row));
  }

  /** drawActions keeps the buttons, and so the focus; when one is pressed, the object may be another. */
  drawActions(kept) {
    const list = find(".actions", this.dialog);
    const actions = this.actions(kept);
    actions.forEach(({ text }, at) => {
      const button = list.children[at] || list.appendChild(make("button", { type: "button", onclick: () => this.kept && this.actions(this.kept)[at]?.run() }));
      write(button, text);
      button.className = text === "Delete" ? "danger" : "";
    });
    while (list.children.length > actions.length) list.lastChild.remove();
  }

  drawFacts(kept, object) {
    const facts = object ? factsOf(this.shown.kind, object) : {};
    const owners = this.ownersOf(kept);
    const owner = object && objects.ownerOf(object);
    fill(find("dl", this.dialog), [facts, owners.map(({ uid }) => uid), owner, kept.node], () => {
      const rows = Object.entries(facts).filter(([, fact]) => fact !== undefined).flatMap(([name, fact]) => [make("dt", { text: name }), make("dd", {}, name === "age" ? age(fact) : String(fact))]);
      if (owners.length) rows.push(make("dt", { text: "belongs to" }), make("dd", {}, ...owners.flatMap((one) => [this.link(one, `${objects.kindOf(one.kind)} ${one.name}`), " "])));
      else if (owner) rows.push(make("dt", { text: "belongs to" }), make("dd", { text: `${owner.kind} ${owner.name}` }));
      const { node } = kept;
      const machine = this.copies.nodes.objects.get(`/${node}`);
      if (node !== undefined) rows.push(make("dt", { text: "machine" }), make("dd", {}, machine ? this.link(machine, node) : node || "none yet"));
      return rows;
    });
  }

  /** ownersOf returns the owner of an object, the owner's owner, and so on. */
  ownersOf({ owner }) {
    const one = owner && all(this.copies).find(({ uid }) => uid === owner);
    return one ? [one, ...this.ownersOf(one)] : [];
  }

  drawOwned(kept) {
    const owned = this.shown.kind === "nodes" ? [...this.copies.pods.objects.values()].filter(({ node }) => node === kept.name) : ownedBy(this.copies, kept.uid);
    const part = find("[data-part=owned]", this.dialog);
    part.hidden = !owned.length;
    write(find("h3", part), this.shown.kind === "nodes" ? `Runs ${objects.some(owned.length, "pods")}` : `Has ${inWords(owned)}`);
    const shown = owned.slice(0, mostOwned);
    this.part("owned", shown.map(({ kind, uid, words, state, revision }) => [kind, uid, words, state, revision]), ([kind, uid]) => {
      const one = shown.find((one) => one.uid === uid);
      return make("li", { state: one.state }, this.link(one, objects.label(one)), make("span", { className: "words", text: one.words }), make("small", { text: objects.kindOf(kind) + (one.revision ? `, revision ${one.revision}` : "") }));
    });
    write(find(".note", part), owned.length > mostOwned ? `The first ${mostOwned} are shown.` : "");
  }

  link({ kind, namespace = "", name }, text) {
    return make("button", { type: "button", className: "name", text, onclick: () => this.open(`${namespace}/${name}`, kind) });
  }

  drawText() {
    const part = find("[data-part=text]", this.dialog);
    part.hidden = !this.object;
    if (part.open && this.object) write(find("pre", part), yaml(this.object));
  }
}

const all = (copies) => Object.values(copies).flatMap(({ objects }) => [...objects.values()]);

/** ownedBy returns what an object has, what that has, and so on. */
export function ownedBy(copies, uid) {
  const direct = uid ? all(copies).filter(({ owner }) => owner === uid) : [];
  return direct.flatMap((one) => (one.kind === "pods" ? [one] : [one, ...ownedBy(copies, one.uid)]));
}

/** inWords counts objects by their kinds: 1 replica set and 3 pods. */
export function inWords(all) {
  const counts = new Map();
  for (const { kind } of all) counts.set(kind, (counts.get(kind) || 0) + 1);
  return [...counts].map(([kind, count]) => objects.some(count, kind)).join(" and ");
}

function factsOf(kind, { metadata, spec = {}, status = {} }) {
  const facts = { age: metadata.creationTimestamp, labels: objects.pairs(metadata.labels) };
  switch (kind) {
    case "pods":
      return { ...facts, address: status.podIP || "none yet", message: status.message };
    case "nodes": {
      const { containerRuntimeVersion, kubeletVersion } = status.nodeInfo || {};
      const until = Date.parse(metadata.annotations?.[objects.stopKubelet]);
      return { ...facts, runtime: containerRuntimeVersion, kubelet: until > Date.now() ? `is to be stopped until ${new Date(until).toLocaleTimeString()}` : kubeletVersion,
        "room for": objects.some(Number(status.allocatable?.pods || 0), "pods"), taints: spec.taints?.map(({ key, effect }) => `${key}: ${effect}`).join(", ") };
    }
    case "services":
      return { ...facts, address: spec.clusterIP || "none", port: objects.portsOf({ spec }), selects: objects.pairs(spec.selector) };
    case "cronjobs":
      return { ...facts, schedule: spec.schedule, image: objects.imagesOf(spec.jobTemplate?.spec?.template) };
    default:
      return { ...facts, image: objects.imagesOf(spec.template) || undefined, selects: spec.selector && objects.pairs(spec.selector.matchLabels || spec.selector),
        revision: metadata.annotations?.["deployment.kubernetes.io/revision"] };
  }
}

/** containersOf tells the state of each container of a pod, and why. */
function containersOf({ kind, spec, status = {} }) {
  if (kind !== "Pod") return [];
  const statuses = [...(status.initContainerStatuses || []), ...(status.containerStatuses || [])];
  return [...(spec.initContainers || []), ...spec.containers].map(({ name, image }) => {
    const { state = {}, ready, restartCount = 0, lastState = {} } = statuses.find((status) => status.name === name) || {};
    const [[now, { reason, message, exitCode } = {}] = ["waiting"]] = Object.entries(state);
    const words = [now === "running" && !ready ? "running, not ready" : now, reason, exitCode !== undefined && `exit code ${exitCode}`, message, lastState.terminated && `before: exit code ${lastState.terminated.exitCode}`];
    const isUsual = !reason || ["Completed", "ContainerCreating", "PodInitializing"].includes(reason);
    return { name, image, words: words.filter((word) => word).join(", "), restarts: restartCount, state: !isUsual ? "bad" : exitCode === 0 ? "done" : now === "running" && ready ? "good" : "waiting" };
  });
}

/** Log shows the end of a container's log, and what it writes from then on. */
class Log {
  constructor(root) {
    this.root = root;
    this.text = find("pre", root);
    this.container = find("select", root);
    this.following = find("input", root);
    this.container.onchange = this.following.onchange = () => this.start();
  }

  /** follow is told of each version of the pod: a container that is another than before has another log, and one that has ended may go on. */
  follow(path, { spec, status = {} }) {
    this.root.hidden = false;
    const names = [...spec.containers, ...(spec.initContainers || [])].map(({ name }) => name);
    fill(this.container, [path, names], () => names.map((name) => make("option", { text: name })));
    this.path = path;
    this.ids = new Map([...(status.containerStatuses || []), ...(status.initContainerStatuses || [])].map(({ name, containerID = "", state }) => [name, `${containerID} ${Object.keys(state || {})[0]}`]));
    if (this.started !== this.key) this.start();
  }

  get key() {
    return `${this.path} ${this.container.value} ${this.ids.get(this.container.value)}`;
  }

  async start() {
    this.end();
    this.started = this.key;
    this.ending = new AbortController();
    const { signal } = this.ending;
    let lines = "";
    const draw = () => {
      this.isAsked = false;
      if (signal.aborted) return;
      const isAtEnd = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 4;
      write(this.text, lines || "(nothing yet)");
      if (isAtEnd) this.text.scrollTop = this.text.scrollHeight;
    };
    const told = (more) => {
      lines = (lines + more).slice(-mostText).split("\n").slice(-mostLines - 1).join("\n");
      if (!this.isAsked) requestAnimationFrame(draw);
      this.isAsked = true;
    };
    write(this.text, "(nothing yet)");
    const query = new URLSearchParams({ container: this.container.value, tailLines: 200, ...(this.following.checked && { follow: true }) });
    await read(`${this.path}/log?${query}`, signal, told).catch((error) => signal.aborted || told(`${lines && "\n"}(${error.message})`));
    if (!signal.aborted && this.following.checked) this.started = undefined;
  }

  end() {
    this.ending?.abort();
    this.started = undefined;
    this.isAsked = false;
  }
}
