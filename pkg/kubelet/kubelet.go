package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/workqueue"
)

// Config is what a kubelet needs.
type Config struct {
	Name     string // of the node: a machine, such as 127.0.0.2
	Address  string // the machine's IP; empty: the name if that is one, else 127.0.0.1
	Client   *clientv1.Client
	Runtime  Runtime
	Recorder record.EventRecorder // nil for none
	Port     uint                 // of the HTTP server on the address; 0 takes a free one

	NodeStatusUpdateFrequency time.Duration       // how often the node's status is written; 0: every 10 seconds
	PodCIDR                   netip.Prefix        // the addresses of pods; invalid for none
	Version                   string              // of the kubelet, such as v1.36.0
	Capacity                  corev1.ResourceList // of the machine; nil: 4 CPUs, 8 GiB, 110 pods

	Listening func(address net.Addr)                                               // is told where the HTTP server listens; nil for nobody
	Listen    func(network, address string) (net.Listener, error)                  // nil: net.Listen
	Dial      func(ctx context.Context, network, address string) (net.Conn, error) // for probes; nil: a net.Dialer's
	Around    func(workqueue.Sync) workqueue.Sync                                  // put around the look at a pod; nil for nothing
}

const (
	// Pods are looked at one after the other, for that never waits; their state is written by some
	// at a time, for that waits for the server.
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
	probing   sync.WaitGroup // the probes that are made just now
	outage    outage
	running   context.Context // of Run

	mu      sync.Mutex // guards what follows
	workers map[string]*podWorker
}

// New returns the kubelet of a machine.
func New(config Config) *Kubelet {
	if config.Address == "" {
		config.Address = "127.0.0.1"
		if _, err := netip.ParseAddr(config.Name); err == nil {
			config.Address = config.Name
		}
	}
	config.NodeStatusUpdateFrequency = cmp.Or(config.NodeStatusUpdateFrequency, 10*time.Second)
	if config.Capacity == nil {
		config.Capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}
	}
	if config.Listen == nil {
		config.Listen = net.Listen
	}
	if config.Dial == nil {
		config.Dial = (&net.Dialer{}).DialContext
	}
	if config.Around == nil {
		config.Around = func(sync workqueue.Sync) workqueue.Sync { return sync }
	}
	k := &Kubelet{Config: config, workers: map[string]*podWorker{}, addresses: newAddresses(config.PodCIDR)}
	k.pods, k.reports = workqueue.New("pods of "+k.Name), workqueue.New("status of pods of "+k.Name)
	k.outage.of = "the kubelet of " + k.Name
	k.informer = cache.NewSharedInformer("pods of "+k.Name, cache.Select[*corev1.Pod](k.Client.Pods().Everywhere(), "", "spec.nodeName="+k.Name), 0)
	k.informer.AddHandler(cache.Handler[*corev1.Pod]{
		OnAdd:    func(pod *corev1.Pod) { k.pods.Add(cache.Key(pod)) },
		OnUpdate: func(_, pod *corev1.Pod) { k.pods.Add(cache.Key(pod)) },
		OnDelete: func(pod *corev1.Pod) { k.pods.Add(cache.Key(pod)) },
	})
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

// Run runs the machine's pods until the context ends, and returns nil then: its containers are
// gone, and nobody is told, as if the machine was switched off. The error is a *ListenError if its
// port cannot be opened. It is called once.
func (k *Kubelet) Run(ctx context.Context) error {
	address := net.JoinHostPort(k.Address, fmt.Sprint(k.Port))
	listener, err := k.Listen("tcp", address)
	if err != nil {
		return &ListenError{address, err}
	}
	k.running = ctx
	if k.Listening != nil {
		k.Listening(listener.Addr())
	}
	server := k.newServer()
	var group sync.WaitGroup
	group.Go(func() { _ = server.Serve(listener) }) // it ends with Close
	group.Go(func() { k.informer.Run(ctx) })
	group.Go(func() { k.beat(ctx, portOf(listener.Addr())) })
	if cache.WaitForSync(ctx, k.informer.HasSynced) {
		group.Go(func() { k.pods.Run(ctx, podWorkers, k.Around(k.sync)) })
		group.Go(func() { k.reports.Run(ctx, reportWorkers, k.report) })
	}
	<-ctx.Done()
	_ = server.Close() // it only closes connections
	group.Wait()
	for _, w := range k.all() {
		w.kill()
	}
	k.probing.Wait()
	return nil
}

func portOf(address net.Addr) int32 {
	_, text, err := net.SplitHostPort(address.String())
	if err != nil {
		return 0
	}
	var port int32
	_, _ = fmt.Sscan(text, &port) // 0 if it has none
	return port
}

func (k *Kubelet) event(pod *corev1.Pod, eventType, reason, message string) {
	if k.Recorder != nil {
		k.Recorder.Eventf(pod, eventType, reason, "%s", message)
	}
}

// warn tells people what a container says, without a lock of its worker.
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
	all := make([]*podWorker, 0, len(k.workers))
	for _, w := range k.workers {
		all = append(all, w)
	}
	return all
}

// setWorker sets the worker of a key; nil is none.
func (k *Kubelet) setWorker(key string, w *podWorker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w == nil {
		delete(k.workers, key)
		return
	}
	k.workers[key] = w
}

// sync brings what runs under the key of a pod to what is to run there. A pod of the same name with
// another uid is another pod, which has to wait until the one before has ended.
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
