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
  namespaces: new Copy("/api/v1/namespaces", objects.namespace, changed),
  nodes: new Copy("/api/v1/nodes", objects.node, changed),
  pods: new Copy("/api/v1/pods", objects.pod, changed),
  replicationcontrollers: new Copy("/api/v1/replicationcontrollers", objects.controller("replicationcontrollers"), changed),
  deployments: new Copy("/apis/apps/v1/deployments", objects.controller("deployments"), changed),
  statefulsets: new Copy("/apis/apps/v1/statefulsets", objects.controller("statefulsets"), changed),
  daemonsets: new Copy("/apis/apps/v1/daemonsets", objects.controller("daemonsets"), changed),
  replicasets: new Copy("/apis/apps/v1/replicasets", objects.controller("replicasets"), changed),
  cronjobs: new Copy("/apis/batch/v1/cronjobs", objects.cronJob, changed),
  jobs: new Copy("/apis/batch/v1/jobs", objects.job, changed),
  services: new Copy("/api/v1/services", objects.service, changed),
  endpoints: new Copy("/api/v1/endpoints", objects.endpoints, changed),
  events: new Newest("/api/v1/events", objects.event, changed, shownEvents),
  definitions: new Copy("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", objects.definition, changed),
}; // and own kinds, by the names of their definitions
const workloads = {
  deployments: workload(scale, true),
  statefulsets: workload(scale),
  daemonsets: workload(),
  replicasets: workload(scale),
  replicationcontrollers: workload(scale),
  cronjobs: workload(undefined, true),
  jobs: workload(),
};

let isFiltered = false; // by other fields than before
const filter = new Filter(find("#filter"), () => {
  isFiltered = true;
  changed();
});
const details = new Details(find("#details"), copies, actionsOf);
const open = (key, kind) => details.open(key, kind);
const machines = new Machines(find("#machines"), copies.nodes, copies.pods, filter, open);
const controllers = new Rows(find("#controllers"), copies, filter, open, workloads);
const services = new Rows(find("#services"), copies, filter, open, { services: targets(copies.endpoints) });
const namespaceOptions = new Sorted(find("#filter select"));

// What draws a kind: an object when it has changed, all when the filter has, and the rest at the end.
const views = {
  namespaces: { change: drawNamespace },
  nodes: machines,
  pods: machines,
  ...Object.fromEntries(Object.keys(workloads).map((kind) => [kind, controllers])),
  services,
  endpoints: { change: (key) => services.change(key, "services") },
  events: new Stream(find("#events"), copies, filter, shownEvents),
};
views.definitions = new Own(find("#own"), copies, views, filter, open, follow);

function draw() {
  asked = false;
  for (const kind in copies) {
    for (const key of copies[kind].take()) {
      views[kind].change(key, kind);
      details.changed(key, kind);
    }
  }
  const all = new Set(Object.values(views));
  if (isFiltered) for (const view of all) view.refilter?.();
  isFiltered = false;
  for (const view of all) view.draw?.();
  details.draw();
  drawAges();
  drawCounts(all);
}

function drawCounts(all) {
  const { nodes, pods } = copies;
  write(find("#machines .count"), `${nodes.objects.size} with ${objects.some(pods.objects.size, "pods")}`);
  write(find("#controllers .count"), String(Object.keys(workloads).reduce((sum, kind) => sum + copies[kind].objects.size, 0)));
  write(find("#services .count"), String(copies.services.objects.size));
  find("#hollow").hidden = ![...nodes.objects.values()].some(({ isHollow }) => isHollow);
  const hides = find("#hides");
  hides.hidden = !filter.isActive && !filter.trouble;
  if (hides.hidden) return;
  const others = [...all].reduce((sum, view) => (view === machines ? sum : sum + (view.hidden || 0)), 0);
  write(find("output", hides), filter.trouble || `The filter hides ${objects.some(machines.hidden, "pods")} and ${others} other ${others === 1 ? "object" : "objects"}.`);
}

/** drawNamespace lets a namespace be chosen. One that was chosen stays so when it is gone. */
function drawNamespace(key) {
  const name = objects.nameIn(key);
  const isThere = copies.namespaces.objects.has(key);
  if (isThere && !namespaceOptions.get(name)) namespaceOptions.add(name, make("option", { text: name }));
  if (!isThere && filter.namespace !== name) namespaceOptions.remove(name);
}

