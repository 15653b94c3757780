// Package hollow is a container runtime without containers: what it starts exists in memory, answers
// HTTP on its ports, and does what annotations of its pod tell it:
//
//	hollow.kube2014/start-after: 3s      it starts after that; by default after 0.1 to 0.3 seconds
//	hollow.kube2014/exit-after: 5s       it exits that long after it has started; by default never, but
//	                                     init containers after 0.1 seconds, and others that have an
//	                                     exit-code after a second
//	hollow.kube2014/exit-code: "1"       with which code it exits then; by default 0
//	hollow.kube2014/stop-after: 40s      how long it takes to stop when it is told to; by default 50
//	                                     milliseconds. It is killed when its grace period is over
//	hollow.kube2014/log: text            lines that it logs when it has started
//	hollow.kube2014/unready: "true"      readiness probes fail
//	hollow.kube2014/unhealthy: "true"    liveness and startup probes fail
//
// An annotation is for all containers of a pod; with a name after it, such as
// hollow.kube2014/exit-code.web, it is for that container, and counts more. Those of probes count as
// they are now, also in a container that runs; the others as they are when it starts. A probe by HTTP
// fails with a 503: if two probes ask for the same path, either annotation fails both. A probe by a command
// fails, too, if the command does. Nothing fails a probe that only opens a connection.
//
// An annotation of a node stops its kubelet for up to 10 minutes, as if its process did nothing:
//
//	hollow.kube2014/stop-kubelet: 2014-06-06T12:00:00Z    until then
//
// A container that runs seems to use what it requested when it started: each second so much of a core, and so
// much memory. For what it did not request, that is 10m and 10Mi.
//
// A container logs that it has started, where it listens, each request but those of probes that
// succeed, and its end.
//
// There are twelve commands, but no shell: cat, date, echo, env, exit, false, hostname, ls, sleep, tar, test and true.
// A container whose command and arguments are one of them runs it, logs what it writes, and ends with it and its
// code, unless an annotation tells its end. One that has another command says so in its log. Told to stop, it ends
// with the code 143. Commands see a small file system in memory: /etc/hostname, /etc/hosts, /tmp, what is mounted,
// and what tar has written. The volumes that they write to are those of their pod: empty at first, shared by its
// containers, and gone with it.
package hollow

import (
	"crypto/sha256"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
)

// Runtime is the hollow runtime of any number of machines. The zero value is ready; its fields must
// not change after the first start.
type Runtime struct {
	Listen     func(network, address string) (net.Listener, error) // nil: net.Listen
	StartAfter time.Duration                                       // how long containers take to start; 0: 0.1 to 0.3 seconds, as their pod's uid says
}

var _ cri.Runtime = (*Runtime)(nil)

// Version implements cri.Runtime.
func (r *Runtime) Version() string { return "hollow://1.0" }

// Start implements cri.Runtime.
func (r *Runtime) Start(spec cri.Spec) cri.Container {
	listen := r.Listen
	if listen == nil {
		listen = net.Listen
	}
	c := newContainer(spec, listen)
	o := readOrders(spec, r.startAfter(spec), c.setup.command != nil)
	c.stopAfter = o.stopAfter
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.CreatedAt = time.Now()
	c.timer = time.AfterFunc(o.startAfter, func() { c.start(o) })
	return c
}

// startAfter returns how long a container takes to start by default.
func (r *Runtime) startAfter(spec cri.Spec) time.Duration {
	if r.StartAfter > 0 {
		return r.StartAfter
	}
	const least, spread = 100 * time.Millisecond, 200
	sum := sha256.Sum256([]byte(spec.Pod.UID))
	return least + time.Duration(int(sum[0])*spread/256)*time.Millisecond
}

// idOf returns the id of a container: the same pod, container and attempt have the same.
func idOf(spec cri.Spec) string {
	return fmt.Sprintf("hollow://%x", sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", spec.Pod.UID, spec.Name, spec.Attempt)))
}

func imageIDOf(image string) string {
	return fmt.Sprintf("hollow://sha256:%x", sha256.Sum256([]byte(image)))
}

var _ cri.Stopper = (*Runtime)(nil)

// StoppedUntil implements cri.Stopper.
func (r *Runtime) StoppedUntil(node *corev1.Node) time.Time {
	until, _ := time.Parse(time.RFC3339, node.Annotations[Prefix+"stop-kubelet"]) // zero if it is no time
	return until
}
