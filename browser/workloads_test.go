package browser

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	deployments  = "/apis/apps/v1/namespaces/default/deployments"
	statefulSets = "/apis/apps/v1/namespaces/default/statefulsets"
	daemonSets   = "/apis/apps/v1/namespaces/default/daemonsets"
	replicaSets  = "/apis/apps/v1/namespaces/default/replicasets"
	jobs         = "/apis/batch/v1/namespaces/default/jobs"
	cronJobs     = "/apis/batch/v1/namespaces/default/cronjobs"
)

// template is that of pods with the label app.
const template = `"template": {"metadata": {"labels": {"app": %q}}, "spec": {"containers": [{"name": "main", "image": "nginx:1.8"}]}}`

// startQuiet starts the program without parts, so that nobody but the test changes what is there.
func startQuiet(t *testing.T) *server {
	return startServer(t, "-port", "PORT", "-run", "apiserver", "-machines", strings.Join(threeMachines, ","))
}

// create creates an object, with its status, and returns its uid. The owner is a kind, a name and a uid, or "" for none.
func (s *server) create(t *testing.T, path, name, owner, body string) string {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(body), &object), body)
	metadata := map[string]any{"name": name, "labels": map[string]string{"app": "web"}}
	if annotations := object["annotations"]; annotations != nil {
		metadata["annotations"] = annotations
		delete(object, "annotations")
	}
	if parts := strings.Fields(owner); len(parts) == 3 {
		group := map[string]string{"ReplicaSet": "apps/v1", "Deployment": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1"}[parts[0]]
		metadata["ownerReferences"] = []any{map[string]any{"apiVersion": group, "kind": parts[0], "name": parts[1], "uid": parts[2], "controller": true}}
	}
	object["metadata"] = metadata
	text, err := json.Marshal(object)
	require.NoError(t, err)
	var created struct{ Metadata struct{ UID string } }
	require.NoError(t, json.Unmarshal([]byte(s.send(t, "POST", path, string(text))), &created))
	if object["status"] != nil {
		s.status(t, path+"/"+name, object["status"])
	}
	return created.Metadata.UID
}

func (s *server) status(t *testing.T, path string, status any) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"status": status})
	require.NoError(t, err)
	s.send(t, "PATCH", path+"/status", string(text))
}

// replicas is the spec of a controller of pods.
func replicas(n int) string {
	return fmt.Sprintf(`"spec": {"replicas": %d, "selector": {"matchLabels": {"app": "web"}}, `+template+`}`, n, "web")
}

// running is a pod on a machine, with its status.
func running(machine string) string {
	return fmt.Sprintf(`{"spec": {"nodeName": %q, "containers": [{"name": "main", "image": "nginx"}]},
		"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}`, machine)
}

// web creates a deployment with two replica sets, the newer of which has two pods, and returns its uid.
func (s *server) web(t *testing.T) string {
	t.Helper()
	web := s.create(t, deployments, "web", "", `{`+replicas(2)+`, "status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "updatedReplicas": 2, "availableReplicas": 2}}`)
	s.create(t, replicaSets, "web-old", "Deployment web "+web, `{"annotations": {"deployment.kubernetes.io/revision": "1"}, `+replicas(0)+`, "status": {"observedGeneration": 1}}`)
	newer := s.create(t, replicaSets, "web-new", "Deployment web "+web, `{"annotations": {"deployment.kubernetes.io/revision": "2"}, `+replicas(2)+
		`, "status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2}}`)
	for _, name := range []string{"web-new-1", "web-new-2"} {
		s.create(t, pods, name, "ReplicaSet web-new "+newer, running(threeMachines[0]))
	}
	return web
}

