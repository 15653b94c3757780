package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	genericoptions "kube2014/pkg/server/options"
	"kube2014/pkg/util"
	"kube2014/pkg/util/certtest"
	"kube2014/pkg/util/loopback/loopbacktest"
	"kube2014/pkg/util/pods"
)

// What everybody tries first, in a namespace of its own, and what has to come of it. It needs no program of today's but kubectl.

// rolls is how a deployment rolls, goes back, and is scaled.
var rolls = []line{
	{"create namespace story", ""},
	{"create deployment web --image nginx:1.8 --replicas 3 --port 80", ""},
	{"rollout status deployment/web --timeout 60s | tail -1", `deployment "web" successfully rolled out`},
	{"expose deployment web", ""},
	{"get endpointslices -l kubernetes.io/service-name=web,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io -o jsonpath='{.items[0].endpoints[*].conditions.ready}'", "true true true"},
	{"set image deployment/web nginx=nginx:1.9", ""},
	{"get deployment web -o jsonpath='{.status.updatedReplicas}-{.status.readyReplicas}-{.status.replicas}'", "3-3-3"},
	{"get pods -l app=web -o jsonpath='{.items[*].spec.containers[0].image}'", "nginx:1.9 nginx:1.9 nginx:1.9"},
	{"rollout history deployment/web | tail -n +3 | sed 's/ .*//' | tr '\\n' ' '", "1 2"},
	{"rollout undo deployment/web", ""},
	{"get pods -l app=web -o jsonpath='{.items[*].spec.containers[0].image}'", "nginx:1.8 nginx:1.8 nginx:1.8"},
	{"set image deployment/web nginx=nginx:1.9", ""},
	{"rollout pause deployment/web", ""},
	{"rollout resume deployment/web", ""},
	{"scale deployment web --replicas 5", ""},
	{"get deployment web -o jsonpath='{.status.updatedReplicas}-{.status.readyReplicas}-{.status.replicas}'", "5-5-5"},
	{"get rs -l app=web -o jsonpath='{.items[*].spec.replicas}' | tr ' ' '\\n' | sort | tr '\\n' ' '", "0 5"},
}

// visits go into its pods.
var visits = []line{
	{"exec deployment/web -- echo hello", "hello"},
	{"exec deployment/web -- sh -c true 2>&1 | grep -o 'executable file not found'", "executable file not found"},
	{"exec deployment/web -- false 2>&1; true", "command terminated with exit code 1"},
	{"exec -i deployment/web -- cat <<< twice", "twice"},
	{"attach deployment/web --pod-running-timeout 5s < /dev/null > attached 2>&1 & sleep 1; kill $!; true", ""},
	{"logs deployment/web 2> /dev/null | head -1 | grep -o hollow:", "hollow:"},
	{"get --raw /api/v1/namespaces/story/services/web:80/proxy/ | grep -o 'web-.* on'| sed 's/-.*//'", "web"},
	{forwarding, "web"},
	{"cp /etc/hostname $($K -n story get pods -l app=web -o jsonpath='{.items[0].metadata.name}'):/tmp/there", ""},
	{"cp $($K -n story get pods -l app=web -o jsonpath='{.items[0].metadata.name}'):/etc/hostname back > /dev/null; grep -o ^web back", "web"},
}

// uses is what its pods and the machines use. On the machines nothing else runs.
var uses = []line{
	{"top pods -l app=web --no-headers | sed 's/^web-[^ ]* *//; s/  */ /g; s/ $//' | sort -u", "10m 10Mi"},
	{"top pods -l app=web --no-headers | wc -l", "5"},
	{"top pods -A -l app=web --containers --no-headers | awk '{print $1, $3, $4, $5}' | sort -u", "story nginx 10m 10Mi"},
	{"top nodes --no-headers | awk '{sum += $2} END {print NR, sum}'", "3 80"},
	{"get --raw /apis/metrics.k8s.io/v1beta1/nodes/none 2>&1; true", `Error from server (NotFound): node "none" not found`},
	{"get apiservice v1beta1.metrics.k8s.io -o jsonpath='{.status.conditions[0].reason}'", "Local"},
}

// jobs end, and one fails.
var jobs = []line{
	{"create job once --image busybox -- echo done", ""},
	{"wait --for=condition=Complete job/once --timeout 60s", "job.batch/once condition met"},
	{"logs job/once", "done"},
	{`apply -f - <<X
{apiVersion: batch/v1, kind: Job, metadata: {name: fails}, spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [exit, "3"]}]}}}}
X`, ""},
	{"get job fails -o jsonpath='{.status.conditions[?(@.type==\"Failed\")].reason}'", "BackoffLimitExceeded"},
	{"create cronjob minutely --image busybox --schedule '* * * * *' -- true", ""},
	{"create job now --from cronjob/minutely", ""},
	{"get job now -o jsonpath='{.status.conditions[?(@.type==\"Complete\")].status}'", "True"},
	{"delete cronjob minutely", ""},
	{"get jobs -o name", "job.batch/fails\njob.batch/once"},
}

