package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/client"
	genericoptions "kube2014/pkg/server/options"
)

// chaosTime is how long the load runs: KUBE2014_CHAOS. How long an election takes,
// and what etcd has carried out meanwhile, is up to chance.
func chaosTime(t *testing.T) time.Duration {
	given := os.Getenv("KUBE2014_CHAOS")
	if given == "" {
		t.Skip("make chaos runs it; TestAMemberThatDiesOrHangsLosesNothing is its part that chance has no say in")
	}
	duration, err := time.ParseDuration(given)
	require.NoError(t, err)
	return duration
}

// knowledge is what a client knows about one task after all its requests.
type knowledge int

const (
	exists  knowledge = iota // an acknowledged create
	gone                     // an acknowledged delete
	unknown                  // the last request was not acknowledged
)

// worker creates, updates and deletes its own tasks through one apiserver.
type worker struct {
	name   string
	port   int
	client *client.Client
	acks   *atomic.Int64

	tasks    map[string]knowledge
	versions map[string]string // the last acknowledged version of a task that exists
}

// liveTasks bounds how many tasks a worker has at a time.
const liveTasks = 8

func (w *worker) work(t *testing.T, stop <-chan struct{}) {
	var live []string
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		id := fmt.Sprintf("%s-%d", w.name, n)
		task := limited(makeTask(id, w.port+n%liveTasks))
		_, err := w.client.CreateTask(task)
		if w.note(t, id, err, exists) {
			live = append(live, id)
			task.Labels = map[string]string{"version": id + "-2"}
			if _, err = w.client.UpdateTask(task); err == nil {
				w.versions[id] = id + "-2"
			} else {
				w.versions[id] = "" // either
				w.expectUnavailable(t, err)
			}
		}
		if w.tasks[id] == unknown {
			live = append(live, id) // else those that are there keep their host ports for ever
		}
		for len(live) >= liveTasks {
			id, live = live[0], live[1:]
			err := w.client.DeleteTask(id)
			if w.tasks[id] == unknown && api.KindOf(err) == api.NotFound {
				continue // it was not created, or not yet, or it is deleted
			}
			if !w.note(t, id, err, gone) {
				live = append(live, id)
				break
			}
		}
	}
}

// note records what an answer says about a task.
func (w *worker) note(t *testing.T, id string, err error, done knowledge) bool {
	if err == nil {
		w.acks.Add(1)
		w.tasks[id] = done
		return true
	}
	if done == exists && api.KindOf(err) == api.Conflict {
		w.tasks[id] = gone // its port is taken on all machines, perhaps by an orphaned manifest
		return false
	}
	w.tasks[id] = unknown
	w.expectUnavailable(t, err)
	return false
}

func (w *worker) expectUnavailable(t *testing.T, err error) {
	assert.Equal(t, api.Unavailable, api.KindOf(err), "%s: %v", w.name, err)
}

// rivals create tasks with the same id through both apiservers at once.
func rivals(t *testing.T, clients []*client.Client, stop <-chan struct{}) (once []string) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return once
		default:
		}
		id := fmt.Sprintf("rival-%d", n)
		var won atomic.Int32
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				_, err := clients[i%2].CreateTask(limited(makeTask(id, 0)))
				switch api.KindOf(err) {
				case api.AlreadyExists, api.Unavailable:
				default:
					if assert.NoError(t, err) {
						won.Add(1)
					}
				}
			})
		}
		group.Wait()
		assert.LessOrEqual(t, won.Load(), int32(1), "%s was given more than once", id)
		if won.Load() == 1 {
			once = append(once, id)
		}
		if n%2 == 0 {
			if err := clients[n/2%2].DeleteTask(id); won.Load() == 1 {
				once = once[:len(once)-1] // gone, or unknown
				assert.Contains(t, []api.ErrorKind{"", api.Unavailable}, api.KindOf(err), id)
			}
		}
	}
}

// A real cluster of three loses members, its leader among them, and gets them
// back, and changes its leader, under load from two apiservers: nothing that was
// acknowledged is lost. One of the apiservers has everything on. make chaos runs it, for each API
// of etcd.
func TestAClusterThatLosesMembersLosesNothing(t *testing.T) {
	duration := chaosTime(t)
	for _, b := range []backend{genericoptions.Etcd2, genericoptions.Etcd3} {
		t.Run("backend="+string(b), func(t *testing.T) { loseMembers(t, b, duration) })
	}
}

