package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
)

// victim is a process, or what stands for one.
type victim struct {
	name        string
	kill, start func()
}

// upheaval is a cluster whose parts and server are killed, and started again, while a controller is
// scaled, its pods are deleted, and other pods fight for a host port.
type upheaval struct {
	t         *testing.T
	client    *clientv1.Client
	informers *informers.Informers // they must converge
	victims   []victim
	random    *rand.Rand
	patience  time.Duration
	machines  []string

	wanted int // pods of the controller web
	bare   map[string]bool

	killers sync.WaitGroup // kill and start victims: all clean-up comes after them

	mu         sync.Mutex // guards what follows
	seen       []string   // the last changes
	violations []string
}

const (
	mostReplicas = 12
	foughtPort   = 9000
)

// begin makes the controller, its service, and the informers.
func (u *upheaval) begin() {
	labels, none := map[string]string{"app": "web"}, int32(0)
	u.bare = map[string]bool{}
	u.insist("create the controller", func(ctx context.Context) error {
		_, err := u.client.ReplicationControllers().Create(ctx, &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: corev1.ReplicationControllerSpec{Replicas: &none, Selector: labels,
				Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}}}}})
		return err
	}, errors.IsAlreadyExists)
	u.insist("create the service", func(ctx context.Context) error {
		_, err := u.client.Services().Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 8000}}}})
		return err
	}, errors.IsAlreadyExists)
	u.informers = informers.New(u.client, 0)
	u.informers.Pods()
	u.informers.Endpoints()
	u.informers.Run(u.t.Context())
}

// insist does something until it is done. An error that done reports means that it was done before.
func (u *upheaval) insist(what string, do func(ctx context.Context) error, done func(error) bool) {
	u.t.Helper()
	u.eventually(what, func() string {
		ctx, cancel := context.WithTimeout(u.t.Context(), 5*time.Second)
		defer cancel()
		if err := do(ctx); err != nil && !done(err) {
			return err.Error()
		}
		return ""
	})
}

// eventually waits until nothing is missing.
func (u *upheaval) eventually(what string, missing func() string) {
	u.t.Helper()
	for end := time.Now().Add(u.patience); ; time.Sleep(50 * time.Millisecond) {
		is := missing()
		if is == "" {
			return
		}
		require.True(u.t, time.Now().Before(end), "%s: %s", what, is)
	}
}

func never(error) bool { return false }

func (u *upheaval) list() (list *clientv1.List[*corev1.Pod]) {
	u.t.Helper()
	u.insist("list the pods", func(ctx context.Context) (err error) {
		list, err = u.client.Pods().List(ctx, metav1.ListOptions{})
		return err
	}, never)
	return list
}

// rise scales the controller, and kills some victims meanwhile. When it returns, all is as it should
// be, and it was never worse than it may.
func (u *upheaval) rise() {
	before := u.wanted
	u.wanted = u.random.IntN(mostReplicas + 1)
	watching, end := context.WithCancel(u.t.Context())
	var group sync.WaitGroup
	list := u.list()
	group.Go(func() { u.observe(watching, list, max(before, u.wanted)) })
	killing := u.killSome()
	u.insist("scale the controller", func(ctx context.Context) error {
		_, err := u.client.ReplicationControllers().Change(ctx, "web", func(rc *corev1.ReplicationController) error {
			replicas := int32(u.wanted)
			rc.Spec.Replicas = &replicas
			return nil
		})
		return err
	}, never)
	u.fight()
	u.deleteSome(list)
	<-killing
	u.eventually(fmt.Sprintf("from %d to %d pods", before, u.wanted), u.missing)
	end()
	group.Wait()
	require.Empty(u.t, u.violations, "after %s", strings.Join(u.seen, "\n"))
}

// killSome kills some victims one after the other, which start again after a while.
func (u *upheaval) killSome() (done chan struct{}) {
	order, done := u.random.Perm(len(u.victims))[:1+u.random.IntN(3)], make(chan struct{})
	var pauses []time.Duration
	for range 2 * len(order) {
		pauses = append(pauses, time.Duration(u.random.IntN(400))*time.Millisecond)
	}
	u.killers.Go(func() {
		defer close(done)
		for i, number := range order {
			time.Sleep(pauses[2*i])
			u.note("killed " + u.victims[number].name)
			u.victims[number].kill()
			time.Sleep(pauses[2*i+1])
			u.victims[number].start()
		}
	})
	return done
}

// deleteSome deletes some of the pods.
func (u *upheaval) deleteSome(list *clientv1.List[*corev1.Pod]) {
	for range u.random.IntN(3) {
		if len(list.Items) == 0 {
			return
		}
		pod := list.Items[u.random.IntN(len(list.Items))]
		uid := pod.UID
		u.insist("delete a pod", func(ctx context.Context) error {
			return u.client.Pods().Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		}, func(err error) bool { return errors.IsNotFound(err) || errors.IsConflict(err) })
		delete(u.bare, pod.Name)
	}
}

// fight creates a pod that wants a host port of which each machine has one.
func (u *upheaval) fight() {
	name := fmt.Sprint("bare-", u.random.IntN(4))
	u.insist("create a pod", func(ctx context.Context) error {
		_, err := u.client.Pods().Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "bare", Image: "nginx", Ports: []corev1.ContainerPort{{HostPort: foughtPort, ContainerPort: foughtPort}}}}}})
		return err
	}, errors.IsAlreadyExists)
	u.bare[name] = true
}

