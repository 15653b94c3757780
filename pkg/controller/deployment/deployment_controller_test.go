package deployment_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/controller"
	"kube2014/pkg/controller/deployment"
	"kube2014/pkg/master/controllertest"
	"kube2014/pkg/master/servertest"
)

// bench is a server with a deployment controller and a fleet, and the events of the former.
type bench struct {
	*controllertest.Bench
	fleet *fleet
}

func withBench(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	controllertest.InBubble(t, func(t *testing.T, shared *controllertest.Bench) {
		b := &bench{shared, newFleet(t, shared.API)}
		servertest.Run(t, b.fleet.run)
		test(t, b)
	})
}

// run runs a new controller until the function that it returns is called.
func (b *bench) run() (stop func()) {
	return controllertest.Run(b.Bench, 0, deployment.NewDeploymentController)
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
	d := deploymentOf("web", 10)
	for _, change := range changes {
		change(d)
	}
	return controllertest.Create(b.T, b.API.Deployments(), d)
}

func (b *bench) change(changes ...func(d *appsv1.Deployment)) {
	controllertest.Change(b.T, b.API.Deployments(), "web", changes...)
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

func (b *bench) get() *appsv1.Deployment { return controllertest.Get(b.T, b.API.Deployments(), "web") }

// sets returns the replica sets, the oldest first.
func (b *bench) sets() []*appsv1.ReplicaSet {
	return slices.SortedFunc(slices.Values(controllertest.List(b.T, b.API.ReplicaSets())), controller.CompareAge)
}

// sizes returns how many pods the replica sets want, by their images.
func (b *bench) sizes() map[string]int32 {
	b.T.Helper()
	sizes := map[string]int32{}
	for _, set := range b.sets() {
		sizes[imageOf(set)] += *set.Spec.Replicas
	}
	return sizes
}

func imageOf(set *appsv1.ReplicaSet) string { return set.Spec.Template.Spec.Containers[0].Image }

// set returns the replica set of an image.
func (b *bench) set(image string) *appsv1.ReplicaSet {
	b.T.Helper()
	for _, set := range b.sets() {
		if imageOf(set) == image {
			return set
		}
	}
	require.FailNow(b.T, "there is no replica set", image)
	return nil
}

func (b *bench) createSet(set *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	return controllertest.Create(b.T, b.API.ReplicaSets(), set)
}

func (b *bench) changeSet(name string, change func(set *appsv1.ReplicaSet)) {
	controllertest.Change(b.T, b.API.ReplicaSets(), name, change)
}

// condition returns a condition of the deployment as STATUS REASON: MESSAGE, or nothing.
func (b *bench) condition(of appsv1.DeploymentConditionType) string {
	b.T.Helper()
	for _, c := range b.get().Status.Conditions {
		if c.Type == of {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

func (b *bench) progressing() string {
	b.T.Helper()
	return b.condition(appsv1.DeploymentProgressing)
}

// requireDone checks that all pods are those of an image, and available.
func (b *bench) requireDone(image string, replicas int32) {
	b.T.Helper()
	for _, set := range b.sets() {
		want := int32(0)
		if imageOf(set) == image {
			want = replicas
		}
		require.Equal(b.T, want, *set.Spec.Replicas, imageOf(set))
	}
	d := b.get()
	require.Equal(b.T, []int32{replicas, replicas, replicas, replicas, 0},
		[]int32{d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas, d.Status.UnavailableReplicas})
	require.Equal(b.T, d.Generation, d.Status.ObservedGeneration)
	require.Equal(b.T, fmt.Sprintf(`True NewReplicaSetAvailable: ReplicaSet "%s" has successfully progressed.`, b.set(image).Name), b.progressing())
	require.Equal(b.T, "True MinimumReplicasAvailable: Deployment has minimum availability.", b.condition(appsv1.DeploymentAvailable))
}

func TestADeploymentGetsAReplicaSetOfItsTemplate(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		d := b.create(func(d *appsv1.Deployment) {
			d.Annotations = map[string]string{"note": "copied", corev1.LastAppliedConfigAnnotation: "{}"}
			d.Spec.MinReadySeconds = 3
		})
		b.Settle(time.Second)
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
		assert.Equal(t, []string{"web Normal ScalingReplicaSet: Scaled up replica set " + set.Name + " from 0 to 10"}, b.TakeEvents())
		assert.Equal(t, "1", b.get().Annotations["deployment.kubernetes.io/revision"])
		assert.Equal(t, "False MinimumReplicasUnavailable: Deployment does not have minimum availability.", b.condition(appsv1.DeploymentAvailable))
		b.Settle(10 * time.Second)
		b.requireDone("one", 10)
		assert.Equal(t, new(int32(0)), b.get().Status.TerminatingReplicas)
		assert.Nil(t, b.get().Status.CollisionCount)
		version := b.get().ResourceVersion
		b.Settle(time.Hour)
		assert.Equal(t, version, b.get().ResourceVersion, "nothing more is to be said")
		assert.Empty(t, b.TakeEvents())
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
				b.Settle(10 * time.Second)
				b.requireDone("one", row.replicas)
				b.fleet.expect(row.most, row.least)
				b.change(image("two"))
				b.Settle(5 * time.Minute)
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
		b.Settle(10 * time.Second)
		b.fleet.change(func(f *fleet) { f.broken = "bad" })
		b.fleet.expect(13, 8)
		b.change(image("bad"))
		b.Settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 8, "bad": 5}, b.sizes())
		assert.Equal(t, int32(8), b.get().Status.AvailableReplicas)
		assert.Equal(t, int32(5), b.get().Status.UnavailableReplicas)
		assert.Equal(t, int32(5), b.get().Status.UpdatedReplicas)

		b.change(image("three")) // what never worked goes first
		b.Settle(time.Minute)
		b.requireDone("three", 10)
	})
}