func TestAReplicaSetIsBelowItsDeploymentAndEachTellsWhatBelongsToIt(t *testing.T) {
	s := startQuiet(t)
	s.web(t)
	p := openPage(t, s)
	p.shows("#controllers .rows > li", "web 2 of 2 there, 2 ready deployment, nginx:1.8")
	p.shows(".below > li", "web-new 2 of 2 there, 2 ready replica set, revision 2, nginx:1.8")
	assert.Equal(t, 1, value[int](p, `document.querySelectorAll("#controllers .rows > li").length`))
	p.waitFor(`[...document.querySelectorAll(".below > li")].some((row) => row.hidden && row.textContent.includes("web-old"))`)

	click(p, chromedp.Search(`//button[contains(., "web-new-1")]`))
	p.shows("#details[open] dl", "address none yet belongs to replica set web-new deployment web")
	click(p, button("deployment web"))
	p.shows("#details[open] dl", "selects app=web") // which moves what is below
	p.shows("#details [data-part=owned]", "Has 2 replica sets and 2 pods")
	p.shows("#details [data-part=owned] li", "web-old 0 of 0 there, 0 ready replica set, revision 1")
	click(p, chromedp.Search(`//dialog//button[.="web-new-2"]`))
	p.shows("#details[open] h2", "web-new-2")
	click(p, button("Close"))

	s.send(t, "DELETE", deployments+"/web", `{"propagationPolicy": "Orphan"}`)
	p.waitFor(`[...document.querySelectorAll("#controllers .rows > li:not([hidden]) > .name")].map((name) => name.textContent).join(" ") === "web-new web-old"`)
}

func TestAReplicaSetThatIsSeenBeforeItsDeploymentIsBelowItThen(t *testing.T) {
	s := startQuiet(t)
	p := openPage(t, s)
	below := value[[]string](p, `Promise.all([import("/ui/views.js"), import("/ui/reflector.js"), import("/ui/objects.js")]).then(([{ Rows, workload }, { Copy }, objects]) => {
		const root = document.createElement("div");
		root.innerText = "";
		root.append(Object.assign(document.createElement("ul"), { className: "rows" }));
		const copies = { deployments: new Copy("", objects.controller("deployments"), () => {}), replicasets: new Copy("", objects.controller("replicasets"), () => {}) };
		const rows = new Rows(root, copies, { matches: () => true }, () => {}, { deployments: workload(() => {}, true), replicasets: workload(() => {}) });
		const told = [];
		const change = (kind, object) => {
			rows.change(object.spec ? copies[kind].set(object) : (copies[kind].delete("default/" + object.metadata.name), "default/" + object.metadata.name), kind);
			told.push([...root.querySelectorAll("li .name")].map((name) => (name.closest(".below") ? "-" : "") + name.textContent).join(" "));
		};
		const web = (uid) => ({ metadata: { name: "web", namespace: "default", uid }, spec: {} });
		const set = { metadata: { name: "a", namespace: "default", uid: "2", ownerReferences: [{ uid: "1", controller: true }] }, spec: {} };
		change("replicasets", set);
		change("deployments", web("1"));
		change("replicasets", set);
		change("deployments", web("3")); // another one with this name
		change("deployments", web("1"));
		change("deployments", { metadata: { name: "web" } });
		change("replicasets", { metadata: { name: "a" } });
		return told;
	})`)
	assert.Equal(t, []string{"a", "web -a", "web -a", "a web", "web -a", "a", ""}, below)
}

