// Package clients stands for the clients of a large cluster: the kubelets of all nodes, informers, who creates, binds
// and deletes pods, and who lists them. It sends what today's programs send, in protobuf, and notes how long each
// request took.
package clients

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/bench/measure"
)

const (
	podsOfNamespace = 3000
	connections     = 64 // of who creates and deletes objects
	settlesWithin   = 2 * time.Minute
)

// Size is how large the cluster is.
type Size struct{ Nodes, Pods int }

// Load is what the clients of one cluster do. Its methods are called one after the other, those of its fields at any time.
type Load struct {
	Size
	Times    Times
	Failures Failures
	Events   atomic.Int64 // that informers have received

	speed     atomic.Uint64 // the bits of a float64
	servers   []measure.Server
	headers   []string
	informers []*informer
	kubelets  []*kubelet
	clients   sync.WaitGroup // informers and kubelets
	broken    chan error     // the first error that a client cannot go on after
	owners    []types.UID    // of the pods of each namespace
	came      int            // pods that were created by Run
	turn      atomic.Pointer[turn]
}

// New returns the load of some servers of one cluster: the clients are spread over them. The headers go with each request.
func New(size Size, headers []string, servers ...measure.Server) *Load {
	l := &Load{Size: size, servers: servers, headers: headers, broken: make(chan error, 1)}
	l.turn.Store(&turn{})
	l.speed.Store(math.Float64bits(1))
	return l
}

// Speed returns how many times as fast as by the clock all happens.
func (l *Load) Speed() float64 { return math.Float64frombits(l.speed.Load()) }

// SetSpeed changes the speed, and waits until all clients keep to it.
func (l *Load) SetSpeed(ctx context.Context, speed float64) {
	before := l.period(leasePeriod)
	if l.speed.Swap(math.Float64bits(speed)) != math.Float64bits(speed) {
		sleep(ctx, before)
	}
}

// period returns what a period is at the present speed.
func (l *Load) period(at1 time.Duration) time.Duration {
	return time.Duration(float64(at1) / l.Speed())
}

// namespaces returns how many namespaces have pods.
func (l *Load) namespaces() int { return max(1, l.Pods/podsOfNamespace) }

// FillNodes creates the namespaces with their replica sets, the nodes and their leases.
func (l *Load) FillNodes() error {
	if err := l.createAll(1, func(int) []byte { return l.create(controller, namespacesPath, namespace(leaseNamespace)) }); err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
		return err
	}
	if err := l.createAll(l.namespaces(), func(i int) []byte { return l.create(controller, namespacesPath, namespace(namespaceName(i))) }); err != nil {
		return err
	}
	if err := l.createOwners(); err != nil {
		return err
	}
	if err := l.createAll(l.Nodes, func(i int) []byte { return l.create(aKubelet, nodesPath, node(i)) }); err != nil {
		return err
	}
	return l.createAll(l.Nodes, func(i int) []byte { return l.create(aKubelet, leasesPath, lease(i)) })
}

// createOwners creates the replica set of each namespace, which owns its pods.
func (l *Load) createOwners() error {
	c := l.link(0)
	defer c.close()
	for i := range l.namespaces() {
		body, err := c.send(l.create(controller, "/apis/apps/v1/namespaces/"+namespaceName(i)+"/replicasets", replicaSet()), true)
		if err != nil {
			return err
		}
		var created metav1.PartialObjectMetadata // all objects begin alike
		if err := decode(body, &created); err != nil {
			return err
		}
		l.owners = append(l.owners, created.UID)
	}
	return nil
}

// newPod returns one as the controller of its replica set creates it.
func (l *Load) newPod(i int) *corev1.Pod { return pod(i, l.owners[i%l.namespaces()]) }