// observe checks each change until the context ends.
func (u *upheaval) observe(ctx context.Context, list *clientv1.List[*corev1.Pod], most int) {
	for ctx.Err() == nil {
		pods, version := map[string]*corev1.Pod{}, list.ResourceVersion
		for _, pod := range list.Items {
			pods[pod.Name] = pod
		}
		u.check(pods, most)
		for expired := false; !expired && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			for event, err := range u.client.Pods().Watch(ctx, metav1.ListOptions{ResourceVersion: version}) {
				if err != nil {
					expired = errors.IsResourceExpired(err)
					break
				}
				pod := event.Object
				version = pod.ResourceVersion
				pods[pod.Name] = pod
				if event.Type == "DELETED" {
					delete(pods, pod.Name)
				}
				u.note(fmt.Sprintf("%s %s %s on %s, deleted %t", version, event.Type, pod.Name, pod.Spec.NodeName, pod.DeletionTimestamp != nil))
				u.check(pods, most)
			}
		}
		for ctx.Err() == nil { // after a 410: from a list on
			var err error
			if list, err = u.client.Pods().List(ctx, metav1.ListOptions{}); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func (u *upheaval) note(what string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.seen = append(u.seen[max(0, len(u.seen)-100):], what)
}

// check checks what there is at one moment.
func (u *upheaval) check(pods map[string]*corev1.Pod, most int) {
	places, active := map[string]string{}, 0
	var wrong []string
	for name, pod := range pods {
		if isActiveWeb(pod) {
			active++
		}
		for _, container := range pod.Spec.Containers {
			for _, port := range container.Ports {
				place := fmt.Sprint(pod.Spec.NodeName, ":", port.HostPort)
				if other, taken := places[place]; taken && pod.Spec.NodeName != "" && port.HostPort != 0 {
					wrong = append(wrong, fmt.Sprintf("%s and %s have %s", name, other, place))
				}
				places[place] = name
			}
		}
	}
	if active > most {
		wrong = append(wrong, fmt.Sprintf("%d pods, but never more than %d were wanted: %v", active, most, slices.Sorted(maps.Keys(pods))))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.violations = append(u.violations, wrong...)
}

func isActiveWeb(pod *corev1.Pod) bool {
	return pod.Labels["app"] == "web" && pod.DeletionTimestamp == nil
}

// missing tells what is not yet as it should be; "" for nothing.
func (u *upheaval) missing() string {
	ctx, cancel := context.WithTimeout(u.t.Context(), 5*time.Second)
	defer cancel()
	list, err := u.client.Pods().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	addresses, active, placed := map[string]bool{}, 0, 0
	for _, pod := range list.Items {
		switch {
		case pod.DeletionTimestamp != nil:
			return pod.Name + " is being deleted"
		case isActiveWeb(pod) && isReady(pod):
			active++
			addresses[pod.Status.PodIP] = true
		case isReady(pod):
			placed++
		case isActiveWeb(pod) || pod.Spec.NodeName != "":
			return pod.Name + " is not ready: " + string(pod.Status.Phase) + " on " + pod.Spec.NodeName
		}
	}
	machines := 3
	if len(list.Items) != active+len(u.bare) || active != u.wanted || placed != min(len(u.bare), machines) {
		return fmt.Sprintf("%d pods, of which %d of the controller and %d others run; wanted %d and %d", len(list.Items), active, placed, u.wanted, len(u.bare))
	}
	rc, err := u.client.ReplicationControllers().Get(ctx, "web")
	if err != nil {
		return err.Error()
	}
	if rc.Status.ObservedGeneration != rc.Generation || int(rc.Status.Replicas) != u.wanted || int(rc.Status.ReadyReplicas) != u.wanted {
		return fmt.Sprintf("the controller tells %d, of which %d are ready, of generation %d", rc.Status.Replicas, rc.Status.ReadyReplicas, rc.Status.ObservedGeneration)
	}
	endpoints, err := u.client.Endpoints().Get(ctx, "web")
	if err != nil {
		return err.Error()
	}
	for _, subset := range endpoints.Subsets {
		for _, address := range subset.Addresses {
			if !addresses[address.IP] {
				return address.IP + " is an endpoint that is no ready pod's"
			}
			delete(addresses, address.IP)
		}
	}
	if len(addresses) > 0 {
		return fmt.Sprintf("of %d pods, %d are no endpoints", active, len(addresses))
	}
	return u.notConverged(list)
}

// notConverged compares the informer's copy with a list.
func (u *upheaval) notConverged(list *clientv1.List[*corev1.Pod]) string {
	store := u.informers.Pods().Store()
	if count := len(store.List()); count != len(list.Items) {
		return fmt.Sprintf("the informer has %d pods of %d", count, len(list.Items))
	}
	for _, pod := range list.Items {
		if copied, there := store.Get(pod.Namespace + "/" + pod.Name); !there || copied.ResourceVersion != pod.ResourceVersion {
			return "the informer's copy of " + pod.Name + " is stale"
		}
	}
	return ""
}
