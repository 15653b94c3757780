package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/master"
)

// place runs once what the program's loops run when a machine may have become free.
func (d *doors) place() { require.NoError(d.t, d.tryPlace()) }

// tryPlace is place for other goroutines than the test's. On etcd3 the program's loop runs
// when it has heard of a change, and not at once when that is answered.
func (d *doors) tryPlace() error {
	if _, err := d.Stores.Objects.Version(); err != nil {
		return err
	}
	return d.Loops.PlacePending()
}

// Nothing is refused: the pod waits. At the first door the 409 stays.
func TestAPodWaitsUntilAMachineIsFree(t *testing.T) {
	for name, free := range map[string]func(d *doors){
		"a task is deleted at the first door":    func(d *doors) { d.send(http.StatusOK, "DELETE", taskPath("owner"), "") },
		"it is deleted at the second door":       func(d *doors) { d.send(http.StatusOK, "DELETE", todaysPods+"/owner", "") },
		"all pods of its label are deleted":      func(d *doors) { d.send(http.StatusOK, "DELETE", todaysPods+"?labelSelector=name=owner", "") },
		"a task gives its port up":               func(d *doors) { d.send(http.StatusOK, "PUT", taskPath("owner"), `{"labels": {"name": "owner"}}`) },
		"a task takes another port in its stead": func(d *doors) { d.send(http.StatusOK, "PUT", taskPath("owner"), encodePort(d.t, "owner", 81)) },
	} {
		t.Run(name, func(t *testing.T) {
			atBothDoors(t, func(t *testing.T, d *doors) {
				d.createTask("owner", 80)
				before := d.createPod(podNamed("p", 80))
				assert.Empty(t, before.Spec.NodeName)
				assert.Equal(t, corev1.PodPending, before.Status.Phase)
				d.send(http.StatusConflict, "POST", "/api/v1beta1/tasks", encodePort(t, "other", 80))
				d.place()
				assertSame(t, before, d.pod("p"), "nothing is free")

				free(d)
				assertSame(t, before, d.pod("p"), "nobody has placed it yet")
				d.place()
				after := d.pod("p")
				assert.NotEqual(t, before.ResourceVersion, after.ResourceVersion)
				before.ResourceVersion, before.Spec.NodeName = after.ResourceVersion, "m1"
				assertSame(t, before, after, "it is the same pod")
				d.place()
				assertSame(t, after, d.pod("p"), "it has its machine for good")
				d.send(http.StatusConflict, "POST", "/api/v1beta1/tasks", encodePort(t, "other", 80))
			}, "-machines", "m1")
		})
	}
}

func encodePort(t *testing.T, id string, hostPort int) string {
	text, err := v1beta1.Codec.Marshal(makeTask(id, hostPort))
	require.NoError(t, err)
	return string(text)
}

// inABubble runs a loop of the program on the doors of an apiserver, with a clock that
// takes no time.
func inABubble(t *testing.T, loop func(*master.Loops, context.Context), test func(d *doors)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := openDoors(t, "-machines", "m1")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			loop(&d.Loops, ctx)
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		test(d)
		stop()
		<-done
	})
}

func TestTheProgramPlacesWaitingPodsOnChangeAtMostOnceASecond(t *testing.T) {
	inABubble(t, (*master.Loops).PlaceOnChange, func(d *doors) {
		d.createTask("owner", 80)
		d.createTask("owner-2", 81)
		d.createPod(podNamed("p", 80))
		d.createPod(podNamed("p-2", 81))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Empty(d.t, d.machineOf("p"))
		d.send(http.StatusOK, "DELETE", taskPath("owner"), "")
		synctest.Wait()
		assert.Equal(d.t, "m1", d.machineOf("p"))
		d.send(http.StatusOK, "DELETE", todaysPods+"/owner-2", "")
		time.Sleep(time.Second - time.Nanosecond)
		synctest.Wait()
		assert.Empty(d.t, d.machineOf("p-2"))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		assert.Equal(d.t, "m1", d.machineOf("p-2"))
	})
}