find("#hides button").onclick = () => {
  filter.clear();
  find("#filter input").focus();
};
setInterval(changed, 1000); // the ages

// What is in the way, of each kind for which something is.
const troubles = new Map(Object.keys(copies).map((kind) => [kind, "connecting"]));

function tell(kind, trouble, status) {
  if (trouble) troubles.set(kind, trouble);
  else troubles.delete(kind);
  const [first = "live"] = troubles.values();
  const state = find("#state");
  write(state, first);
  state.dataset.state = troubles.size ? "waiting" : "good";
  if (status === 401 || (status === 403 && !hasToken())) {
    write(find(".note", login), trouble);
    if (!login.open) login.showModal();
  }
}

// A token, where the server wants one.
const login = find("#login");
let token = Promise.withResolvers();
const nextToken = () => token.promise;

find("form", login).onsubmit = (submitted) => {
  submitted.preventDefault();
  useToken(login.querySelector("input").value.trim());
  submitted.target.reset();
  login.close();
  token.resolve();
  token = Promise.withResolvers();
};

// What somebody does, and what the server says to it.
async function act(what, ...wanted) {
  const said = find("#said");
  write(said, "");
  const error = await request(...wanted).then(() => undefined, (error) => error);
  said.dataset.state = error ? "bad" : "good";
  write(said, error ? error.message : what);
  return !error;
}

const pathOf = (object) => objects.pathOf(copies[object.kind], object);
const change = (what, path, patch) => act(what, "PATCH", path, patch, "application/merge-patch+json");

function scale(object, replicas) {
  change(`${objects.label(object)} is to have ${objects.some(replicas, "pods")}`, `${pathOf(object)}/scale`, { spec: { replicas } });
}

/** actionsOf returns what can be done with an object, besides to scale it. */
function actionsOf(object) {
  const named = objects.label(object);
  const changing = (text, what, patch) => ({ text, run: () => change(what, pathOf(object), patch) });
  if (object.kind === "nodes") {
    const stop = { [objects.stopKubelet]: new Date(Date.now() + 60000).toISOString() };
    const actions = [object.isCordoned ? changing("Uncordon", `${named} gets pods again`, { spec: { unschedulable: null } }) : changing("Cordon", `${named} gets no more pods`, { spec: { unschedulable: true } })];
    if (object.isHollow) actions.push(changing("Stop its kubelet for a minute", `The kubelet of ${named} is told to stop for a minute`, { metadata: { annotations: stop } }));
    return actions;
  }
  const restarted = { "kubectl.kubernetes.io/restartedAt": new Date().toISOString() };
  const restart = changing("Restart", `${named} gets new pods`, { spec: { template: { metadata: { annotations: restarted } } } });
  return [...(["deployments", "statefulsets", "daemonsets"].includes(object.kind) ? [restart] : []), { text: "Delete", run: () => confirmDelete(object) }];
}

/** confirmDelete asks, and names what goes with an object. */
function confirmDelete(object) {
  const dialog = find("#confirm");
  const owned = ownedBy(copies, object.uid);
  const [owner] = details.ownersOf(object);
  write(find("h2", dialog), `Delete ${objects.named(object)}?`);
  write(find(".note", dialog), (owned.length ? `With it go ${inWords(owned)}.` : "Nothing else goes with it.") + (owner ? ` Its ${objects.named(owner)} may make another one.` : ""));
  dialog.returnValue = "";
  dialog.onclose = () => {
    if (dialog.returnValue !== "delete") return;
    find("#details").close();
    act(`${objects.label(object)} is deleted`, "DELETE", pathOf(object), { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background", preconditions: { uid: object.uid } });
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
  const replicas = form.replicas.valueAsNumber;
  const template = { metadata: { labels }, spec };
  const specs = {
    pods: spec,
    deployments: { replicas, selector: { matchLabels: labels }, template },
    replicationcontrollers: { replicas, selector: labels, template },
    services: { selector: labels, ports: [{ port: form.port.valueAsNumber, targetPort: port }] },
  };
  return { metadata: { name, labels }, spec: specs[kind] };
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
for (const [kind, copy] of Object.entries(copies)) if (kind !== "events") follow(kind, copy);