func TestMinReadySecondsAreWaitedFor(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(rolling("1", "0"), size(1))
		b.Settle(10 * time.Second)
		b.requireDone("one", 1)
		b.change(func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 30 })
		b.Settle(time.Minute)
		assert.Equal(t, int32(30), b.set("one").Spec.MinReadySeconds, "this is no other template")
		b.change(image("two"))
		b.Settle(25 * time.Second)
		assert.Equal(t, map[string]int32{"one": 1, "two": 1}, b.sizes())
		b.Settle(10 * time.Second)
		b.requireDone("two", 1)
	})
}

func TestADeploymentIsScaled(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create()
		b.Settle(10 * time.Second)
		b.TakeEvents()
		for _, replicas := range []int32{15, 2, 0, 4} {
			b.change(size(replicas))
			b.Settle(10 * time.Second)
			b.requireDone("one", replicas)
		}
		name := b.set("one").Name
		assert.Equal(t, []string{
			"web Normal ScalingReplicaSet: Scaled up replica set " + name + " from 10 to 15",
			"web Normal ScalingReplicaSet: Scaled down replica set " + name + " from 15 to 2",
			"web Normal ScalingReplicaSet: Scaled down replica set " + name + " from 2 to 0",
			"web Normal ScalingReplicaSet: Scaled up replica set " + name + " from 0 to 4"}, b.TakeEvents())
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
		b.Settle(10 * time.Second)
		b.fleet.change(func(f *fleet) { f.broken = "bad" })
		b.change(image("bad"))
		b.Settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 8, "bad": 5}, b.sizes())
		b.fleet.expect(33, 0)
		b.change(size(30))
		b.Settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 20, "bad": 13}, b.sizes())
		b.change(size(5))
		b.Settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 3, "bad": 5}, b.sizes(), "5 and 3, and then the update goes on to its limits")
		b.change(size(0))
		b.Settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 0, "bad": 0}, b.sizes())
	})
}