func TestADeploymentIsScaledRestartedAndDeletedWithWhatItHas(t *testing.T) {
	s := startQuiet(t)
	s.web(t)
	p := openPage(t, s)
	p.fill("#controllers .rows > li > form input", "4")
	click(p, "#controllers .rows > li > form button")
	p.shows("#said", "web is to have 4 pods")
	p.shows("#controllers li", "2 of 4 there, 2 ready, 2 of the newest, no controller has seen it yet")
	p.fill(".below > li:not([hidden]) input", "1")
	click(p, ".below > li:not([hidden]) form button")
	p.shows("#said", "web-new is to have 1 pod")
	assert.Contains(t, s.send(t, "GET", deployments+"/web/scale", ""), `"replicas":4`)
	assert.Contains(t, s.send(t, "GET", replicaSets+"/web-new/scale", ""), `"replicas":1`)

	click(p, "#controllers .rows > li > .name")
	click(p, button("Restart"))
	p.shows("#said", "web gets new pods")
	assert.Contains(t, s.send(t, "GET", deployments+"/web", ""), `"kubectl.kubernetes.io/restartedAt":"20`)
	click(p, "#details .danger")
	p.shows("#confirm[open]", "Delete deployment web? With it go 2 replica sets and 2 pods.")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.waitFor("!confirm.open && details.open")
	assert.Contains(t, s.send(t, "GET", deployments+"/web", ""), `"name":"web"`, "nothing is deleted")
	p.do(chromedp.KeyEvent(kb.Escape))
	p.waitFor("!details.open")

	click(p, ".pod") // the dialog has a button with this name, too
	click(p, "#details .danger")
	p.shows("#confirm[open]", "Nothing else goes with it. Its replica set web-new may make another one.")
	p.do(chromedp.KeyEvent(kb.Escape + kb.Escape))
	p.waitFor("!details.open")
	click(p, "#controllers .rows > li > .name")
	p.delete()
	p.shows("#said", "web is deleted")
	p.waitFor(`document.querySelectorAll("#controllers li, .pod").length === 0`)
}

