// What the page keeps of each kind of object: a few words. The rest of an object is not kept.

const inCondition = (object, type) => object.status?.conditions?.find((condition) => condition.type === type)?.status;

/** label is what an object is called where the page shows it. */
export const label = ({ namespace, name }) => (namespace && namespace !== "default" ? `${namespace}/${name}` : name);

/** pod tells where a pod is, and its state in the words of kubectl. */
export function pod(object) {
  const statuses = object.status?.containerStatuses || [];
  const words = object.metadata.deletionTimestamp ? "Terminating" : waitingFor(statuses) || object.status?.phase || "Pending";
  const isReady = inCondition(object, "Ready") === "True";
  return {
    kind: "pods",
    name: object.metadata.name,
    namespace: object.metadata.namespace,
    node: object.spec.nodeName || "",
    words: words === "Running" && !isReady ? "Running, not ready" : words,
    state: words === "Running" && isReady ? "good" : ["Pending", "ContainerCreating", "Running", "Succeeded", "Terminating"].includes(words) ? "waiting" : "bad",
    facts: {
      machine: object.spec.nodeName || "none yet",
      address: object.status?.podIP || "none yet",
      containers: object.spec.containers.map(({ name, image }) => `${name}: ${image}`).join(", "),
      restarts: statuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
      labels: pairs(object.metadata.labels),
      since: since(object),
    },
  };
}

function waitingFor(statuses) {
  for (const { state } of statuses) {
    const reason = state?.waiting?.reason || (state?.terminated && (state.terminated.reason || "Terminated"));
    if (reason && reason !== "Completed") return reason;
  }
  return "";
}

export function node(object) {
  const ready = inCondition(object, "Ready");
  const words = ready === "True" ? "Ready" : ready ? "NotReady" : "no kubelet";
  return {
    name: object.metadata.name,
    words: object.spec.unschedulable ? `${words}, cordoned` : words,
    state: ready === "True" && !object.spec.unschedulable ? "good" : ready === "False" || ready === "Unknown" ? "bad" : "waiting",
  };
}

export function controller(object) {
  const wanted = object.spec.replicas ?? 1;
  const { replicas: there = 0, readyReplicas: ready = 0 } = object.status || {};
  return {
    kind: "replicationcontrollers",
    name: object.metadata.name,
    namespace: object.metadata.namespace,
    wanted,
    words: `${there} of ${wanted} there, ${ready} ready`,
    state: there === wanted && ready === wanted ? "good" : "waiting",
    facts: {
      wanted,
      there,
      ready,
      selects: pairs(object.spec.selector),
      images: object.spec.template?.spec.containers.map(({ image }) => image).join(", "),
      since: since(object),
    },
    note: "Its pods stay. Scale it to 0 first to end them.",
  };
}

export function service(object) {
  const ports = (object.spec.ports || []).map(({ port, targetPort }) => (targetPort && targetPort !== port ? `${port} to ${targetPort}` : `${port}`)).join(", ");
  return {
    kind: "services",
    name: object.metadata.name,
    namespace: object.metadata.namespace,
    words: `port ${ports}`,
    facts: { address: object.spec.clusterIP || "none", port: ports, selects: pairs(object.spec.selector), since: since(object) },
  };
}

/** endpoints tells where the connections to a service go. */
export function endpoints(object) {
  const of = (list) => (object.subsets || []).flatMap((subset) => (subset[list] || []).flatMap(({ ip }) => (subset.ports || [{}]).map(({ port }) => `${ip}:${port ?? ""}`)));
  return { ready: of("addresses"), notReady: of("notReadyAddresses") };
}

export function event(object) {
  const at = Date.parse(object.series?.lastObservedTime || object.lastTimestamp || object.eventTime || object.metadata.creationTimestamp);
  return { at, version: BigInt(object.metadata.resourceVersion), type: object.type, about: `${object.involvedObject.kind.toLowerCase()} ${label(object.involvedObject)}`, reason: object.reason || "", message: object.message || "", count: object.series?.count || object.count || 1 };
}

/** definition tells where the objects of a kind are, if it is served. */
export function definition({ spec: { group, names, versions }, status }) {
  const version = versions.find(({ served, storage }) => served && storage) || versions.find(({ served }) => served);
  const isServed = version && inCondition({ status }, "Established") === "True";
  return { title: `${names.kind} (${group})`, path: isServed ? `/apis/${group}/${version.name}/${names.plural}` : "" };
}

/** own is an object of a kind at a path. Its state is in the words that most such kinds have. */
export function own(object, kind, path) {
  const { name, namespace, deletionTimestamp, labels } = object.metadata;
  const ready = inCondition(object, "Ready");
  const words = deletionTimestamp ? "Terminating" : ready ? (ready === "True" ? "Ready" : "not ready") : String(object.status?.phase ?? "");
  const at = path.lastIndexOf("/");
  return {
    kind,
    name,
    namespace,
    path: namespace ? `${path.slice(0, at)}/namespaces/${namespace}${path.slice(at)}/${encodeURIComponent(name)}` : `${path}/${encodeURIComponent(name)}`,
    words,
    state: deletionTimestamp || (ready && ready !== "True") ? "waiting" : "good",
    facts: { kind, labels: pairs(labels), since: since(object) },
  };
}

/** nameIn returns the name in a key. */
export const nameIn = (key) => key.slice(key.indexOf("/") + 1);

const pairs = (map) => Object.entries(map || {}).map(([key, value]) => `${key}=${value}`).join(", ") || "none";

const since = ({ metadata: { creationTimestamp } }) => (creationTimestamp ? new Date(creationTimestamp).toLocaleString() : "unknown");