// Another program may have freed a machine, and this one not have heard of it.
func TestTheProgramPlacesWaitingPodsEveryTenSecondsAnyway(t *testing.T) {
	inABubble(t, (*master.Loops).SyncForever, func(d *doors) {
		d.createTask("owner", 80)
		d.createPod(podNamed("p", 80))
		d.send(http.StatusOK, "DELETE", taskPath("owner"), "")
		synctest.Wait()
		assert.Empty(d.t, d.machineOf("p"))
		time.Sleep(master.SyncPeriod)
		synctest.Wait()
		assert.Equal(d.t, "m1", d.machineOf("p"))
	})
}

func TestAPodThatWaitsIsPlacedByTheNextApiserver(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, flags []string) {
		flags = append(flags, "-machines", "m1")
		first := openDoors(t, flags...)
		first.createTask("owner", 80)
		first.createPod(podNamed("p", 80))
		first.send(http.StatusOK, "DELETE", taskPath("owner"), "")
		next := openDoors(t, flags...)
		require.NoError(t, next.Stores.Reconcile()) // as its loop does first
		next.place()
		assert.Equal(t, "m1", next.machineOf("p"))
		assert.Equal(t, "m1", first.machineOf("p"))
	})
}

func TestWithoutASchedulerPodsWaitForABinding(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		d.createTask("a", 80)
		assert.Equal(t, "m1", d.machineOf("a"), "tasks are placed anyway")
		d.createPod(podNamed("p"))
		d.place()
		assert.Empty(t, d.machineOf("p"))
		d.bind(http.StatusCreated, "p", "m2")
		assert.Equal(t, "m2", d.machineOf("p"))
	}, "-machines", "m1,m2", "-scheduler", "none")
}

// Pods that another scheduler is to place, or that wait for something else first.
func TestPodsThatAreHeldAreLeftAlone(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		gated, others := podNamed("gated"), podNamed("others")
		gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/one"}, {Name: "example.com/two"}}
		others.Spec.SchedulerName = "mine"
		d.createPod(gated)
		d.createPod(others)
		for _, name := range []string{"gated", "others"} {
			d.place()
			assert.Empty(t, d.machineOf(name))
			putBack(d, taskPath(name))
			d.place()
			assert.Empty(t, d.machineOf(name), "the first door lets it be held")
		}
		d.bind(http.StatusConflict, "gated", "m1")
		d.bind(http.StatusCreated, "others", "m2")
		assert.Equal(t, "m2", d.machineOf("others"))

		for _, gates := range []string{`[{"name": "example.com/two"}]`, `[]`} {
			d.place()
			assert.Empty(t, d.machineOf("gated"))
			d.sendAs(http.StatusOK, "PATCH", todaysPods+"/gated", mergePatch, `{"spec": {"schedulingGates": `+gates+`}}`)
		}
		d.place()
		assert.Equal(t, "m1", d.machineOf("gated"))
	}, "-machines", "m1,m2")
}

// Today's scheduler leaves a pod alone that has been told to end.
func TestAPodThatEndsIsNotPlaced(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		d.createTask("owner", 80)
		pod := podNamed("p", 80)
		pod.Finalizers = []string{"example.com/wait"}
		d.createPod(pod)
		d.send(http.StatusOK, "DELETE", todaysPods+"/p", "")
		require.NotNil(t, d.pod("p").DeletionTimestamp)
		d.send(http.StatusOK, "DELETE", taskPath("owner"), "")
		d.place()
		assert.Empty(t, d.machineOf("p"))
	}, "-machines", "m1")
}

