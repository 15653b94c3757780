package main

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// line is a line of a story: a kubectl command. It is repeated until it prints what it should, or without that until it succeeds.
type line struct{ run, prints string }

// story is what a user of a cluster does, in a namespace of its own, and what has to come of it.
var story = []line{
	{"create namespace story", ""},
	{"create quota few --hard pods=40,count/deployments.apps=3", ""},

	// A deployment rolls, goes back, and is scaled.
	{"create deployment web --image nginx:1.8 --replicas 3 --port 80", ""},
	{"get deployment web -o jsonpath='{.status.readyReplicas}'", "3"},
	{"expose deployment web", ""},
	{"get endpointslices -l kubernetes.io/service-name=web -o jsonpath='{.items[0].endpoints[*].conditions.ready}'", "true true true"},
	{"set image deployment/web nginx=nginx:1.9", ""},
	{"get deployment web -o jsonpath='{.status.updatedReplicas}-{.status.readyReplicas}-{.status.replicas}'", "3-3-3"},
	{"get pods -l app=web -o jsonpath='{.items[*].spec.containers[0].image}'", "nginx:1.9 nginx:1.9 nginx:1.9"},
	{"rollout undo deployment/web", ""},
	{"get pods -l app=web -o jsonpath='{.items[*].spec.containers[0].image}'", "nginx:1.8 nginx:1.8 nginx:1.8"},
	{"scale deployment web --replicas 5", ""},
	{"get deployment web -o jsonpath='{.status.readyReplicas}'", "5"},
	{"autoscale deployment web --min 1 --max 7 --cpu 50%", ""},
	{"get hpa web -o jsonpath='{.spec.maxReplicas}-{.status.currentReplicas}'", "7-5"},

	// Jobs end.
	{`apply -f - <<X
{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {completions: 3, parallelism: 2, template: {
 metadata: {annotations: {hollow.kube2014/exit-after: 1s}}, spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}
X`, ""},
	{"get job once -o jsonpath='{.status.succeeded}-{.status.conditions[?(@.type==\"Complete\")].status}'", "3-True"},
	{`apply -f - <<X
{apiVersion: batch/v1, kind: Job, metadata: {name: fails}, spec: {backoffLimit: 0, template: {
 metadata: {annotations: {hollow.kube2014/exit-code: "1"}}, spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}
X`, ""},
	{"get job fails -o jsonpath='{.status.conditions[?(@.type==\"Failed\")].reason}'", "BackoffLimitExceeded"},
	{"create cronjob minutely --image busybox --schedule '* * * * *' -- true", ""},
	{"create job now --from cronjob/minutely", ""},
	{"get job now -o jsonpath='{.metadata.ownerReferences[0].name}-{.status.active}'", "minutely-1"},
	{"delete cronjob minutely", ""},
	{"get jobs -o name", "job.batch/fails\njob.batch/once"},

	// A daemon on each machine, and a database that keeps its names.
	{`apply -f - <<X
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {a: b}}, template: {
 metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}
X`, ""},
	{"get ds agent -o jsonpath='{.status.numberReady}'", "3"},
	{"get pods -l a=b --sort-by .spec.nodeName -o jsonpath='{.items[*].spec.nodeName}'", "127.0.0.1 127.0.0.2 127.0.0.3"},
	{`apply -f - <<X
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {serviceName: db, replicas: 3, selector: {matchLabels: {a: c}}, template: {
 metadata: {labels: {a: c}}, spec: {containers: [{name: c, image: i}]}}}}
X`, ""},
	{"get sts db -o jsonpath='{.status.readyReplicas}'", "3"},
	{"delete pod db-1", ""},
	{"get pods -l a=c -o jsonpath='{.items[*].metadata.name}-{.items[*].status.phase}'", "db-0 db-1 db-2-Running Running Running"},
	{"scale sts db --replicas 1", ""},
	{"get pods -l a=c -o name", "pod/db-0"},

	// A budget is kept while a machine is drained.
	{"create pdb web --selector app=web --min-available 4", ""},
	{"get pdb web -o jsonpath='{.status.disruptionsAllowed}-{.status.currentHealthy}'", "1-5"},
	{"drain 127.0.0.1 --ignore-daemonsets --force --timeout 60s --delete-emptydir-data", ""},
	{"get pods -l app=web --field-selector spec.nodeName=127.0.0.1 -o name", ""},
	{"get deployment web -o jsonpath='{.status.readyReplicas}'", "5"},
	{"uncordon 127.0.0.1", ""},

	// Quota, priority and preemption.
	{"create deployment two --image nginx", ""},
	{"create deployment three --image nginx", ""},
	{"create deployment four --image nginx 2>&1 | grep -o 'exceeded quota: few'", "exceeded quota: few"},
	{"create priorityclass story-high --value 1000", ""},
	{`apply -f - <<X
{apiVersion: v1, kind: ReplicationController, metadata: {name: fill}, spec: {replicas: 3, selector: {a: fill}, template: {
 metadata: {labels: {a: fill}}, spec: {terminationGracePeriodSeconds: 0, topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: fill}}}],
 containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 8642}]}]}}}}
X`, ""},
	{"get pods -l a=fill -o jsonpath='{.items[*].status.phase}'", "Running Running Running"},
	{`apply -f - <<X
{apiVersion: v1, kind: Pod, metadata: {name: urgent}, spec: {priorityClassName: story-high, containers: [{name: c, image: i, ports: [{containerPort: 80, hostPort: 8642}]}]}}
X`, ""},
	{"get pod urgent -o jsonpath='{.spec.priority}-{.status.phase}'", "1000-Running"},
	{"get pods -l a=fill --field-selector status.phase=Running -o name | wc -l", "2"},

	// All goes with the namespace.
	{"delete deployment web --cascade=foreground --timeout 60s", ""},
	{"get rs -l app=web -o name", ""},
	{"delete namespace story --timeout 120s", ""},
	{"get all -o name", ""},
	{"delete priorityclass story-high", ""},
}

// Today's controllers and scheduler run a cluster on this server. On etcd the server is killed twenty times meanwhile.
func TestAUsersStoryComesToItsEndWithTodaysControllers(t *testing.T) {
	if os.Getenv("KUBE2014_CONTROLLERS") == "" {
		t.Skip("make parts runs it")
	}
	kubectl := kubectlPath(t)
	for _, backend := range []string{"memory", "etcd3", "etcd3, killed"} {
		t.Run("backend="+backend, func(t *testing.T) {
			name, _, isKilled := strings.Cut(backend, ",")
			c := startTodaysCluster(t, flagsFor[name](t))
			var killed chan int
			if isKilled {
				killed = c.killOften(t)
			}
			user := teller{kubectl: kubectl, kubeconfig: c.kubeconfig, directory: t.TempDir()}
			user.tell(t, story)
			if isKilled {
				require.Equal(t, 20, <-killed, "kills")
				user.tell(t, story) // once more, undisturbed
			}
			for _, line := range c.refused(t) {
				t.Log("refused", line)
			}
		})
	}
}

// killOften kills the server twenty times, seconds apart, and starts it again. The result is the number of kills.
func (c todaysCluster) killOften(t *testing.T) chan int {
	killed, seed := make(chan int, 1), uint64(time.Now().UnixNano())
	t.Log("the seed is", seed)
	random := rand.New(rand.NewPCG(seed, 2014))
	go func() {
		n := 0
		for ; n < 20 && t.Context().Err() == nil; n++ {
			time.Sleep(time.Duration(500+random.IntN(3000)) * time.Millisecond)
			c.server.kill()
			time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
			c.server.start()
		}
		killed <- n
	}()
	return killed
}
