package deployment_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/servertest"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller/deployment"
)

// bench is a server with a deployment controller and a fleet, and the events of the former.
type bench struct {
	*servertest.Server
	t      testing.TB
	client *clientv1.Client
	fleet  *fleet

	mu     sync.Mutex // guards what follows
	events []string
}

// Eventf implements record.EventRecorder.
func (b *bench) Eventf(about clientv1.Object, eventType, reason, message string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, fmt.Sprintf("%s %s %s: %s", about.GetName(), eventType, reason, fmt.Sprintf(message, args...)))
}

// takeEvents returns the events so far, and forgets them.
func (b *bench) takeEvents() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

func withBench(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		client := server.Client(t, "test")
		b := &bench{Server: server, t: t, client: client, fleet: newFleet(t, client)}
		servertest.Run(t, b.fleet.run)
		test(t, b)
	})
}

// run runs a new controller, with informers of its own, until the function that it returns is called.
func (b *bench) run() (stop func()) {
	client := b.Server.Client(b.t, "deployment_controller")
	shared := informers.New(client, 0)
	controller := deployment.NewDeploymentController(deployment.Config{Client: client, Informers: shared, Recorder: b})
	return servertest.Run(b.t, func(ctx context.Context) {
		shared.Run(ctx)
		controller.Run(ctx, 2)
	})
}

// settle lets time pass.
func (b *bench) settle(while time.Duration) {
	time.Sleep(while)
	synctest.Wait()
}

func deploymentOf(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "one"}}}}}}
}

// create creates a deployment that changes make of one with 10 pods of the image one.
func (b *bench) create(changes ...func(d *appsv1.Deployment)) *appsv1.Deployment {
	b.t.Helper()
	d := deploymentOf("web", 10)
	for _, change := range changes {
		change(d)
	}
	d, err := b.client.Deployments().Create(b.t.Context(), d)
	require.NoError(b.t, err)
	return d
}

func (b *bench) change(changes ...func(d *appsv1.Deployment)) {
	b.t.Helper()
	_, err := b.client.Deployments().Change(b.t.Context(), "web", func(d *appsv1.Deployment) error {
		for _, change := range changes {
			change(d)
		}
		return nil
	})
	require.NoError(b.t, err)
}

func image(name string) func(d *appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = name }
}

func size(replicas int32) func(d *appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &replicas }
}

func paused(is bool) func(d *appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Paused = is }
}

func recreate(d *appsv1.Deployment) {
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

// rolling sets the limits of a rolling update, each a number or a percentage.
func rolling(surge, unavailable string) func(d *appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		s, u := intstr.Parse(surge), intstr.Parse(unavailable)
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &s, MaxUnavailable: &u}}
	}
}

func (b *bench) get() *appsv1.Deployment {
	b.t.Helper()
	d, err := b.client.Deployments().Get(b.t.Context(), "web")
	require.NoError(b.t, err)
	return d
}

