// What the page keeps of each kind of object: a few words. The rest of an object is asked for when it is shown.

export const conditionOf = (object, type) => object.status?.conditions?.find((condition) => condition.type === type);

/** label is what an object is called where the page shows it. */
export const label = ({ namespace, name }) => (namespace && namespace !== "default" ? `${namespace}/${name}` : name);

/** kinds are what people call an object, and several. */
export const kinds = {
  pods: ["pod", "pods"],
  nodes: ["machine", "machines"],
  services: ["service", "services"],
  deployments: ["deployment", "deployments"],
  replicasets: ["replica set", "replica sets"],
  replicationcontrollers: ["replication controller", "replication controllers"],
  statefulsets: ["stateful set", "stateful sets"],
  daemonsets: ["daemon set", "daemon sets"],
  jobs: ["job", "jobs"],
  cronjobs: ["cron job", "cron jobs"],
};

/** kindOf is what people call a kind, and named an object of it. */
export const kindOf = (kind) => kinds[kind]?.[0] || kind;
export const named = (object) => `${kindOf(object.kind)} ${label(object)}`;

const numbers = new Intl.NumberFormat("en");

/** some says a number of objects of a kind. */
export const some = (count, kind) => `${numbers.format(count)} ${(kinds[kind] || ["object", "objects"])[count === 1 ? 0 : 1]}`;

/** pathOf returns where an object is, of those in a copy. */
export function pathOf({ path }, { namespace, name }) {
  const at = path.lastIndexOf("/");
  return `${namespace ? `${path.slice(0, at)}/namespaces/${namespace}${path.slice(at)}` : path}/${encodeURIComponent(name)}`;
}

/** ownerOf returns the reference of an object to the one that manages it. */
export const ownerOf = ({ metadata: { ownerReferences = [] } }) => ownerReferences.find(({ controller }) => controller);

/** kept is what the page keeps of objects of all kinds. */
const kept = (kind, object) => ({
  kind,
  name: object.metadata.name,
  namespace: object.metadata.namespace,
  uid: object.metadata.uid,
  labels: object.metadata.labels,
  owner: ownerOf(object)?.uid,
});

/** pod tells where a pod is, and its state in the words of kubectl. */
export function pod(object) {
  return { ...kept("pods", object), node: object.spec.nodeName || "", ...stateOfPod(object) };
}

function stateOfPod(object) {
  const { status = {} } = object;
  if (object.metadata.deletionTimestamp) return { words: "Terminating", state: "waiting" };
  const reason = status.reason || reasonOf(status.initContainerStatuses, "Init:") || reasonOf(status.containerStatuses, "");
  if (reason) return { words: reason, state: ["ContainerCreating", "PodInitializing"].includes(reason) ? "waiting" : "bad" };
  if (status.phase === "Running") {
    const ready = conditionOf(object, "Ready");
    return ready?.status === "True" ? { words: "Running", state: "good" } : { words: `Running, not ready${because(ready, "ContainersNotReady")}`, state: "waiting" };
  }
  if (status.phase === "Succeeded") return { words: "Succeeded", state: "done" };
  if (status.phase === "Failed" || status.phase === "Unknown") return { words: status.phase, state: "bad" };
  const scheduled = conditionOf(object, "PodScheduled");
  return { words: `Pending${scheduled?.status === "False" ? because(scheduled) : ""}`, state: "waiting" };
}

const because = (condition, ...usual) => (condition?.reason && !usual.includes(condition.reason) ? `: ${condition.reason}` : "");

/** reasonOf says why a container does not run. */
function reasonOf(statuses = [], before) {
  for (const { state } of statuses) {
    const reason = state?.waiting?.reason || (state?.terminated && (state.terminated.reason || "Terminated"));
    if (reason && reason !== "Completed") return reason === "PodInitializing" ? reason : before + reason;
  }
  return "";
}

export function node(object) {
  const ready = conditionOf(object, "Ready");
  const pressures = (object.status?.conditions || []).filter(({ type, status }) => type !== "Ready" && status === "True").map(({ type }) => type);
  const words = [ready?.status === "True" ? "Ready" : ready ? `NotReady${because(ready)}` : "no kubelet", ...pressures];
  const isBad = pressures.length || (ready && ready.status !== "True");
  if (object.spec.unschedulable) words.push("cordoned");
  return {
    ...kept("nodes", object),
    isCordoned: Boolean(object.spec.unschedulable),
    isHollow: Boolean(object.status?.nodeInfo?.containerRuntimeVersion?.startsWith("hollow")),
    words: words.join(", "),
    state: isBad ? "bad" : words.length === 1 && ready ? "good" : "waiting",
  };
}

/** controller is what has pods, and wants so many: a replication controller, a set or a deployment. */
export const controller = (kind) => (object) => {
  const { status = {} } = object;
  const ofMachines = kind === "daemonsets"; // a pod for each of some
  const wanted = ofMachines ? (status.desiredNumberScheduled ?? 0) : (object.spec.replicas ?? 1);
  const there = (ofMachines ? status.currentNumberScheduled : status.replicas) ?? 0;
  const ready = (ofMachines ? status.numberReady : status.readyReplicas) ?? 0;
  const updated = (ofMachines ? status.updatedNumberScheduled : status.updatedReplicas) ?? 0;
  const isRolledOut = updated >= wanted || ["replicasets", "replicationcontrollers"].includes(kind);
  const words = [`${there} of ${wanted} there, ${ready} ready`];
  if (!isRolledOut) words.push(`${updated} of the newest`);
  if (object.spec.paused) words.push("paused");
  // Until its controller has seen it, the numbers are those of before.
  const isSeen = (status.observedGeneration ?? 0) >= (object.metadata.generation ?? 0);
  if (!isSeen) words.push("no controller has seen it yet");
  const troubles = [["Progressing", "False", "no progress"], ["ReplicaFailure", "True", "no pod made"]].filter(([type, status]) => conditionOf(object, type)?.status === status);
  words.push(...troubles.map(([type, , trouble]) => trouble + because(conditionOf(object, type))));
  const isReady = isSeen && there === wanted && ready === wanted && isRolledOut;
  return {
    ...kept(kind, object),
    wanted,
    isOld: kind === "replicasets" && wanted === 0 && there === 0,
    image: imagesOf(object.spec.template),
    revision: object.metadata.annotations?.["deployment.kubernetes.io/revision"],
    words: words.join(", "),
    state: troubles.length ? "bad" : isReady && !object.spec.paused ? "good" : "waiting",
  };
};

