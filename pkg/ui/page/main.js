// The page: which kinds of objects it follows, when it draws, and what its buttons do.

import { hasToken, request, useToken } from "./api.js";
import { Details, inWords, ownedBy } from "./details.js";
import { Sorted, drawAges, find, make, write } from "./dom.js";
import { Filter } from "./filter.js";
import * as objects from "./objects.js";
import { Own } from "./own.js";
import { Copy, Newest, reflect } from "./reflector.js";
import { Machines, Rows, Stream, targets, workload } from "./views.js";

const shownEvents = 100;

// The copies of the kinds. A change of any asks for one drawing, which draws what has changed until then:
// not more often than the screen does.
let asked = false;
const changed = () => {
  if (!asked) requestAnimationFrame(draw);
  asked = true;
};
const copies = {
  nodes: new Copy("/api/v1/nodes", objects.node, changed),
  pods: new Copy("/api/v1/pods", objects.pod, changed),
  replicationcontrollers: new Copy("/api/v1/replicationcontrollers", objects.controller("replicationcontrollers"), changed),
  deployments: new Copy("/apis/apps/v1/deployments", objects.controller("deployments"), changed),
  replicasets: new Copy("/apis/apps/v1/replicasets", objects.controller("replicasets"), changed),
  cronjobs: new Copy("/apis/batch/v1/cronjobs", objects.cronJob, changed),
  jobs: new Copy("/apis/batch/v1/jobs", objects.job, changed),
  services: new Copy("/api/v1/services", objects.service, changed),
  events: new Newest("/api/v1/events", objects.event, changed, shownEvents),
};
const endpoints = new Copy("/api/v1/endpoints", objects.endpoints, changed);
const namespaces = new Copy("/api/v1/namespaces", objects.namespace, changed);
const definitions = new Copy("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", objects.definition, changed);
const workloads = ["deployments", "replicasets", "replicationcontrollers", "cronjobs", "jobs"];

const filter = new Filter(find("#filter"), () => {
  isFiltered = true;
  changed();
});
let isFiltered = false; // by other fields than before
const details = new Details(find("#details"), copies, actionsOf);
const open = (key, kind) => details.open(key, kind);
const machines = new Machines(find("#machines"), copies.nodes, copies.pods, filter, open);
const controllers = new Rows(find("#controllers"), copies, filter, open, {
  deployments: workload("deployments", scale, true),
  replicasets: workload("replicasets", scale),
  replicationcontrollers: workload("replicationcontrollers", scale),
  cronjobs: workload("cronjobs", undefined, true),
  jobs: workload("jobs"),
});
const services = new Rows(find("#services"), copies, filter, open, { services: targets(endpoints) });
const events = new Stream(find("#events"), copies, filter, shownEvents);
const own = new Own(find("#own"), definitions, copies, filter, open, follow);
const namespaceOptions = new Sorted(find("#filter select"));

function draw() {
  asked = false;
  const told = (key, kind) => details.changed(key, kind);
  for (const key of namespaces.take()) drawNamespace(objects.nameIn(key));
  for (const key of copies.nodes.take()) {
    machines.card(objects.nameIn(key));
    told(key, "nodes");
  }
  for (const key of copies.pods.take()) {
    machines.changePod(key);
    told(key, "pods");
  }
  for (const kind of workloads) {
    for (const key of copies[kind].take()) {
      controllers.draw(key, kind);
      told(key, kind);
    }
  }
  for (const key of new Set([...copies.services.take(), ...endpoints.take()])) {
    services.draw(key, "services");
    told(key, "services");
  }
  own.draw(told);
  const newEvents = copies.events.take();
  for (const key of newEvents) told(key, "events");
  if (isFiltered) [machines, controllers, services, own].forEach((view) => view.refilter());
  if (newEvents.size || isFiltered) events.draw();
  isFiltered = false;
  machines.draw();
  details.draw();
  drawAges();
  drawCounts();
}

function drawCounts() {
  const { nodes, pods } = copies;
  write(find("#machines .count"), `${nodes.objects.size} with ${objects.some(pods.objects.size, "pods")}`);
  write(find("#controllers .count"), String(workloads.reduce((sum, kind) => sum + copies[kind].objects.size, 0)));
  write(find("#services .count"), String(copies.services.objects.size));
  find("#hollow").hidden = ![...nodes.objects.values()].some(({ isHollow }) => isHollow);
  const hides = find("#hides");
  hides.hidden = !filter.isActive && !filter.trouble;
  if (hides.hidden) return;
  const others = controllers.hidden + services.hidden + own.hidden;
  write(find("output", hides), filter.trouble || `The filter hides ${objects.some(machines.hidden, "pods")} and ${others} other ${others === 1 ? "object" : "objects"}.`);
}

/** drawNamespace lets a namespace be chosen. One that was chosen stays so when it is gone. */
function drawNamespace(name) {
  const isThere = namespaces.objects.has(`/${name}`);
  if (isThere && !namespaceOptions.get(name)) namespaceOptions.add(name, make("option", { text: name }));
  if (!isThere && filter.namespace !== name) namespaceOptions.remove(name);
}

find("#hides button").onclick = () => {
  filter.clear();
  find("#filter input").focus();
};
setInterval(changed, 1000); // the ages

// What is in the way, of each kind for which something is.
const followed = { ...copies, endpoints };
const troubles = new Map(Object.keys(followed).map((kind) => [kind, "connecting"]));

function tell(kind, trouble, status) {
  if (trouble) troubles.set(kind, trouble);
  else troubles.delete(kind);
  const [first = "live"] = troubles.values();
  const state = find("#state");
  write(state, first);
  state.dataset.state = troubles.size ? "waiting" : "good";
  if (status === 401 || (status === 403 && !hasToken())) askForToken(trouble);
}