// sets returns the replica sets, the oldest first.
func (b *bench) sets() []*appsv1.ReplicaSet {
	b.t.Helper()
	list, err := b.client.ReplicaSets().List(b.t.Context(), metav1.ListOptions{})
	require.NoError(b.t, err)
	slices.SortFunc(list.Items, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return list.Items
}

// sizes returns how many pods the replica sets want, by their images.
func (b *bench) sizes() map[string]int32 {
	b.t.Helper()
	sizes := map[string]int32{}
	for _, set := range b.sets() {
		sizes[imageOf(set)] += *set.Spec.Replicas
	}
	return sizes
}

func imageOf(set *appsv1.ReplicaSet) string { return set.Spec.Template.Spec.Containers[0].Image }

// set returns the replica set of an image.
func (b *bench) set(image string) *appsv1.ReplicaSet {
	b.t.Helper()
	for _, set := range b.sets() {
		if imageOf(set) == image {
			return set
		}
	}
	require.FailNow(b.t, "there is no replica set", image)
	return nil
}

func (b *bench) createSet(set *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	b.t.Helper()
	created, err := b.client.ReplicaSets().Create(b.t.Context(), set)
	require.NoError(b.t, err)
	return created
}

func (b *bench) changeSet(name string, change func(set *appsv1.ReplicaSet)) {
	b.t.Helper()
	_, err := b.client.ReplicaSets().Change(b.t.Context(), name, func(set *appsv1.ReplicaSet) error {
		change(set)
		return nil
	})
	require.NoError(b.t, err)
}

// condition returns a condition of the deployment as STATUS REASON: MESSAGE, or nothing.
func (b *bench) condition(of appsv1.DeploymentConditionType) string {
	b.t.Helper()
	for _, c := range b.get().Status.Conditions {
		if c.Type == of {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

func (b *bench) progressing() string {
	b.t.Helper()
	return b.condition(appsv1.DeploymentProgressing)
}

// requireDone checks that all pods are those of an image, and available.
func (b *bench) requireDone(image string, replicas int32) {
	b.t.Helper()
	for _, set := range b.sets() {
		want := int32(0)
		if imageOf(set) == image {
			want = replicas
		}
		require.Equal(b.t, want, *set.Spec.Replicas, imageOf(set))
	}
	d := b.get()
	require.Equal(b.t, []int32{replicas, replicas, replicas, replicas, 0},
		[]int32{d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas, d.Status.UnavailableReplicas})
	require.Equal(b.t, d.Generation, d.Status.ObservedGeneration)
	require.Equal(b.t, fmt.Sprintf(`True NewReplicaSetAvailable: ReplicaSet "%s" has successfully progressed.`, b.set(image).Name), b.progressing())
	require.Equal(b.t, "True MinimumReplicasAvailable: Deployment has minimum availability.", b.condition(appsv1.DeploymentAvailable))
}

// interceptSets lets a function see each request of the controller that changes replica sets, counted from 1.
func (b *bench) interceptSets(between func(number int, w http.ResponseWriter, req *http.Request, next http.Handler)) {
	var mu sync.Mutex
	count := 0
	b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.Method == http.MethodGet || req.UserAgent() == "test" || !strings.Contains(req.URL.Path, "/replicasets") {
			next.ServeHTTP(w, req)
			return
		}
		mu.Lock()
		count++
		number := count
		mu.Unlock()
		between(number, w, req, next)
	})
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
}

func TestADeploymentGetsAReplicaSetOfItsTemplate(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		d := b.create(func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{"note": "copied", corev1.LastAppliedConfigAnnotation: "{}"}
			d.Spec.MinReadySeconds = 3
		})
		b.settle(time.Second)
		require.Len(t, b.sets(), 1)
		set := b.sets()[0]
		hash := set.Labels["pod-template-hash"]
		assert.NotEmpty(t, hash)
		assert.Equal(t, "web-"+hash, set.Name)
		labels := map[string]string{"app": "web", "pod-template-hash": hash}
		assert.Equal(t, labels, set.Labels)
		assert.Equal(t, labels, set.Spec.Selector.MatchLabels)
		assert.Equal(t, labels, set.Spec.Template.Labels)
		assert.Equal(t, map[string]string{"note": "copied", "deployment.kubernetes.io/revision": "1",
			"deployment.kubernetes.io/desired-replicas": "10", "deployment.kubernetes.io/max-replicas": "13"}, set.Annotations)
		assert.Equal(t, []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: d.UID,
			Controller: new(true), BlockOwnerDeletion: new(true)}}, set.OwnerReferences)
		assert.Equal(t, int32(10), *set.Spec.Replicas)
		assert.Equal(t, int32(3), set.Spec.MinReadySeconds)
		assert.Equal(t, []string{"web Normal ScalingReplicaSet: Scaled up replica set " + set.Name + " from 0 to 10"}, b.takeEvents())
		assert.Equal(t, "1", b.get().Annotations["deployment.kubernetes.io/revision"])
		assert.Equal(t, "False MinimumReplicasUnavailable: Deployment does not have minimum availability.", b.condition(appsv1.DeploymentAvailable))
		b.settle(10 * time.Second)
		b.requireDone("one", 10)
		assert.Equal(t, new(int32(0)), b.get().Status.TerminatingReplicas)
		assert.Nil(t, b.get().Status.CollisionCount)
		version := b.get().ResourceVersion
		b.settle(time.Hour)
		assert.Equal(t, version, b.get().ResourceVersion, "nothing more is to be said")
		assert.Empty(t, b.takeEvents())
	})
}