// FillPods creates the pods, which run on their nodes.
func (l *Load) FillPods() error {
	if err := l.createAll(l.Pods, func(i int) []byte {
		filled := l.newPod(i)
		filled.Spec.NodeName = nodeName(i % l.Nodes)
		return l.create(controller, podsPath(l.namespaceOf(i)), filled)
	}); err != nil {
		return err
	}
	return l.createAll(l.Pods, func(i int) []byte {
		return l.request(aKubelet, "PATCH", l.podPath(i)+"/status", running(i), strategicMerge)
	})
}

func (l *Load) createAll(n int, request func(i int) []byte) error {
	_, err := l.servers[0].SendAll(connections, n, request)
	return err
}

func (l *Load) namespaceOf(pod int) string { return namespaceName(pod % l.namespaces()) }

func (l *Load) podPath(pod int) string { return podsPath(l.namespaceOf(pod)) + "/" + podName(pod) }

// Follow starts n more informers of everything, and waits until they have it. They end with the context.
func (l *Load) Follow(ctx context.Context, n int) error {
	var inStep []<-chan struct{}
	for range n {
		i := l.newInformer(len(l.informers))
		l.informers = append(l.informers, i)
		for _, f := range i.followed {
			l.start(ctx, f.run)
			inStep = append(inStep, f.inStep)
		}
	}
	return l.await(ctx, inStep)
}

// StartNodes starts a kubelet for each node, and waits until each knows its pods and has renewed its lease. They end with the context.
func (l *Load) StartNodes(ctx context.Context) error {
	var inStep []<-chan struct{}
	for i := range l.Nodes {
		k := l.newKubelet(i)
		l.kubelets = append(l.kubelets, k)
		l.start(ctx, k.pods.run)
		l.start(ctx, k.run)
		inStep = append(inStep, k.pods.inStep, k.renewed)
	}
	return l.await(ctx, inStep)
}

// Wait waits until all informers and kubelets have ended, whose context must have ended.
func (l *Load) Wait() { l.clients.Wait() }

func (l *Load) start(ctx context.Context, run func(context.Context) error) {
	l.clients.Go(func() { l.fail(run(ctx)) })
}

func (l *Load) await(ctx context.Context, all []<-chan struct{}) error {
	for _, inStep := range all {
		select {
		case <-inStep:
		case err := <-l.broken:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// fail notes the first error.
func (l *Load) fail(err error) {
	if err != nil {
		select {
		case l.broken <- err:
		default:
		}
	}
}

// failed returns the first error.
func (l *Load) failed() error {
	select {
	case err := <-l.broken:
		return err
	default:
		return nil
	}
}

// Check waits until nothing is on its way, and returns an error unless each client knows just what the server has.
func (l *Load) Check(ctx context.Context) error {
	for end := time.Now().Add(settlesWithin); ; {
		wrong := l.differs()
		if wrong == nil || time.Now().After(end) || !sleep(ctx, time.Second) {
			return wrong
		}
	}
}

func (l *Load) differs() error {
	for kind, path := range informed {
		n, err := l.count(path)
		if err != nil {
			return err
		}
		for i, informer := range l.informers {
			if has := informer.followed[kind].known.Load(); has != n {
				return fmt.Errorf("informer %d knows %d objects at %s, where %d are", i, has, path, n)
			}
		}
	}
	n, err := l.count(allPods)
	if err != nil {
		return err
	}
	known := int64(0)
	for _, k := range l.kubelets {
		known += k.pods.known.Load()
	}
	if len(l.kubelets) > 0 && known != n || n != int64(l.Pods) {
		return fmt.Errorf("of %d pods, kubelets know %d; %d are to be", n, known, l.Pods)
	}
	return nil
}

// count returns how many objects there are.
func (l *Load) count(path string) (int64, error) {
	c := l.link(0)
	defer c.close()
	body, err := c.send(l.request(reader, "GET", path+"?limit=1", nil), true)
	if err != nil {
		return 0, err
	}
	var list metav1.PartialObjectMetadataList // all lists begin alike
	if err := decode(body, &list); err != nil {
		return 0, err
	}
	n := int64(len(list.Items))
	if list.RemainingItemCount != nil {
		n += *list.RemainingItemCount
	}
	return n, nil
}