func TestWhatIsWrongIsNotGreenAndSaysWhy(t *testing.T) {
	s := startQuiet(t)
	p := openPage(t, s)
	waiting := func(reason string) string {
		return `{"phase": "Pending", "containerStatuses": [{"name": "main", "image": "x", "imageID": "", "ready": false, "restartCount": 0, "state": {"waiting": {"reason": "` + reason + `"}}}]}`
	}
	job := func(status string) string {
		return `{"spec": {` + fmt.Sprintf(strings.Replace(template, `"spec": {`, `"spec": {"restartPolicy": "Never", `, 1), "web") + `}, "status": ` + status + `}`
	}
	pod := func(status string) string {
		return `{"spec": {"nodeName": "127.0.3.1", "containers": [{"name": "main", "image": "x"}]}, "status": ` + status + `}`
	}
	deployment := func(status string) string { return `{` + replicas(1) + `, "status": ` + status + `}` }
	daemonSet := func(status string) string {
		return `{"spec": {"selector": {"matchLabels": {"app": "web"}}, ` + fmt.Sprintf(template, "web") + `}, "status": ` + status + `}`
	}
	for at, row := range []struct{ path, body, words, state string }{
		{pods, pod(waiting("ImagePullBackOff")), "ImagePullBackOff", "bad"},
		{pods, pod(waiting("CrashLoopBackOff")), "CrashLoopBackOff", "bad"},
		{pods, pod(waiting("CreateContainerConfigError")), "CreateContainerConfigError", "bad"},
		{pods, pod(waiting("ContainerCreating")), "ContainerCreating", "waiting"},
		{pods, pod(strings.Replace(waiting("ErrImagePull"), "containerStatuses", "initContainerStatuses", 1)), "Init:ErrImagePull", "bad"},
		{pods, pod(`{"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]}`), "Running, not ready", "waiting"},
		{pods, pod(`{"phase": "Running", "conditions": [{"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady"}]}`), "Running, not ready: ReadinessGatesNotReady", "waiting"},
		{pods, pod(`{"phase": "Failed"}`), "Failed", "bad"},
		{pods, pod(`{"phase": "Failed", "reason": "Evicted"}`), "Evicted", "bad"},
		{pods, pod(`{"phase": "Succeeded"}`), "Succeeded", "done"},
		{pods, pod(`{"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}`), "Pending: Unschedulable", "waiting"},
		{deployments, deployment(`{"observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1}`), "1 of 1 there, 1 ready", "good"},
		{deployments, deployment(`{"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1}`), "no controller has seen it yet", "waiting"},
		{deployments, deployment(`{"observedGeneration": 1, "conditions": [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]}`), "no progress: ProgressDeadlineExceeded", "bad"},
		{deployments, deployment(`{"observedGeneration": 1, "conditions": [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}]}`), "no pod made: FailedCreate", "bad"},
		{statefulSets, deployment(`{"observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "updatedReplicas": 1}`), "1 of 1 there, 1 ready", "good"},
		{statefulSets, deployment(`{"observedGeneration": 1, "replicas": 1, "readyReplicas": 1}`), "1 of 1 there, 1 ready, 0 of the newest", "waiting"},
		{replicaSets, deployment(`{"observedGeneration": 1, "replicas": 1, "readyReplicas": 1}`), "1 of 1 there, 1 ready", "good"},
		{daemonSets, daemonSet(`{"observedGeneration": 1, "desiredNumberScheduled": 3, "currentNumberScheduled": 3, "numberReady": 3, "updatedNumberScheduled": 3, "numberMisscheduled": 0}`), "3 of 3 there, 3 ready", "good"},
		{daemonSets, daemonSet(`{"observedGeneration": 1, "desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberReady": 1, "updatedNumberScheduled": 3, "numberMisscheduled": 0}`), "2 of 3 there, 1 ready", "waiting"},
		{jobs, job(`{"startTime": "2026-01-01T00:00:00Z", "failed": 1, "conditions": [{"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded"}, {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}`), "failed: BackoffLimitExceeded, 0 of 1 done, 1 failed", "bad"},
		{jobs, job(`{"active": 1, "ready": 0, "startTime": "2026-01-01T00:00:00Z"}`), "0 of 1 done, 1 running", "waiting"},
		{jobs, job(`{"succeeded": 1, "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:01:00Z", "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]}`), "1 of 1 done", "good"},
	} {
		name := fmt.Sprintf("case-%d", at)
		s.create(t, row.path, name, "", row.body)
		element := fmt.Sprintf(`[...document.querySelectorAll(".pod, #controllers li")].find((e) => e.firstChild.textContent === %q)`, name)
		p.waitFor(fmt.Sprintf(`%[1]s?.dataset.state === %[2]q && %[1]s.textContent.includes(%[3]q)`, element, row.state, row.words))
	}
	const node = "/api/v1/nodes/127.0.3.2"
	for _, row := range []struct{ conditions, words, state string }{
		{`[{"type": "Ready", "status": "True"}]`, "Ready", "good"},
		{`[{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]`, "NotReady: NodeStatusUnknown", "bad"},
		{`[{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "True"}]`, "Ready, MemoryPressure", "bad"},
	} {
		s.send(t, "PATCH", node+"/status", `{"status": {"conditions": `+row.conditions+`}}`)
		p.waitFor(fmt.Sprintf(`[...document.querySelectorAll(".card")].some((card) => card.ariaLabel === "127.0.3.2" && card.dataset.state === %q && card.querySelector(".words").textContent === %q)`, row.state, row.words))
	}
}

func TestTheJobsOfACronJobAreBelowIt(t *testing.T) {
	s := startQuiet(t)
	nightly := s.create(t, cronJobs, "nightly", "", `{"spec": {"schedule": "0 3 * * *", "timeZone": "Europe/Berlin", "suspend": true, "jobTemplate": {"spec": {`+
		fmt.Sprintf(strings.Replace(template, `"spec": {`, `"spec": {"restartPolicy": "Never", `, 1), "web")+`}}}}`)
	job := s.create(t, jobs, "nightly-1", "CronJob nightly "+nightly, `{"spec": {`+fmt.Sprintf(strings.Replace(template, `"spec": {`, `"spec": {"restartPolicy": "Never", `, 1), "web")+`}}`)
	s.create(t, pods, "nightly-1-a", "Job nightly-1 "+job, running(threeMachines[0]))
	p := openPage(t, s)
	p.shows("#controllers .rows > li", "nightly 0 3 * * * in Europe/Berlin, suspended cron job, nginx:1.8")
	p.shows(".below > li", "nightly-1 0 of 1 done job, nginx:1.8")
	click(p, chromedp.Search(`//button[contains(., "nightly-1-a")]`))
	p.shows("#details[open] dl", "address none yet belongs to job nightly-1 cron job nightly")
	click(p, button("cron job nightly"))
	p.shows("#details [data-part=owned]", "Has 1 job and 1 pod")
}