func TestARollingUpdateKeepsItsLimits(t *testing.T) {
	for _, row := range []struct {
		replicas           int32
		surge, unavailable string
		most, least        int
	}{
		{10, "25%", "25%", 13, 8},
		{10, "3", "2", 13, 8},
		{10, "0", "1", 10, 9},
		{10, "1", "0", 11, 10},
		{10, "0", "1%", 10, 9}, // rounded down to 0, which would be no update
		{1, "25%", "25%", 2, 1},
		{3, "100%", "0", 6, 3},
		{4, "0", "100%", 4, 0},
		{200, "25%", "25%", 250, 150},
	} {
		t.Run(fmt.Sprint(row.replicas, " ", row.surge, " ", row.unavailable), func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				b.run()
				b.create(size(row.replicas), rolling(row.surge, row.unavailable))
				b.settle(10 * time.Second)
				b.requireDone("one", row.replicas)
				b.fleet.expect(row.most, row.least)
				b.change(image("two"))
				b.settle(5 * time.Minute)
				b.requireDone("two", row.replicas)
				if row.surge != "0" {
					assert.Equal(t, row.most, b.fleet.highest, "the limit is used")
				}
				assert.Equal(t, "2", b.get().Annotations["deployment.kubernetes.io/revision"])
			})
		})
	}
}

func TestAnUpdateThatNeverWorksStopsAtItsLimits(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(rolling("3", "2"))
		b.settle(10 * time.Second)
		b.fleet.change(func(f *fleet) { f.broken = "bad" })
		b.fleet.expect(13, 8)
		b.change(image("bad"))
		b.settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 8, "bad": 5}, b.sizes())
		assert.Equal(t, int32(8), b.get().Status.AvailableReplicas)
		assert.Equal(t, int32(5), b.get().Status.UnavailableReplicas)
		assert.Equal(t, int32(5), b.get().Status.UpdatedReplicas)

		b.change(image("three")) // what never worked goes first
		b.settle(time.Minute)
		b.requireDone("three", 10)
	})
}

func TestMinReadySecondsAreWaitedFor(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(rolling("1", "0"), size(1))
		b.settle(10 * time.Second)
		b.requireDone("one", 1)
		b.change(func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 30 })
		b.settle(time.Minute)
		assert.Equal(t, int32(30), b.set("one").Spec.MinReadySeconds, "this is no other template")
		b.change(image("two"))
		b.settle(25 * time.Second)
		assert.Equal(t, map[string]int32{"one": 1, "two": 1}, b.sizes())
		b.settle(10 * time.Second)
		b.requireDone("two", 1)
	})
}

func TestADeploymentIsScaled(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create()
		b.settle(10 * time.Second)
		b.takeEvents()
		for _, replicas := range []int32{15, 2, 0, 4} {
			b.change(size(replicas))
			b.settle(10 * time.Second)
			b.requireDone("one", replicas)
		}
		name := b.set("one").Name
		assert.Equal(t, []string{
			"web Normal ScalingReplicaSet: Scaled up replica set " + name + " from 10 to 15",
			"web Normal ScalingReplicaSet: Scaled down replica set " + name + " from 15 to 2",
			"web Normal ScalingReplicaSet: Scaled down replica set " + name + " from 2 to 0",
			"web Normal ScalingReplicaSet: Scaled up replica set " + name + " from 0 to 4"}, b.takeEvents())
		assert.Equal(t, "4", b.set("one").Annotations["deployment.kubernetes.io/desired-replicas"])
		assert.Equal(t, "5", b.set("one").Annotations["deployment.kubernetes.io/max-replicas"])
		assert.Equal(t, "1", b.get().Annotations["deployment.kubernetes.io/revision"])
	})
}

// The numbers are those of today's controller.
func TestADeploymentThatIsScaledWhileItRollsOutKeepsItsProportions(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(rolling("3", "2"))
		b.settle(10 * time.Second)
		b.fleet.change(func(f *fleet) { f.broken = "bad" })
		b.change(image("bad"))
		b.settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 8, "bad": 5}, b.sizes())
		b.fleet.expect(33, 0)
		b.change(size(30))
		b.settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 20, "bad": 13}, b.sizes())
		b.change(size(5))
		b.settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 3, "bad": 5}, b.sizes(), "5 and 3, and then the update goes on to its limits")
		b.change(size(0))
		b.settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 0, "bad": 0}, b.sizes())
	})
}