// waits is how a pod waits for what is missing, and says so.
var waits = []line{
	{"create configmap site --from-literal title=hello", ""},
	{`apply -f - <<X
{apiVersion: v1, kind: Pod, metadata: {name: reader}, spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: [cat, /site/title],
 volumeMounts: [{name: site, mountPath: /site}], env: [{name: A, valueFrom: {configMapKeyRef: {name: later, key: a}}}]}], volumes: [{name: site, configMap: {name: site}}]}}
X`, ""},
	{"get pod reader -o jsonpath='{.status.containerStatuses[0].state.waiting.reason}'", "CreateContainerConfigError"},
	{"describe pod reader | grep -o 'configmap \"later\" not found' | head -1", `configmap "later" not found`},
	{"create configmap later --from-literal a=b", ""},
	{"get pod reader -o jsonpath='{.status.phase}'", "Succeeded"},
	{"logs reader", "hello"},
}

// empties is how a machine is emptied.
var empties = []line{
	{"drain $M --force --timeout 60s", ""},
	{"get pods -l app=web --field-selector spec.nodeName=$M -o name", ""},
	{"get deployment web -o jsonpath='{.status.readyReplicas}'", "5"},
	{"uncordon $M", ""},
}

// theEnd is that of all that a namespace has.
var theEnd = []line{
	{"delete deployment web --cascade=foreground --timeout 60s", ""},
	{"get rs,pods -l app=web -o name", ""},
	{"delete job once fails", ""},
	{"get pods -l job-name -o name", ""},
	{"delete namespace story --timeout 120s", ""},
	{"get all -o name", ""},
}

// forwarding asks a pod through a forwarded port.
const forwarding = `port-forward deployment/web :80 > forwarded & pid=$!
for i in $(seq 100); do port=$(sed -n 's/.*127.0.0.1:\([0-9]*\) .*/\1/p' forwarded); [ -n "$port" ] && break; sleep 0.1; done
curl -s http://127.0.0.1:$port/ | sed 's/-.*//'; kill $pid`

// What everybody tries first, in the process that make cluster starts.
func TestWhatEverybodyTriesFirstInACluster(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"memory", "etcd3"} {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			c := startRealCluster(t, append(flagsFor[name](t), "-runtime_config", "metrics.k8s.io/v1beta1=true")...)
			c.tells(slices.Concat(rolls, visits, uses, jobs, waits, empties, theEnd))
		})
	}
}

// The same, while parts, server and etcd are killed, for KUBE2014_CHAOS. Of the deployment there is never a pod too many, and
// nothing is left of it in the end. What a kubelet had in memory is gone with it: logs, and what a bare pod has done.
func TestWhatEverybodyTriesFirstWhilePartsAreKilled(t *testing.T) {
	duration := chaosTime(t)
	u := startSeparately(t, genericoptions.Etcd3)
	user := tellerOf(t, u.client.Host, u.machines[0])
	steps := slices.DeleteFunc(slices.Concat(rolls, visits, jobs, empties, theEnd), func(step line) bool { return strings.HasPrefix(step.run, "logs ") })
	rounds := 0
	for end := time.Now().Add(duration); time.Now().Before(end); rounds++ {
		watching, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { u.countPods(watching, "app=web", 5+2) }) // 25 % of 5, rounded up
		u.killers.Go(func() { u.killUntil(watching) })
		user.tell(t, steps)
		stop()
		group.Wait()
		u.killers.Wait()
		require.Empty(t, u.violations)
	}
	user.tell(t, steps) // once more, undisturbed
	t.Log("told", rounds, "times")
}

