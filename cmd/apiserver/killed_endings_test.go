package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/loopback/loopbacktest"
)

// Two servers with their controllers, and etcd, are killed at any moment while namespaces end and garbage is collected, for
// KUBE2014_CHAOS with each API of etcd. Nothing is left over, and nothing goes that has an owner.
func TestServersThatAreKilledLeaveNoGarbage(t *testing.T) {
	duration := chaosTime(t)
	onBackends(t, func(t *testing.T, b backend) {
		store := b.startOne(t)
		seed := uint64(time.Now().UnixNano())
		t.Log("the seed is", seed)
		e := &endings{upheaval: &upheaval{t: t, random: rand.New(rand.NewPCG(seed, 2014)), patience: hangs}}
		for _, name := range []string{"one", "another"} {
			port := loopbacktest.FreePort(t)
			server := processVictim(t, name, append(b.flags(store.URL), "-scheduler", "none", "-machines", "m1", "-port", port))
			server.start()
			e.victims = append(e.victims, server)
			e.clients = append(e.clients, clientv1.New("http://"+net.JoinHostPort("127.0.0.1", port)))
		}
		e.victims = append(e.victims, victim{"etcd", func() { require.NoError(t, store.Kill()) }, func() { require.NoError(t, store.Restart()) }})
		t.Cleanup(e.killers.Wait)
		for end := time.Now().Add(duration); time.Now().Before(end) || e.rounds < 3; {
			e.round()
		}
		e.eventually("all that has an owner is there", func() string { return e.tell(e.lost) })
		t.Log(e.rounds, "namespaces and owners have ended")
	})
}

// endings are namespaces and owners that end, one of each in a round.
type endings struct {
	*upheaval
	clients []*clientv1.Client
	rounds  int
}

func (e *endings) anyClient() *clientv1.Client { return e.clients[e.random.IntN(len(e.clients))] }

// create creates a config map with owners, and returns a reference to it.
func (e *endings) create(namespace, name string, owners ...metav1.OwnerReference) metav1.OwnerReference {
	configs := e.anyClient().In(namespace).ConfigMaps()
	e.insist("create "+name, func(ctx context.Context) error {
		_, err := configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}})
		return err
	}, apierrors.IsAlreadyExists)
	var uid types.UID
	e.insist("read "+name, func(ctx context.Context) error {
		stored, err := configs.Get(ctx, name)
		if err == nil {
			uid = stored.UID
		}
		return err
	}, never)
	blocks := e.random.IntN(2) == 0
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: uid, BlockOwnerDeletion: &blocks}
}

// round lets a namespace and an owner end while servers and etcd are killed, and another client goes on to fill the namespace.
func (e *endings) round() {
	n := e.rounds
	e.rounds++
	namespace := fmt.Sprint("ends-", n)
	e.insist("create a namespace", func(ctx context.Context) error {
		_, err := e.anyClient().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		return err
	}, apierrors.IsAlreadyExists)
	var owner metav1.OwnerReference
	for i := range 5 {
		owner = e.create(namespace, fmt.Sprint("in-", i), slices.DeleteFunc([]metav1.OwnerReference{owner}, func(o metav1.OwnerReference) bool { return o.UID == "" })...)
	}
	ends, stays := e.create("default", fmt.Sprint("ends-", n)), e.create("default", fmt.Sprint("stays-", n))
	dependent := e.create("default", fmt.Sprint("dependent-", n), ends)
	e.create("default", fmt.Sprint("last-", n), dependent)
	e.create("default", fmt.Sprint("kept-", n), stays)
	e.create("default", fmt.Sprint("both-", n), ends, stays)

	policies := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
	policy := policies[e.random.IntN(len(policies))]
	deleting, filling := e.anyClient(), e.anyClient()
	var group sync.WaitGroup
	killing := e.killSome()
	group.Go(func() { e.fillUntilItEnds(filling, namespace) })
	e.insist("delete the namespace", func(ctx context.Context) error {
		return deleting.Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
	}, apierrors.IsNotFound)
	e.insist("delete the owner", func(ctx context.Context) error {
		return deleting.ConfigMaps().Delete(ctx, ends.Name, metav1.DeleteOptions{PropagationPolicy: &policy})
	}, apierrors.IsNotFound)
	<-killing
	group.Wait()
	e.eventually(fmt.Sprintf("round %d, %s", n, policy), func() string {
		return e.tell(func(there objects) string { return there.missing(n, policy == metav1.DeletePropagationOrphan) })
	})
}

// fillUntilItEnds creates objects in a namespace until none can be created.
func (e *endings) fillUntilItEnds(client *clientv1.Client, namespace string) {
	for i := 0; ; i++ {
		ctx, cancel := context.WithTimeout(e.t.Context(), 5*time.Second)
		_, err := client.In(namespace).ConfigMaps().Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("late-", i)}})
		cancel()
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// objects are the namespaces, and the config maps by NAMESPACE/NAME but for those that controllers make.
type objects struct {
	namespaces map[string]bool
	configs    map[string]*corev1.ConfigMap
}

// tell returns what is wrong with the objects, "" for nothing, or that they cannot be read.
func (e *endings) tell(wrong func(there objects) string) string {
	ctx, cancel := context.WithTimeout(e.t.Context(), 5*time.Second)
	defer cancel()
	there, client := objects{map[string]bool{}, map[string]*corev1.ConfigMap{}}, e.anyClient()
	configs, err := client.ConfigMaps().Everywhere().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	namespaces, err := client.Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	for _, namespace := range namespaces.Items {
		there.namespaces[namespace.Name] = true
	}
	for _, config := range configs.Items {
		there.configs[config.Namespace+"/"+config.Name] = config
	}
	return wrong(there)
}

// missing tells what has not yet ended in a round, and what has gone though it had an owner; "" for nothing.
func (o objects) missing(n int, orphaned bool) string {
	named := func(format string) *corev1.ConfigMap { return o.configs[fmt.Sprintf("default/"+format, n)] }
	for key, config := range o.configs {
		if !o.namespaces[config.Namespace] {
			return key + " is left over"
		}
	}
	dependent, last, both := named("dependent-%d"), named("last-%d"), named("both-%d")
	switch {
	case o.namespaces[fmt.Sprint("ends-", n)]:
		return "the namespace is there"
	case named("ends-%d") != nil:
		return "the owner is there"
	case orphaned && (dependent == nil || last == nil):
		return "an orphan has gone"
	case orphaned && len(dependent.OwnerReferences) > 0:
		return "an orphan has an owner"
	case !orphaned && (dependent != nil || last != nil):
		return "a dependent is there"
	case both == nil || len(both.OwnerReferences) != 1:
		return "what has another owner is gone, or has both"
	}
	return ""
}

// lost tells which of the objects of all rounds have gone though they had an owner, "" for none.
func (e *endings) lost(there objects) string {
	for n := range e.rounds {
		for _, name := range []string{"stays", "kept", "both"} {
			if there.configs[fmt.Sprintf("default/%s-%d", name, n)] == nil {
				return fmt.Sprintf("%s-%d is gone", name, n)
			}
		}
	}
	return ""
}
