// The page: which kinds of objects it follows, when it draws, and what its buttons do.

import { hasToken, request, useToken } from "./api.js";
import { find, make, write } from "./dom.js";
import * as objects from "./objects.js";
import { Own } from "./own.js";
import { Copy, Newest, reflect } from "./reflector.js";
import { Machines, Rows, Stream, podsInWords, scaler, targets } from "./views.js";

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
  replicationcontrollers: new Copy("/api/v1/replicationcontrollers", objects.controller, changed),
  services: new Copy("/api/v1/services", objects.service, changed),
  endpoints: new Copy("/api/v1/endpoints", objects.endpoints, changed),
  events: new Newest("/api/v1/events", objects.event, changed, shownEvents),
};

const filter = find("#filter");
const matches = (key) => key.replace(/^default\//, "").includes(filter.value.trim());
const machines = new Machines(find("#machines"), copies.nodes, copies.pods, matches, open);
const controllers = new Rows(find("#controllers"), copies.replicationcontrollers, matches, open, scaler(scale));
const services = new Rows(find("#services"), copies.services, matches, open, targets(copies.endpoints));
const events = new Stream(find("#events"), copies.events, shownEvents);
const definitions = new Copy("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", objects.definition, changed);
const own = new Own(find("#own"), definitions, copies, matches, open, followOwn);

filter.oninput = () => [machines, controllers, services, own].forEach((view) => view.filter());

function draw() {
  asked = false;
  for (const key of copies.nodes.take()) machines.drawCard(objects.nameIn(key));
  for (const key of copies.pods.take()) {
    machines.drawPod(key);
    if (shown?.key === key && shown.kind === "pods") drawDetails();
  }
  for (const key of copies.replicationcontrollers.take()) {
    controllers.draw(key);
    if (shown?.key === key && shown.kind === "replicationcontrollers") drawDetails();
  }
  for (const key of new Set([...copies.services.take(), ...copies.endpoints.take()])) services.draw(key);
  if (copies.events.take().size) events.draw();
  for (const [kind, key] of own.draw()) if (shown?.key === key && shown.kind === kind) drawDetails();
  const { nodes, pods } = copies;
  write(find("#machines .count"), `${nodes.objects.size} with ${podsInWords(pods.objects.size)}`);
  write(find("#controllers .count"), String(copies.replicationcontrollers.objects.size));
  write(find("#services .count"), String(copies.services.objects.size));
}

// What is in the way, of each kind for which something is.
const troubles = new Map(Object.keys(copies).map((kind) => [kind, "connecting"]));

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

const pathOf = ({ kind, namespace, name, path }) => path || `/api/v1/namespaces/${namespace}/${kind}/${encodeURIComponent(name)}`;

function scale(controller, replicas) {
  act(`${objects.label(controller)} is to have ${replicas} pods`, "PATCH", `${pathOf(controller)}/scale`, { spec: { replicas } }, "application/merge-patch+json");
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
  if (await act(`${name} is made`, "POST", `/api/v1/namespaces/default/${kind}`, objectOf(kind, name))) form.name.value = "";
};

function objectOf(kind, name) {
  const labels = { app: name };
  const port = form.targetPort.valueAsNumber;
  const spec = { containers: [{ name: "main", image: form.image.value.trim(), ports: [{ containerPort: port }] }] };
  const metadata = { name, labels };
  switch (kind) {
    case "pods":
      return { metadata, spec };
    case "replicationcontrollers":
      return { metadata, spec: { replicas: form.replicas.valueAsNumber, selector: labels, template: { metadata: { labels }, spec } } };
    default:
      return { metadata, spec: { selector: labels, ports: [{ port: form.port.valueAsNumber, targetPort: port }] } };
  }
}

// The details of one object.
const details = find("#details");
let shown; // its key and kind

function open(key, kind) {
  shown = { key, kind };
  drawDetails();
  details.showModal();
}

function drawDetails() {
  const object = copies[shown.kind]?.objects.get(shown.key);
  if (!object) return details.close();
  write(find("h2", details), objects.label(object));
  write(find(".note", details), object.note || "");
  find("dl", details).replaceChildren(...Object.entries({ state: object.words, ...object.facts }).flatMap(([name, fact]) => [make("dt", { text: name }), make("dd", { text: String(fact) })]));
}

details.onclose = () => (shown = undefined);
find(".danger", details).onclick = () => {
  const object = copies[shown.kind]?.objects.get(shown.key);
  details.close();
  if (object) act(`${objects.label(object)} is deleted`, "DELETE", pathOf(object));
};

// followOwn follows a kind that need not be there, and that not everybody who may see pods may see.
function followOwn(kind, copy) {
  reflect(copy, (trouble, status) => tell(kind, copy.ended || status === 403 || status === 404 ? "" : trouble, status), nextToken);
}

followOwn("definitions", definitions);
for (const [kind, copy] of Object.entries(copies)) reflect(copy, (trouble, status) => tell(kind, trouble, status), nextToken);