// The same with our scheduler, controller manager and kubelets around today's kube-apiserver, with those of today's controllers
// that each of our servers has inside. It allows no endpoints at loopback addresses, where hollow pods are.
func TestWhatEverybodyTriesFirstAroundTodaysServer(t *testing.T) {
	if os.Getenv("KUBE2014_CONTROLLERS") == "" {
		t.Skip("make parts runs it")
	}
	t.Parallel()
	f, store, block, port := filesOf(t), backend(genericoptions.Etcd3).startOne(t), loopbacktest.Claim(t), loopbacktest.FreePort(t)
	certificate, key := f.pair("accounts", certtest.Authority(t, "accounts"))
	url := "https://" + net.JoinHostPort("127.0.0.1", port)
	startTodaysProgram(t, "kube-apiserver", "--etcd-servers", store.URL, "--cert-dir", t.TempDir(), "--bind-address", "127.0.0.1", "--secure-port", port,
		"--service-account-issuer", accountIssuer, "--service-account-key-file", certificate, "--service-account-signing-key-file", key, "--service-cluster-ip-range", "10.0.0.0/24",
		"--token-auth-file", f.write("tokens", "admin-token,admin,1,system:masters\n"), "--disable-admission-plugins", "TaintNodesByCondition")
	kubeconfig := f.write("kubeconfig", `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: a, user: u}}],
clusters: [{name: a, cluster: {server: "`+url+`", insecure-skip-tls-verify: true}}], users: [{name: u, user: {token: admin-token}}]}`)
	user := teller{kubectlPath(t), kubeconfig, t.TempDir(), block.Machines[0]}
	user.tell(t, []line{{"get namespace default -o name", "namespace/default"}})
	startTodaysProgram(t, "kube-controller-manager", "--kubeconfig", kubeconfig, "--leader-elect=false", "--secure-port", "0", "--use-service-account-credentials=false",
		"--service-account-private-key-file", key, "--controllers", "garbage-collector-controller,namespace-controller,serviceaccount-controller")
	parts := processVictim(t, "our parts", []string{"-run", "scheduler,controller_manager,kubelet", "-kubeconfig", kubeconfig,
		"-kubelet_port", "0", "-cluster_cidr", block.Pods, "-machines", strings.Join(block.Machines, ",")})
	parts.start()
	steps := slices.DeleteFunc(slices.Concat(rolls, visits, jobs, waits, empties, theEnd), func(step line) bool {
		return strings.HasPrefix(step.run, "get endpointslices ") || strings.HasPrefix(step.run, "get --raw ")
	})
	user.tell(t, steps)
}

// killUntil kills a victim every few seconds until the context ends.
func (u *upheaval) killUntil(ctx context.Context) {
	for util.Sleep(ctx, time.Duration(1000+u.random.IntN(4000))*time.Millisecond) {
		v := u.victims[u.random.IntN(len(u.victims))]
		v.kill()
		time.Sleep(time.Duration(u.random.IntN(500)) * time.Millisecond)
		v.start()
	}
}

// countPods checks that there are never more pods of a selector than so many, but for those that end, until the context ends.
func (u *upheaval) countPods(ctx context.Context, selector string, most int) {
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		list, err := u.client.Pods().Everywhere().List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			continue // the server is away
		}
		active := slices.DeleteFunc(list.Items, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil || pods.HasEnded(pod) })
		if len(active) > most {
			u.mu.Lock()
			u.violations = append(u.violations, fmt.Sprintf("there are %d pods", len(active)))
			u.mu.Unlock()
		}
	}
}

// tells does steps.
func (c *realCluster) tells(steps []line) {
	tellerOf(c.t, c.url, c.block.Machines[0]).tell(c.t, steps)
}

// teller does the steps of a story.
type teller struct{ kubectl, kubeconfig, directory, machine string }

// tellerOf returns one at the insecure port of a server, with a machine that is emptied.
func tellerOf(t *testing.T, url, machine string) teller {
	home := t.TempDir()
	kubeconfig := filepath.Join(home, "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: a}}],
clusters: [{name: a, cluster: {server: "`+url+`"}}]}`), 0o600))
	return teller{kubectlPath(t), kubeconfig, home, machine}
}

func (s teller) tell(t *testing.T, steps []line) {
	t.Helper()
	for _, step := range steps {
		s.do(t, step)
	}
}

// doneBefore is what kubectl says of an action that took effect although its answer was lost.
var doneBefore = map[string]string{"delete ": "NotFound", "rollout pause ": "already paused", "rollout resume ": "is not paused"}

// wasDone reports whether an action failed because it had been done before.
func (step line) wasDone(text string) bool {
	for action, words := range doneBefore {
		if strings.HasPrefix(step.run, action) && strings.Contains(text, words) {
			return true
		}
	}
	return strings.Contains(text, "already exists")
}

// do does a step, again and again until it succeeds.
func (s teller) do(t *testing.T, step line) {
	t.Helper()
	var text string
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		cmd := exec.Command("bash", "-c", "$K -n story "+step.run)
		cmd.Dir = s.directory
		cmd.Env = append(os.Environ(), "K="+s.kubectl, "KUBECONFIG="+s.kubeconfig, "M="+s.machine)
		printed, err := cmd.CombinedOutput()
		text = strings.TrimSpace(string(printed))
		isAction := step.prints == "" && !strings.HasPrefix(step.run, "get ")
		switch {
		case isAction && (err == nil || step.wasDone(text)):
			return
		case !isAction && err == nil && strings.TrimPrefix(text, "No resources found in story namespace.") == step.prints:
			return
		}
		require.True(t, time.Now().Before(end), "%s\nprints %s\n%v\nwant   %s", step.run, text, err, step.prints)
	}
}