func TestABindingIsGivenOnceAndOnlyWhereThePortsAreFree(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		d.createTask("owner", 80) // on m1
		before := d.createPod(podNamed("p", 80))
		d.bind(http.StatusNotFound, "none", "m1")
		assert.Contains(t, d.bind(http.StatusConflict, "p", "m1"), `on machine m1 task \"owner\" has it`)
		assertSame(t, before, d.pod("p"), "nothing has changed")

		binding := corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "m2"}}
		binding.Name, binding.UID = "p", "another"
		d.send(http.StatusConflict, "POST", strings.Replace(todaysPods, "pods", "bindings", 1), encodeAll(t, binding))
		binding.UID, binding.Annotations = before.UID, map[string]string{"why": "it is free"}
		d.send(http.StatusCreated, "POST", strings.Replace(todaysPods, "pods", "bindings", 1), encodeAll(t, binding))
		after := d.pod("p")
		assert.Equal(t, "m2", after.Spec.NodeName)
		assert.Equal(t, "it is free", after.Annotations["why"])
		assert.Contains(t, d.bind(http.StatusConflict, "p", "m2"), `pod p is already assigned to node \"m2\"`)
		assertSame(t, after, d.pod("p"), "nothing has changed")
	}, "-machines", "m1,m2", "-scheduler", "none")
}

// twoDoors are two apiservers on one store; in memory there is only one.
var twoDoors = map[string]func(t *testing.T, flags ...string) []*doors{
	"memory": func(t *testing.T, flags ...string) []*doors { return []*doors{openDoors(t, flags...)} },
	"etcd":   func(t *testing.T, flags ...string) []*doors { return openTwo(t, append(flagsFor["etcd"](t), flags...)) },
	"etcd3": func(t *testing.T, flags ...string) []*doors {
		return openTwo(t, append(flagsFor["etcd3"](t), flags...))
	},
}

func openTwo(t *testing.T, flags []string) []*doors {
	return []*doors{openDoors(t, flags...), openDoors(t, flags...)}
}

// owners returns the machines of the tasks and pods that have one.
func owners(d *doors) map[string]string {
	machines := map[string]string{}
	for _, task := range read[v1beta1.TaskList](d, "/api/v1beta1/tasks").Items {
		if task.CurrentState.Host != "" {
			machines[task.CurrentState.Host] += task.ID
		}
	}
	return machines
}

// Clients of both doors want one host port on three machines, through two apiservers.
func TestAHostPortIsGivenOnceOverBothDoors(t *testing.T) {
	t.Parallel()
	for name, open := range twoDoors {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			both := open(t, "-machines", "m1,m2,m3")
			together := func(do func(d *doors, i int)) {
				var group sync.WaitGroup
				for i := range 16 {
					group.Go(func() { do(both[i/2%len(both)], i) })
				}
				group.Wait()
			}
			together(func(d *doors, i int) {
				if i%2 == 0 {
					status, text := d.do("POST", "/api/v1beta1/tasks", "", encodePort(t, fmt.Sprint("task-", i), 80))
					assert.Contains(t, []int{http.StatusOK, http.StatusConflict}, status, text)
					return
				}
				status, text := d.do("POST", todaysPods, "application/json", encodeAll(t, podNamed(fmt.Sprint("pod-", i), 80)))
				assert.Equal(t, http.StatusCreated, status, text)
			})
			for round := 0; ; round++ {
				machines := owners(both[0])
				require.Len(t, machines, 3)
				for machine, id := range machines {
					require.Regexp(t, "^(task|pod)-[0-9]+$", id, "one owner on %s", machine)
					both[round%len(both)].send(http.StatusOK, "DELETE", taskPath(id), "")
				}
				var waiting corev1.PodList
				require.NoError(t, json.Unmarshal([]byte(both[0].send(http.StatusOK, "GET", todaysPods, "")), &waiting))
				if len(waiting.Items) < 3 {
					break
				}
				require.Less(t, round, 5)
				together(func(d *doors, _ int) { assert.NoError(t, d.tryPlace()) })
			}
		})
	}
}