// A token, where the server wants one.
const login = find("#login");
let gotToken = () => {};
let token = new Promise((got) => (gotToken = got));
const nextToken = () => token;

function askForToken(why) {
  write(find(".note", login), why);
  if (!login.open) login.showModal();
}

find("form", login).onsubmit = (submitted) => {
  submitted.preventDefault();
  useToken(login.querySelector("input").value.trim());
  submitted.target.reset();
  login.close();
  gotToken();
  token = new Promise((got) => (gotToken = got));
};

// What somebody does, and what the server says to it.
async function act(what, ...wanted) {
  const said = find("#said");
  write(said, "");
  try {
    await request(...wanted);
    said.dataset.state = "good";
    write(said, what);
    return true;
  } catch (error) {
    said.dataset.state = "bad";
    write(said, error.message);
    return false;
  }
}

const pathOf = (kind, object) => objects.pathOf(copies[kind], object);
const change = (what, path, patch) => act(what, "PATCH", path, patch, "application/merge-patch+json");

function scale(kind, object, replicas) {
  change(`${objects.label(object)} is to have ${objects.some(replicas, "pods")}`, `${pathOf(kind, object)}/scale`, { spec: { replicas } });
}

/** actionsOf returns what can be done with an object, besides to scale it. */
function actionsOf(kind, object) {
  const path = pathOf(kind, object);
  const named = objects.label(object);
  switch (kind) {
    case "nodes":
      return [
        object.isCordoned
          ? { text: "Uncordon", run: () => change(`${named} gets pods again`, path, { spec: { unschedulable: null } }) }
          : { text: "Cordon", run: () => change(`${named} gets no more pods`, path, { spec: { unschedulable: true } }) },
        ...(object.isHollow ? [{ text: "Stop its kubelet for a minute", run: () => change(`The kubelet of ${named} is told to stop for a minute`, path, { metadata: { annotations: { [objects.stopKubelet]: new Date(Date.now() + 60000).toISOString() } } }) }] : []),
      ];
    case "deployments": {
      const annotations = { "kubectl.kubernetes.io/restartedAt": new Date().toISOString() };
      return [{ text: "Restart", run: () => change(`${named} gets new pods`, path, { spec: { template: { metadata: { annotations } } } }) }, { text: "Delete", run: () => confirmDelete(kind, object) }];
    }
    default:
      return [{ text: "Delete", run: () => confirmDelete(kind, object) }];
  }
}

/** confirmDelete asks, and names what goes with an object. */
function confirmDelete(kind, object) {
  const dialog = find("#confirm");
  const owned = ownedBy(copies, object.uid);
  const [owner] = details.ownersOf(object);
  write(find("h2", dialog), `Delete ${objects.kinds[kind]?.[0] || kind} ${objects.label(object)}?`);
  write(find(".note", dialog), (owned.length ? `With it go ${inWords(owned)}.` : "Nothing else goes with it.") + (owner ? ` Its ${objects.kinds[owner.kind]?.[0] || owner.kind} ${objects.label(owner)} may make another one.` : ""));
  dialog.returnValue = "";
  dialog.onclose = () => {
    if (dialog.returnValue !== "delete") return;
    find("#details").close();
    act(`${objects.label(object)} is deleted`, "DELETE", pathOf(kind, object), { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background", preconditions: { uid: object.uid } });
  };
  dialog.showModal();
}

const form = find("#make");
const showFields = () => {
  for (const field of form.querySelectorAll("[data-for]")) {
    field.hidden = !field.dataset.for.split(" ").includes(form.kind.value);
    find("input", field).disabled = field.hidden;
  }
};
form.kind.onchange = showFields;
showFields();

form.onsubmit = async (submitted) => {
  submitted.preventDefault();
  const kind = form.kind.value;
  const name = form.name.value.trim();
  const path = copies[kind].path.replace(/[^/]*$/, `namespaces/${filter.namespace || "default"}/${kind}`);
  if (await act(`${name} is made`, "POST", path, objectOf(kind, name))) form.name.value = "";
};

function objectOf(kind, name) {
  const labels = { app: name };
  const port = form.targetPort.valueAsNumber;
  const spec = { containers: [{ name: "main", image: form.image.value.trim(), ports: [{ containerPort: port }] }] };
  const metadata = { name, labels };
  const replicas = form.replicas.valueAsNumber;
  const template = { metadata: { labels }, spec };
  switch (kind) {
    case "pods":
      return { metadata, spec };
    case "deployments":
      return { metadata, spec: { replicas, selector: { matchLabels: labels }, template } };
    case "replicationcontrollers":
      return { metadata, spec: { replicas, selector: labels, template } };
    default:
      return { metadata, spec: { selector: labels, ports: [{ port: form.port.valueAsNumber, targetPort: port }] } };
  }
}

// The newest events are found among all, which may be many more than all else: they come after the pods.
const podsAreTold = Promise.withResolvers();
podsAreTold.promise.then(() => follow("events", copies.events));

/** follow follows a kind. Those of the named groups need not be there, and not everybody who may see pods may see them and namespaces. */
function follow(kind, copy) {
  const isOptional = copy.path.startsWith("/apis/") || kind === "namespaces";
  reflect(copy, (trouble, status) => {
    tell(kind, copy.ended || (isOptional && (status === 403 || status === 404)) ? "" : trouble, status);
    if (kind === "pods") podsAreTold.resolve();
  }, nextToken);
}
for (const [kind, copy] of Object.entries({ ...followed, definitions, namespaces })) if (kind !== "events") follow(kind, copy);