func TestAPausedDeploymentRollsNothingOutButIsScaled(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(rolling("3", "2"))
		b.settle(10 * time.Second)
		b.fleet.change(func(f *fleet) { f.broken = "two" })
		b.change(image("two"))
		b.settle(time.Minute)
		b.change(paused(true))
		b.settle(time.Minute)
		assert.Equal(t, "Unknown DeploymentPaused: Deployment is paused", b.progressing())
		b.fleet.change(func(f *fleet) { f.broken = "" })
		b.settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 8, "two": 5}, b.sizes())
		b.change(size(20))
		b.settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 14, "two": 9}, b.sizes())
		b.change(image("three"))
		b.settle(time.Hour)
		assert.Equal(t, map[string]int32{"one": 14, "two": 9}, b.sizes())
		assert.Equal(t, "Unknown DeploymentPaused: Deployment is paused", b.progressing(), "a pause has no deadline")
		assert.Equal(t, b.get().Generation, b.get().Status.ObservedGeneration)
		b.fleet.expect(23, 18)
		b.change(paused(false))
		b.settle(time.Minute)
		b.requireDone("three", 20)
	})
}

func TestADeploymentThatIsResumedSaysSo(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.fleet.change(func(f *fleet) { f.broken = "one" })
		b.run()
		b.create()
		b.settle(10 * time.Second)
		b.change(paused(true))
		b.settle(time.Hour)
		b.change(paused(false))
		b.settle(time.Minute)
		assert.Equal(t, "Unknown DeploymentResumed: Deployment is resumed", b.progressing())
		b.settle(10 * time.Minute)
		assert.Contains(t, b.progressing(), "False ProgressDeadlineExceeded", "the deadline begins with that")
	})
}

func TestADeploymentThatIsCreatedPausedMakesNothing(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(paused(true))
		b.settle(time.Minute)
		assert.Empty(t, b.sets())
		assert.Equal(t, int64(1), b.get().Status.ObservedGeneration)
		b.change(paused(false))
		b.settle(time.Minute)
		b.requireDone("one", 10)
	})
}

// K109.
func TestARollbackTakesTheOldReplicaSetUpAgain(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(func(d *appsv1.Deployment) { d.Annotations = map[string]string{"kubernetes.io/change-cause": "first"} })
		b.settle(time.Minute)
		first := b.set("one").UID
		b.change(image("two"), func(d *appsv1.Deployment) { d.Annotations["kubernetes.io/change-cause"] = "second" })
		b.settle(time.Minute)
		b.change(image("one"), func(d *appsv1.Deployment) { d.Annotations["kubernetes.io/change-cause"] = "third" })
		b.settle(time.Minute)
		b.requireDone("one", 10)
		b.change(image("two"))
		b.settle(time.Minute)
		b.change(image("one"))
		b.settle(time.Minute)
		b.requireDone("one", 10)
		one, two := b.set("one"), b.set("two")
		assert.Equal(t, first, one.UID)
		assert.Len(t, b.sets(), 2)
		assert.Equal(t, "5", one.Annotations["deployment.kubernetes.io/revision"])
		assert.Equal(t, "1,3", one.Annotations["deployment.kubernetes.io/revision-history"])
		assert.Equal(t, "third", one.Annotations["kubernetes.io/change-cause"])
		assert.Equal(t, "4", two.Annotations["deployment.kubernetes.io/revision"])
		assert.Equal(t, "5", b.get().Annotations["deployment.kubernetes.io/revision"])
	})
}

func TestALongHistoryLosesItsBeginning(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create()
		b.settle(time.Minute)
		var long []string
		for i := range 400 {
			long = append(long, fmt.Sprint(1000+i))
		}
		b.changeSet(b.set("one").Name, func(set *appsv1.ReplicaSet) {
			set.Annotations["deployment.kubernetes.io/revision-history"] = strings.Join(long, ",")
		})
		b.change(image("two"))
		b.settle(time.Minute)
		b.change(image("one"))
		b.settle(time.Minute)
		history := b.set("one").Annotations["deployment.kubernetes.io/revision-history"]
		assert.Equal(t, strings.Join(long[1:], ",")+",1", history)
	})
}

func TestOldReplicaSetsAreDeletedButForTheHistory(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(size(2), func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(2)) })
		b.settle(time.Minute)
		for _, name := range []string{"two", "three", "four", "one", "five"} {
			b.change(image(name))
			b.settle(time.Minute)
			b.requireDone(name, 2)
		}
		assert.Equal(t, map[string]int32{"four": 0, "one": 0, "five": 2}, b.sizes())
		assert.Equal(t, "6", b.get().Annotations["deployment.kubernetes.io/revision"])
		b.change(func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) })
		b.settle(time.Minute)
		assert.Equal(t, map[string]int32{"five": 2}, b.sizes())
	})
}