export function job(object) {
  const { active = 0, succeeded = 0, failed = 0 } = object.status || {};
  const finished = ["Failed", "FailureTarget", "Complete"].map((type) => conditionOf(object, type)).find((condition) => condition?.status === "True");
  const words = [`${succeeded} of ${object.spec.completions ?? 1} done`];
  if (active) words.push(`${active} running`);
  if (failed) words.push(`${failed} failed`);
  const isBad = finished && finished.type !== "Complete";
  if (isBad) words.unshift(`failed${because(finished)}`);
  if (object.spec.suspend) words.push("suspended");
  return { ...kept("jobs", object), image: imagesOf(object.spec.template), words: words.join(", "), state: isBad ? "bad" : finished ? "good" : "waiting" };
}

export function cronJob(object) {
  const { schedule, timeZone, suspend, jobTemplate } = object.spec;
  const active = object.status?.active?.length || 0;
  const words = [timeZone ? `${schedule} in ${timeZone}` : schedule];
  if (active) words.push(`${active} running`);
  if (suspend) words.push("suspended");
  return { ...kept("cronjobs", object), image: imagesOf(jobTemplate?.spec?.template), words: words.join(", "), state: suspend ? "waiting" : "good" };
}

export const imagesOf = (template) => (template?.spec?.containers || []).map(({ image }) => image).join(", ");

export function service(object) {
  return { ...kept("services", object), words: `port ${portsOf(object)}` };
}

export const portsOf = ({ spec }) => (spec.ports || []).map(({ port, targetPort }) => (targetPort && targetPort !== port ? `${port} to ${targetPort}` : `${port}`)).join(", ");

/** endpoints tells where the connections to a service go. */
export function endpoints(object) {
  const of = (list) => (object.subsets || []).flatMap((subset) => (subset[list] || []).flatMap(({ ip }) => (subset.ports || [{}]).map(({ port }) => `${ip}:${port ?? ""}`)));
  return { ready: of("addresses"), notReady: of("notReadyAddresses") };
}

export const namespace = ({ metadata: { name } }) => ({ name });

export function event(object) {
  const { involvedObject: about, metadata, type, reason = "", message = "" } = object;
  const at = Date.parse(object.series?.lastObservedTime || object.lastTimestamp || object.eventTime || metadata.creationTimestamp);
  return { at, version: BigInt(metadata.resourceVersion), about: { kind: about.kind, name: about.name, namespace: about.namespace }, type, reason, message, count: object.series?.count || object.count || 1 };
}

/**
 * inCausalOrder returns events as they happened: by their times in microseconds, which the name of an event tells that has
 * only seconds. Of two of one time, the older has the smaller version.
 */
export function inCausalOrder(events) {
  const at = ({ eventTime, firstTimestamp, metadata: { name, creationTimestamp } }) => {
    const nanoseconds = name.match(/\.([0-9a-f]{16})$/);
    if (nanoseconds && !eventTime) return BigInt(`0x${nanoseconds[1]}`) / 1000n;
    const [, micro = "0"] = eventTime?.match(/\.\d{3}(\d{3})/) || [];
    return BigInt(Date.parse(eventTime || firstTimestamp || creationTimestamp)) * 1000n + BigInt(micro);
  };
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return [...events].sort((a, b) => order(at(a), at(b)) || order(BigInt(a.metadata.resourceVersion), BigInt(b.metadata.resourceVersion)));
}

/** definition tells where the objects of a kind are, if it is served. */
export function definition({ spec: { group, names, versions }, status }) {
  const version = versions.find(({ served, storage }) => served && storage) || versions.find(({ served }) => served);
  const isServed = version && conditionOf({ status }, "Established")?.status === "True";
  return { title: `${names.kind} (${group})`, path: isServed ? `/apis/${group}/${version.name}/${names.plural}` : "" };
}

/** own is an object of a kind. Its state is in the words that most such kinds have. */
export const own = (kind) => (object) => {
  const ready = conditionOf(object, "Ready");
  const isEnding = object.metadata.deletionTimestamp;
  const words = isEnding ? "Terminating" : ready ? (ready.status === "True" ? "Ready" : `not ready${because(ready)}`) : String(object.status?.phase ?? "");
  return { ...kept(kind, object), words, state: isEnding || (ready && ready.status !== "True") ? "waiting" : "good" };
};

/** nameIn returns the name in a key. */
export const nameIn = (key) => key.slice(key.indexOf("/") + 1);

export const pairs = (map) => Object.entries(map || {}).map(([key, value]) => `${key}=${value}`).join(", ") || "none";

/** stopKubelet is the annotation of a machine until when its hollow kubelet is to do nothing. */
export const stopKubelet = "hollow.kube2014/stop-kubelet";