func TestAPausedDeploymentRollsNothingOutButIsScaled(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(rolling("3", "2"))
		b.Settle(10 * time.Second)
		b.fleet.change(func(f *fleet) { f.broken = "two" })
		b.change(image("two"))
		b.Settle(time.Minute)
		b.change(paused(true))
		b.Settle(time.Minute)
		assert.Equal(t, "Unknown DeploymentPaused: Deployment is paused", b.progressing())
		b.fleet.change(func(f *fleet) { f.broken = "" })
		b.Settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 8, "two": 5}, b.sizes())
		b.change(size(20))
		b.Settle(time.Minute)
		assert.Equal(t, map[string]int32{"one": 14, "two": 9}, b.sizes())
		b.change(image("three"))
		b.Settle(time.Hour)
		assert.Equal(t, map[string]int32{"one": 14, "two": 9}, b.sizes())
		assert.Equal(t, "Unknown DeploymentPaused: Deployment is paused", b.progressing(), "a pause has no deadline")
		assert.Equal(t, b.get().Generation, b.get().Status.ObservedGeneration)
		b.fleet.expect(23, 18)
		b.change(paused(false))
		b.Settle(time.Minute)
		b.requireDone("three", 20)
	})
}

func TestADeploymentThatIsResumedSaysSo(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.fleet.change(func(f *fleet) { f.broken = "one" })
		b.run()
		b.create()
		b.Settle(10 * time.Second)
		b.change(paused(true))
		b.Settle(time.Hour)
		b.change(paused(false))
		b.Settle(time.Minute)
		assert.Equal(t, "Unknown DeploymentResumed: Deployment is resumed", b.progressing())
		b.Settle(10 * time.Minute)
		assert.Contains(t, b.progressing(), "False ProgressDeadlineExceeded", "the deadline begins with that")
	})
}

func TestADeploymentThatIsCreatedPausedMakesNothing(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(paused(true))
		b.Settle(time.Minute)
		assert.Empty(t, b.sets())
		assert.Equal(t, int64(1), b.get().Status.ObservedGeneration)
		b.change(paused(false))
		b.Settle(time.Minute)
		b.requireDone("one", 10)
	})
}

// K109.
func TestARollbackTakesTheOldReplicaSetUpAgain(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(func(d *appsv1.Deployment) { d.Annotations = map[string]string{"kubernetes.io/change-cause": "first"} })
		b.Settle(time.Minute)
		first := b.set("one").UID
		b.change(image("two"), func(d *appsv1.Deployment) { d.Annotations["kubernetes.io/change-cause"] = "second" })
		b.Settle(time.Minute)
		b.change(image("one"), func(d *appsv1.Deployment) { d.Annotations["kubernetes.io/change-cause"] = "third" })
		b.Settle(time.Minute)
		b.requireDone("one", 10)
		b.change(image("two"))
		b.Settle(time.Minute)
		b.change(image("one"))
		b.Settle(time.Minute)
		b.requireDone("one", 10)
		one, two := b.set("one"), b.set("two")
		assert.Equal(t, first, one.UID)
		assert.Len(t, b.sets(), 2)
		assert.Equal(t, "5", one.Annotations["deployment.kubernetes.io/revision"])
		assert.Equal(t, "1,3", one.Annotations["deployment.kubernetes.io/revision-history"])
		assert.Equal(t, "third", one.Annotations["kubernetes.io/change-cause"])
		assert.Equal(t, "4", two.Annotations["deployment.kubernetes.io/revision"])
		assert.Equal(t, "5", b.get().Annotations["deployment.kubernetes.io/revision"])
		b.change(func(d *appsv1.Deployment) { d.Annotations[appsv1.DeprecatedRollbackTo] = "4" })
		b.Settle(time.Minute)
		b.requireDone("one", 10)
	})
}

func TestALongHistoryLosesItsBeginning(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create()
		b.Settle(time.Minute)
		var long []string
		for i := range 400 {
			long = append(long, fmt.Sprint(1000+i))
		}
		b.changeSet(b.set("one").Name, func(set *appsv1.ReplicaSet) {
			set.Annotations["deployment.kubernetes.io/revision-history"] = strings.Join(long, ",")
		})
		b.change(image("two"))
		b.Settle(time.Minute)
		b.change(image("one"))
		b.Settle(time.Minute)
		history := b.set("one").Annotations["deployment.kubernetes.io/revision-history"]
		assert.Equal(t, strings.Join(long[1:], ",")+",1", history)
	})
}