func TestRecreateWaitsUntilTheOldPodsAreGone(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(recreate)
		b.settle(time.Minute)
		b.requireDone("one", 10)
		b.fleet.expect(10, 0)
		b.fleet.terminate(b.set("one"), 2)
		b.takeEvents()
		b.change(image("two"))
		b.settle(10 * time.Minute)
		assert.Equal(t, map[string]int32{"one": 0}, b.sizes())
		assert.Equal(t, new(int32(2)), b.get().Status.TerminatingReplicas)
		b.fleet.terminate(b.set("one"), 0)
		b.settle(10 * time.Second)
		b.requireDone("two", 10)
		assert.Equal(t, []string{
			"web Normal ScalingReplicaSet: Scaled down replica set " + b.set("one").Name + " from 10 to 0",
			"web Normal ScalingReplicaSet: Scaled up replica set " + b.set("two").Name + " from 0 to 10"}, b.takeEvents())
		b.change(image("one"), size(5))
		b.settle(time.Minute)
		b.requireDone("one", 5)
	})
}

func TestAnUpdateThatDoesNotProgressTimesOut(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(rolling("3", "2"), func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(60)) })
		b.settle(10 * time.Second)
		b.fleet.change(func(f *fleet) { f.broken = "bad" })
		b.change(image("bad"))
		b.settle(50 * time.Second)
		name := b.set("bad").Name
		assert.Equal(t, `True ReplicaSetUpdated: ReplicaSet "`+name+`" is progressing.`, b.progressing())
		b.settle(20 * time.Second)
		assert.Equal(t, `False ProgressDeadlineExceeded: ReplicaSet "`+name+`" has timed out progressing.`, b.progressing())
		b.change(paused(true))
		b.settle(time.Minute)
		assert.Contains(t, b.progressing(), "ProgressDeadlineExceeded", "a pause does not hide that")
		b.change(paused(false), image("one"))
		b.settle(time.Minute)
		b.requireDone("one", 10)
	})
}

func TestWithoutADeadlineNothingIsSaidOfProgress(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create()
		b.settle(time.Minute)
		b.change(func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(1<<31 - 1)) })
		b.settle(time.Minute)
		assert.Empty(t, b.progressing())
		b.change(func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(600)) })
		b.settle(time.Minute)
		b.requireDone("one", 10)
	})
}

// A deployment says from its creation on what it does.
func TestADeploymentTellsItsProgress(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		var told []string
		var mu sync.Mutex
		b.run()
		servertest.Run(t, func(ctx context.Context) {
			for event, err := range b.client.Deployments().Watch(ctx, metav1.ListOptions{}) {
				if err != nil {
					return
				}
				for _, c := range event.Object.Status.Conditions {
					if c.Type == appsv1.DeploymentProgressing {
						mu.Lock()
						told = append(told, c.Reason)
						mu.Unlock()
					}
				}
			}
		})
		b.create(size(4))
		b.settle(10 * time.Second)
		b.change(image("two"))
		b.settle(10 * time.Second)
		b.change(image("one"))
		b.settle(10 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, []string{"NewReplicaSetCreated", "ReplicaSetUpdated", "NewReplicaSetAvailable", "NewReplicaSetCreated", "ReplicaSetUpdated",
			"NewReplicaSetAvailable", "FoundNewReplicaSet", "ReplicaSetUpdated", "NewReplicaSetAvailable"}, slices.Compact(told))
	})
}

func TestFailuresOfReplicaSetsAreTold(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create()
		b.settle(time.Minute)
		tell := func(conditions ...appsv1.ReplicaSetCondition) {
			set := b.set("one")
			set.Status.Conditions = conditions
			_, err := b.client.ReplicaSets().UpdateStatus(t.Context(), set)
			require.NoError(t, err)
			b.settle(time.Second)
		}
		tell(appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota"})
		assert.Equal(t, "True FailedCreate: exceeded quota", b.condition(appsv1.DeploymentReplicaFailure))
		tell()
		assert.Empty(t, b.condition(appsv1.DeploymentReplicaFailure))
	})
}
