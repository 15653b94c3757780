// Package kubelet runs the pods of a machine: it updates the status of the machine's node, lets a
// Runtime run the containers of the pods that are bound to it, reports their state, ends them when
// they are deleted, and serves their state and logs over HTTP.
package kubelet

import (
	"context"
	"fmt"
	"log"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/nodestatus"
	"kube2014/pkg/kubelet/server"
	"kube2014/pkg/kubelet/stop"
	"kube2014/pkg/util"
	"kube2014/pkg/util/workqueue"
)

const (
	// One worker syncs pods, since that never waits. Several report their status, since that waits
	// for the server.
	podWorkers    = 1
	reportWorkers = 2
)

// Kubelet runs the pods of a machine.
type Kubelet struct {
	Config
	informer  *cache.SharedInformer[*corev1.Pod]
	pods      *workqueue.Queue // by the pods' keys
	reports   *workqueue.Queue // by the pods' keys
	addresses *addresses
	probing   sync.WaitGroup // the running probes
	outage    clientv1.Outage
	stop      stop.Stop
	running   context.Context // of Run
	began     time.Time       // of Run

	mu      sync.Mutex // guards what follows; held before that of a worker
	workers map[string]*podWorker
	used    float64 // by pods that are gone, in seconds of one core
}

// New returns the kubelet of a machine.
func New(config Config) *Kubelet {
	config.setDefaults()
	k := &Kubelet{Config: config, workers: map[string]*podWorker{}, addresses: newAddresses(config.PodCIDR)}
	k.pods, k.reports = workqueue.New("pods of "+k.Name), workqueue.New("status of pods of "+k.Name)
	k.outage.Of = "the kubelet of " + k.Name
	k.informer = cache.NewSharedInformer("pods of "+k.Name, cache.Select[*corev1.Pod](k.Client.Pods().Everywhere(), "", "spec.nodeName="+k.Name), 0)
	k.informer.AddEventHandler(cache.OnAny(func(pod *corev1.Pod) { k.pods.Add(cache.Key(pod)) }))
	return k
}

// ListenError is the error of a kubelet that cannot listen.
type ListenError struct {
	Address string
	Err     error
}

// Error implements error.
func (e *ListenError) Error() string {
	return fmt.Sprintf("the kubelet cannot listen on %s: %v", e.Address, e.Err)
}

// Unwrap returns why.
func (e *ListenError) Unwrap() error { return e.Err }

// Run runs the machine's pods until the context ends, and then returns nil. The containers end
// without a report to the server, as if the machine was switched off. The error is a *ListenError if
// the port cannot be opened. It is called once.
func (k *Kubelet) Run(ctx context.Context) error {
	address := net.JoinHostPort(k.Address, fmt.Sprint(k.Port))
	listener, err := k.Listen("tcp", address)
	if err != nil {
		return &ListenError{address, util.SystemError(err)}
	}
	k.running, k.began = ctx, time.Now()
	if k.Listening != nil {
		k.Listening(listener.Addr())
	}
	httpServer := server.New(host{k}, k.Dial)
	var group sync.WaitGroup
	group.Go(func() { httpServer.Serve(stop.Listener{Listener: listener, Stop: &k.stop}) }) // it ends with Close
	group.Go(func() { k.informer.Run(ctx) })
	group.Go(func() { k.nodeUpdater(portOf(listener.Addr())).Run(ctx) })
	if cache.WaitForSync(ctx, k.informer.HasSynced) {
		group.Go(func() { k.pods.Run(ctx, podWorkers, k.stop.Waiting(workqueue.Sync(k.sync).Inside(k.Around))) })
		group.Go(func() { k.reports.Run(ctx, reportWorkers, k.stop.Waiting(k.report)) })
	}
	<-ctx.Done()
	httpServer.Close()
	group.Wait()
	for _, w := range k.all() {
		w.kill()
	}
	k.probing.Wait()
	return nil
}

// nodeUpdater returns what keeps the node alive.
func (k *Kubelet) nodeUpdater(port int32) *nodestatus.Updater {
	return &nodestatus.Updater{
		Node: nodestatus.Node{Name: k.Name, Address: k.Address, Port: port, Capacity: k.Capacity,
			KubeletVersion: k.Version, RuntimeVersion: k.Runtime.Version()},
		Client: k.Client, Frequency: k.NodeStatusUpdateFrequency, Outage: &k.outage, Wait: k.stop.Wait,
		See: func(node *corev1.Node) bool { k.See(node); return k.stop.Left() > 0 },
	}
}

// See tells the kubelet what its node is now. A runtime that is a cri.Stopper may stop the kubelet then: for a while
// it writes nothing, starts and stops nothing, and cuts the connections of its port, as if its process was stopped.
// The containers go on. It returns at once, and is safe for concurrent use. A kubelet also sees its node each time that
// it writes the node's status.
func (k *Kubelet) See(node *corev1.Node) {
	if stopper, can := k.Runtime.(cri.Stopper); can && k.stop.Obey(stopper.StoppedUntil(node), time.Now()) {
		log.Printf("the kubelet of %s: stopped for %v, as its node says", k.Name, k.stop.Left().Round(time.Second))
	}
}

func portOf(address net.Addr) int32 {
	at, _ := netip.ParseAddrPort(address.String()) // without a port, the result is 0
	return int32(at.Port())
}

func (k *Kubelet) event(pod *corev1.Pod, eventType, reason, message string) {
	if k.Recorder != nil && k.stop.Left() <= 0 {
		k.Recorder.Eventf(pod, eventType, reason, "%s", message)
	}
}

// warn writes a warning of a container as an event, without a lock of its worker.
func (k *Kubelet) warn(key, reason, message string) {
	if pod, exists := k.informer.Store().Get(key); exists {
		k.event(pod, corev1.EventTypeWarning, reason, message)
	}
}

// worker returns the worker of a key, nil if there is none.
func (k *Kubelet) worker(key string) *podWorker {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.workers[key]
}

// all returns the workers, in no order.
func (k *Kubelet) all() []*podWorker {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Values(k.workers))
}

// setWorker sets the worker of a key; nil removes the one that there is.
func (k *Kubelet) setWorker(key string, w *podWorker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w == nil {
		k.used += k.workers[key].usage(time.Now()).CPU
		delete(k.workers, key)
		return
	}
	k.workers[key] = w
}

// sync starts and stops what should run under the key of a pod. A pod of the same name with another
// uid is another pod. It must wait until the one before has ended.
func (k *Kubelet) sync(_ context.Context, key string) error {
	pod, exists := k.informer.Store().Get(key)
	w := k.worker(key)
	if w != nil && (!exists || w.uid != pod.UID) {
		if !w.remove() {
			return nil // until one of its containers has exited
		}
		k.setWorker(key, nil)
		w = nil
	}
	if !exists {
		return nil
	}
	if w == nil {
		w = k.newWorker(key, pod, time.Now())
		k.setWorker(key, w)
	}
	if w.sync(pod, time.Now()) {
		k.reports.Add(key)
	}
	return nil
}