func TestOldReplicaSetsAreDeletedButForTheHistory(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(size(2), func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(2)) })
		b.Settle(time.Minute)
		for _, name := range []string{"two", "three", "four", "one", "five"} {
			b.change(image(name))
			b.Settle(time.Minute)
			b.requireDone(name, 2)
		}
		assert.Equal(t, map[string]int32{"four": 0, "one": 0, "five": 2}, b.sizes())
		assert.Equal(t, "6", b.get().Annotations["deployment.kubernetes.io/revision"])
		b.change(func(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) })
		b.Settle(time.Minute)
		assert.Equal(t, map[string]int32{"five": 2}, b.sizes())
	})
}

func TestRecreateWaitsUntilTheOldPodsAreGone(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(recreate)
		b.Settle(time.Minute)
		b.requireDone("one", 10)
		b.fleet.expect(10, 0)
		b.fleet.terminate(b.set("one"), 2)
		b.TakeEvents()
		b.change(image("two"))
		b.Settle(10 * time.Minute)
		assert.Equal(t, map[string]int32{"one": 0}, b.sizes())
		assert.Equal(t, new(int32(2)), b.get().Status.TerminatingReplicas)
		b.fleet.terminate(b.set("one"), 0)
		b.Settle(10 * time.Second)
		b.requireDone("two", 10)
		assert.Equal(t, []string{
			"web Normal ScalingReplicaSet: Scaled down replica set " + b.set("one").Name + " from 10 to 0",
			"web Normal ScalingReplicaSet: Scaled up replica set " + b.set("two").Name + " from 0 to 10"}, b.TakeEvents())
		b.change(image("one"), size(5))
		b.Settle(time.Minute)
		b.requireDone("one", 5)
	})
}

func TestAnUpdateThatDoesNotProgressTimesOut(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create(rolling("3", "2"), func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(60)) })
		b.Settle(10 * time.Second)
		b.fleet.change(func(f *fleet) { f.broken = "bad" })
		b.change(image("bad"))
		b.Settle(50 * time.Second)
		name := b.set("bad").Name
		assert.Equal(t, `True ReplicaSetUpdated: ReplicaSet "`+name+`" is progressing.`, b.progressing())
		b.Settle(20 * time.Second)
		assert.Equal(t, `False ProgressDeadlineExceeded: ReplicaSet "`+name+`" has timed out progressing.`, b.progressing())
		b.change(paused(true))
		b.Settle(time.Minute)
		assert.Contains(t, b.progressing(), "ProgressDeadlineExceeded", "a pause does not hide that")
		b.change(paused(false), image("one"))
		b.Settle(time.Minute)
		b.requireDone("one", 10)
	})
}

func TestWithoutADeadlineNothingIsSaidOfProgress(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create()
		b.Settle(time.Minute)
		b.change(func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(1<<31 - 1)) })
		b.Settle(time.Minute)
		assert.Empty(t, b.progressing())
		b.change(func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(600)) })
		b.Settle(time.Minute)
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
			for event, err := range b.API.Deployments().Watch(ctx, metav1.ListOptions{}) {
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
		b.Settle(10 * time.Second)
		b.change(image("two"))
		b.Settle(10 * time.Second)
		b.change(image("one"))
		b.Settle(10 * time.Second)
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
		b.Settle(time.Minute)
		tell := func(conditions ...appsv1.ReplicaSetCondition) {
			set := b.set("one")
			set.Status.Conditions = conditions
			_, err := b.API.ReplicaSets().UpdateStatus(t.Context(), set)
			require.NoError(t, err)
			b.Settle(time.Second)
		}
		tell(appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota"})
		assert.Equal(t, "True FailedCreate: exceeded quota", b.condition(appsv1.DeploymentReplicaFailure))
		tell()
		assert.Empty(t, b.condition(appsv1.DeploymentReplicaFailure))
	})
}
