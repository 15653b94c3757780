package clients

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// Periods of a kubelet, at the speed 1.
const (
	leasePeriod  = 10 * time.Second
	statusPeriod = 5 * time.Minute
)

// kubelet renews the lease of its node, tells its status, and runs its pods, which start and end at once.
type kubelet struct {
	load  *Load
	link  *link
	name  string
	pods  *follow
	due   chan *corev1.Pod // that begin or end
	lease *coordinationv1.Lease

	renewed      chan struct{} // closed when it has renewed its lease
	firstRenewal func()        // closes renewed
}

func (l *Load) newKubelet(i int) *kubelet {
	k := &kubelet{load: l, link: l.link(i), name: nodeName(i), due: make(chan *corev1.Pod, 16), lease: lease(i), renewed: make(chan struct{})}
	k.firstRenewal = sync.OnceFunc(func() { close(k.renewed) })
	k.pods = l.newFollow(i, allPods+"?fieldSelector=spec.nodeName%3D"+k.name, k.event)
	return k
}

// event passes on pods for which there is something to do.
func (k *kubelet) event(ctx context.Context, kind watch.EventType, text []byte) error {
	if kind == watch.Deleted {
		return nil
	}
	var event metav1.WatchEvent
	if err := event.Unmarshal(text); err != nil {
		return err
	}
	pod := &corev1.Pod{}
	if err := decode(event.Object.Raw, pod); err != nil {
		return err
	}
	if kind == watch.Added && !k.pods.initial {
		if bound := k.load.turn.Load().boundAt(podNumber(pod.Name)); !bound.IsZero() {
			k.load.Times.add(EventOfBinding, time.Since(bound))
		}
	}
	if pod.DeletionTimestamp != nil && pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodPending {
		select {
		case k.due <- pod:
		case <-ctx.Done():
		}
	}
	return nil
}

// run does what is due until the context ends.
func (k *kubelet) run(ctx context.Context) error {
	defer k.link.close()
	nextLease, nextStatus := time.Now(), time.Now().Add(rand.N(k.load.period(statusPeriod)))
	for {
		timer := time.NewTimer(time.Until(nextLease))
		var err error
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case pod := <-k.due:
			err = k.sync(ctx, pod)
		case <-timer.C:
			period := k.load.period(leasePeriod)
			if k.lease.UID == "" {
				period = rand.N(period) // after the first ones, they are spread
			}
			nextLease = time.Now().Add(period) // one that is late is not made up for
			if err = k.renew(ctx); err == nil && time.Now().After(nextStatus) {
				nextStatus = nextStatus.Add(k.load.period(statusPeriod))
				_, err = k.link.ask(ctx, "PATCH of a node's status", k.load.request(aKubelet, "PATCH", nodesPath+"/"+k.name+"/status", nodeStatus(), strategicMerge), false)
			}
		}
		timer.Stop()
		if err != nil && ctx.Err() == nil && !isRefusal(err) {
			return err
		}
	}
}

// renew renews the lease. If another version may be stored, it is read first.
func (k *kubelet) renew(ctx context.Context) error {
	path := leasesPath + "/" + k.name
	if k.lease.ResourceVersion == "" {
		if err := k.askForLease(ctx, "GET of a lease", k.load.request(aKubelet, "GET", path, nil)); err != nil {
			return err
		}
	}
	k.lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
	err := k.askForLease(ctx, "PUT of a lease", k.load.request(aKubelet, "PUT", path, encode(k.lease), protobuf))
	if err == nil {
		k.firstRenewal()
	}
	return err
}

// askForLease sends a request whose answer is the lease.
func (k *kubelet) askForLease(ctx context.Context, kind string, request []byte) error {
	body, err := k.link.ask(ctx, kind, request, true)
	if err != nil {
		k.lease.ResourceVersion = ""
		return err
	}
	*k.lease = coordinationv1.Lease{TypeMeta: k.lease.TypeMeta}
	return decode(body, k.lease)
}

// sync starts or ends a pod.
func (k *kubelet) sync(ctx context.Context, pod *corev1.Pod) error {
	path := podsPath(pod.Namespace) + "/" + pod.Name
	status := running(podNumber(pod.Name))
	if pod.DeletionTimestamp != nil {
		status = ended()
	}
	_, err := k.link.ask(ctx, "PATCH of a pod's status", k.load.request(aKubelet, "PATCH", path+"/status", status, strategicMerge), false)
	if err != nil || pod.DeletionTimestamp == nil {
		return err
	}
	_, err = k.link.ask(ctx, "DELETE of an ended pod", k.load.request(aKubelet, "DELETE", path+"?gracePeriodSeconds=0", nil), false)
	return err
}