func loseMembers(t *testing.T, b backend, duration time.Duration) {
	members, urls := b.start(t, 3)
	flags := append(b.flags(urls...), "-machines", "127.0.0.1,127.0.0.2,127.0.0.3")
	_, log, address := program(t, flags...)
	go log.end() // it is not read any more, and must not fill up
	e := everythingOn(t)
	_, log, _, url := secureProgram(t, hurried, append(e.flags, flags...)...)
	go log.end()
	plain := clientOf(address)
	plain.HTTP = &http.Client{Transport: unbusy{plain.HTTP.Transport, "", &atomic.Int64{}}}
	clients := []*client.Client{plain, e.client(t, url)}

	stop := make(chan struct{})
	var acks atomic.Int64
	var group sync.WaitGroup
	var workers []*worker
	for i := range 8 {
		w := &worker{name: fmt.Sprintf("worker%d", i), client: clients[i%2], acks: &acks,
			port:  10000 + 100*(i/2), // two workers want the same ports
			tasks: map[string]knowledge{}, versions: map[string]string{}}
		workers = append(workers, w)
		group.Go(func() { w.work(t, stop) })
	}
	var once []string
	group.Go(func() { once = rivals(t, clients, stop) })

	progress := func(when string) {
		from := acks.Load()
		eventually(t, func() bool { return acks.Load() > from+20 }, "requests are acknowledged "+when)
	}
	kills, moves := 0, 0
	for end := time.Now().Add(duration); time.Now().Before(end) || kills < 3; kills++ {
		progress("by the whole cluster")
		if kills%2 == 1 && moveLeader(t, members) {
			moves++
			progress("by another leader")
		}
		victim := leader(t, members)
		if kills%2 == 0 {
			victim = (victim + 1) % len(members) // a follower
		}
		if kills%3 == 2 { // it hangs, then continues what it had begun
			require.NoError(t, members[victim].Pause())
			progress("by two members")
			require.NoError(t, members[victim].Resume())
		} else {
			require.NoError(t, members[victim].Kill())
			progress("by two members")
			require.NoError(t, members[victim].Restart())
		}
		require.NoError(t, members[victim].Ready())
	}
	close(stop)
	group.Wait()
	t.Logf("%d members were killed or hung, another one was made the leader %d times; %d creates and deletes were acknowledged", kills, moves, acks.Load())

	for i := range clients {
		checkAcknowledged(t, clients[i], workers, once)
	}
	// The reconcile loop repairs what was left half done.
	eventually(t, func() bool { return b.outOfLine(t, members[0].URL) == "" }, "what was left half done is repaired")
	checkAcknowledged(t, clients[0], workers, once)
	eventually(t, func() bool {
		var lists [2]api.TaskList
		for i, c := range clients {
			insist(t, func() (err error) { lists[i], err = c.ListTasks(nil); return err })
		}
		return reflect.DeepEqual(lists[0].Items, lists[1].Items)
	}, "both apiservers answer the same")
	e.checkAudit(t)
}

func checkAcknowledged(t *testing.T, c *client.Client, workers []*worker, once []string) {
	t.Helper()
	var tasks api.TaskList
	insist(t, func() (err error) { tasks, err = c.ListTasks(nil); return err })
	found := map[string]int{}
	versions := map[string]string{}
	for _, task := range tasks.Items {
		found[task.ID]++
		versions[task.ID] = task.Labels["version"]
	}
	for id, times := range found {
		assert.Equal(t, 1, times, "%s is there once", id)
	}
	for _, w := range workers {
		for id, known := range w.tasks {
			switch known {
			case exists:
				assert.Equal(t, 1, found[id], "%s was acknowledged", id)
				if want := w.versions[id]; want != "" {
					assert.Equal(t, want, versions[id], "the update of %s was acknowledged", id)
				}
			case gone:
				assert.Zero(t, found[id], "deleting %s was acknowledged", id)
			}
		}
	}
	for _, id := range once {
		assert.Equal(t, 1, found[id], "%s was acknowledged", id)
	}
}

// outOfLine compares the tasks, the lists of manifests and the index, using only
// HTTP and the key table of docs/etcd.md. It returns an inconsistency, "" for
// none.
func outOfLine(t *testing.T, etcdURL string) string {
	keys := keysIn(t, etcdURL, "/registry")
	index := keysIn(t, etcdURL, "/registry/_tasks")
	listed := map[string]int{} // MACHINE/ID → how often the manifest is in the machine's list
	owners := map[string]string{}
	for key, value := range keys {
		machine, ok := strings.CutSuffix(strings.TrimPrefix(key, "/registry/hosts/"), "/kubelet")
		if !ok {
			continue
		}
		var manifests []v1beta1.ContainerManifest
		require.NoError(t, json.Unmarshal([]byte(value), &manifests))
		for _, manifest := range manifests {
			listed[machine+"/"+manifest.Id]++
		}
	}
	for key, value := range keys {
		machine, id, ok := strings.Cut(strings.TrimPrefix(key, "/registry/hosts/"), "/tasks/")
		podID, isPod := strings.CutPrefix(key, "/registry/pods/")
		if !ok && !isPod {
			continue
		}
		var task v1beta1.Task
		require.NoError(t, json.Unmarshal([]byte(value), &task))
		if isPod {
			machine, id = task.CurrentState.Host, podID
		}
		for _, container := range task.DesiredState.Manifest.Containers {
			for _, port := range container.Ports {
				place := fmt.Sprint(machine, ":", port.HostPort)
				if owner, taken := owners[place]; taken && port.HostPort != 0 && machine != "" {
					return place + " is shared by " + owner + " and " + key
				}
				owners[place] = key
			}
		}
		if times := listed[machine+"/"+id]; machine != "" && times != 1 {
			return fmt.Sprintf("%s is listed %d times", key, times)
		}
		entry := index["/registry/_tasks/"+id]
		if (isPod && !strings.HasPrefix(entry, "pods/")) || (!isPod && entry != machine) {
			return fmt.Sprintf("%s is indexed as %q", key, entry)
		}
		delete(listed, machine+"/"+id)
		delete(index, "/registry/_tasks/"+id)
	}
	if len(listed)+len(index) > 0 {
		return fmt.Sprintf("left behind: manifests %v, index %v", listed, index)
	}
	return ""
}