func TestTheDetailsOfAPodAreItsConditionsContainersEventsLogAndText(t *testing.T) {
	s := startCluster(t, threeMachines)
	s.send(t, "POST", pods, `{"metadata": {"name": "two", "annotations": {"hollow.kube2014/log.main": "of main", "hollow.kube2014/log.side": "of side\nno: \"yes\"", "hollow.kube2014/log.before": "of before", "odd": "true"}},
		"spec": {"initContainers": [{"name": "before", "image": "alpine:3"}], "containers": [{"name": "main", "image": "nginx"}, {"name": "side", "image": "busybox:1"}]}}`)
	p := openPage(t, s)
	click(p, chromedp.Search(`//button[contains(., "two")]`))
	p.shows("#details[open] .note", "pod: Running")
	p.shows("#details [data-part=conditions] li", "Ready True")
	p.shows("#details [data-part=containers] li", "side busybox:1 running 0 restarts")
	p.waitFor(`document.querySelectorAll("#details [data-part=events] li").length === 10`)
	events := value[[]string](p, `[...document.querySelectorAll("#details [data-part=events] b")].map((reason) => reason.textContent)`)
	assert.ElementsMatch(t, []string{"Scheduled", "Pulled", "Created", "Started", "Pulled", "Created", "Started", "Pulled", "Created", "Started"}, events)
	assert.Less(t, slices.Index(events, "Pulled"), slices.Index(events, "Created"))
	assert.Less(t, slices.Index(events, "Created"), slices.Index(events, "Started"))
	p.shows("#details .log pre", "of main")
	p.hides("#details .log pre", "of side")
	for _, container := range []string{"side", "before"} {
		p.fill("#details .log select", container)
		p.run(`document.querySelector("#details .log select").dispatchEvent(new Event("change"))`)
		p.shows("#details .log pre", "of "+container)
	}

	click(p, "#details summary")
	p.shows("#details details pre", "kind: Pod")
	var object map[string]any
	require.NoError(t, json.Unmarshal([]byte(s.send(t, "GET", pods+"/two", "")), &object))
	delete(object["metadata"].(map[string]any), "managedFields")
	want, err := json.Marshal(object)
	require.NoError(t, err)
	assert.YAMLEq(t, string(want), value[string](p, `document.querySelector("#details details pre").textContent`))

	s.send(t, "PATCH", pods+"/two", `{"metadata": {"labels": {"seen": "later"}}}`)
	p.shows("#details dd", "seen=later")
	p.shows("#details details pre", "seen: later")
	s.send(t, "DELETE", pods+"/two?gracePeriodSeconds=0", "")
	p.waitFor("!details.open")
}

func TestALogIsFollowedUntilNobodyWantsIt(t *testing.T) {
	s := startCluster(t, threeMachines)
	s.send(t, "POST", pods, `{"metadata": {"name": "served"}, "spec": {"containers": [{"name": "main", "image": "nginx", "ports": [{"containerPort": 80}]}]}}`)
	p := openPage(t, s)
	p.waitFor(`document.querySelector(".pod")?.dataset.state === "good"`)
	click(p, ".pod")
	p.shows("#details .log pre", "started nginx")
	var pod struct{ Status struct{ PodIP string } }
	require.NoError(t, json.Unmarshal([]byte(s.send(t, "GET", pods+"/served", "")), &pod))
	ask := func(path string) {
		answer, err := client.Get("http://" + pod.Status.PodIP + path)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
	ask("/first")
	p.shows("#details .log pre", "/first")
	click(p, "#details .log input")
	p.shows("#details .log pre", "/first")
	ask("/second")
	click(p, "#details .log input")
	p.shows("#details .log pre", "/second")
}

func TestEventsAreInTheOrderInWhichTheyHappened(t *testing.T) {
	s := startQuiet(t)
	p := openPage(t, s)
	assert.Equal(t, "a b c d e f", value[string](p, `import("/ui/objects.js").then(({ inCausalOrder }) => inCausalOrder([
		{ reason: "f", metadata: { name: "x.18867252652f9400", resourceVersion: "1" }, firstTimestamp: "2026-01-01T00:00:00Z" },
		{ reason: "d", metadata: { name: "b", resourceVersion: "9" }, eventTime: "2026-01-01T00:00:01.000001Z" },
		{ reason: "e", metadata: { name: "a", resourceVersion: "10" }, eventTime: "2026-01-01T00:00:01.000001Z" },
		{ reason: "c", metadata: { name: "c", resourceVersion: "11" }, eventTime: "2026-01-01T00:00:01.000000Z" },
		{ reason: "b", metadata: { name: "x.2", resourceVersion: "2", creationTimestamp: "2026-01-01T00:00:00Z" }, firstTimestamp: null },
		{ reason: "a", metadata: { name: "x.3", resourceVersion: "1" }, firstTimestamp: "2026-01-01T00:00:00Z" },
	]).map(({ reason }) => reason).join(" "))`))
}

func TestTheFilterHidesByNameLabelsAndNamespaceAndSaysSo(t *testing.T) {
	s := startQuiet(t)
	p := openPage(t, s)
	s.send(t, "POST", "/api/v1/namespaces", `{"metadata": {"name": "dev"}}`)
	for _, row := range []struct{ namespace, name, labels string }{{"default", "one", `{"app": "web"}`}, {"default", "two", `{"app": "db", "old": ""}`}, {"dev", "three", `{"app": "web"}`}} {
		s.send(t, "POST", "/api/v1/namespaces/"+row.namespace+"/pods", fmt.Sprintf(`{"metadata": {"name": %q, "labels": %s}, "spec": {"nodeName": "127.0.3.1", "containers": [{"name": "a", "image": "x"}]}}`, row.name, row.labels))
	}
	shown := func(names string) {
		t.Helper()
		p.waitFor(fmt.Sprintf(`[...document.querySelectorAll(".pod span")].map((pod) => pod.textContent).join(" ") === %q`, names))
	}
	shown("one two dev/three")
	for _, row := range []struct{ field, text, names, hides string }{
		{"part", "o", "one two", "The filter hides 1 pod and "},
		{"selector", "app=web", "one dev/three", "hides 1 pod"},
		{"selector", "app in (web, db), !old", "one dev/three", "hides 1 pod"},
		{"selector", "app != web", "two", "hides 2 pods"},
		{"selector", "app notin (db)", "one dev/three", "hides 1 pod"},
		{"selector", "old", "two", "hides 2 pods"},
		{"selector", "app==db", "two", "hides 2 pods"},
	} {
		p.do(chromedp.SendKeys(chromedp.CSS("#filter [name="+row.field+"]"), row.text))
		shown(row.names)
		p.shows("#hides", row.hides)
		click(p, button("Show all"))
		p.waitFor("hides.hidden")
		shown("one two dev/three")
	}

	p.tabTo("#filter [name=selector]", "")
	p.do(chromedp.KeyEvent("app=web"))
	p.tabTo("#filter select", "")
	p.do(chromedp.KeyEvent("dev"))
	shown("dev/three")
	s.send(t, "POST", pods, `{"metadata": {"name": "four", "labels": {"app": "web"}}, "spec": {"nodeName": "127.0.3.1", "containers": [{"name": "a", "image": "x"}]}}`)
	p.shows("#hides", "hides 3 pods")
	shown("dev/three")
	p.do(chromedp.SendKeys(chromedp.CSS("#filter [name=selector]"), ",=="))
	p.shows("#hides", "no label selector")
	shown("dev/three")
	p.shows("#state", "live")
}

func TestAMachineIsCordonedAndItsKubeletStopped(t *testing.T) {
	s := startCluster(t, threeMachines)
	p := openPage(t, s)
	p.shows("#hollow", "Containers here are hollow: they run no program")
	click(p, button("127.0.3.2"))
	click(p, button("Cordon"))
	p.shows(".card", "127.0.3.2 Ready, cordoned")
	assert.Contains(t, s.send(t, "GET", "/api/v1/nodes/127.0.3.2", ""), `"unschedulable":true`)
	click(p, button("Uncordon"))
	p.shows(".card", "127.0.3.2 Ready 0 pods")
	click(p, button("Stop its kubelet for a minute"))
	p.shows("#said", "The kubelet of 127.0.3.2 is told to stop for a minute")
	var node struct {
		Metadata struct{ Annotations map[string]string }
	}
	require.NoError(t, json.Unmarshal([]byte(s.send(t, "GET", "/api/v1/nodes/127.0.3.2", "")), &node))
	until, err := time.Parse(time.RFC3339, node.Metadata.Annotations["hollow.kube2014/stop-kubelet"])
	require.NoError(t, err)
	assert.WithinRange(t, until, time.Now().Add(time.Minute-hangs), time.Now().Add(time.Minute))
	p.shows("#details dd", "is to be stopped until")
}

func TestManyPodsOfAMachineAreFoldedButNotThoseThatFail(t *testing.T) {
	s := startQuiet(t)
	p := openPage(t, s)
	p.hides("main", "hollow") // nothing says that these machines are
	for i := range 30 {
		s.create(t, pods, fmt.Sprint("pod-", i), "", running(threeMachines[0]))
	}
	p.shows(".card", "30 pods")
	p.shows(".card .more", "18 more")
	assert.Equal(t, 12, value[int](p, `document.querySelectorAll(".pod").length`))
	s.status(t, pods+"/pod-29", map[string]any{"phase": "Failed"})
	p.shows(".pod", "pod-29 Failed")
	assert.Equal(t, 12, value[int](p, `document.querySelectorAll(".pod").length`))
	p.tabTo(".more", "18 more")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.waitFor(`document.querySelectorAll(".pod").length === 30`)
	assert.Equal(t, "fewer", value[string](p, "document.activeElement.textContent"), "the focus stays")
	s.send(t, "DELETE", pods+"/pod-3?gracePeriodSeconds=0", "")
	p.waitFor(`document.querySelectorAll(".pod").length === 29`)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.shows(".card .more", "17 more")
}

func TestWhatCanBePressedOrFilledHasANameForAScreenReader(t *testing.T) {
	s := startCluster(t, threeMachines)
	s.createController(t, "web", 2)
	p := openPage(t, s)
	p.waitFor(`document.querySelectorAll(".pod[data-state=good]").length === 2`)
	check := func(atLeast int) {
		t.Helper()
		found := 0
		for _, node := range call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
			role := string(node.Role.Value)
			if node.Ignored || !strings.Contains(`"button" "textbox" "searchbox" "combobox" "spinbutton" "checkbox" "dialog" "alertdialog" "navigation" "search"`, role) {
				continue
			}
			found++
			assert.NotEmpty(t, strings.Trim(string(node.Name.Value), `"`), role)
		}
		assert.GreaterOrEqual(t, found, atLeast)
	}
	check(15)
	click(p, ".pod")
	p.shows("#details .log pre", "started")
	check(5)
	click(p, "#details .danger")
	check(3)
}
