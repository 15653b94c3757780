package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/api/v1beta1"
)

// asked is one request for one pod, at either door. Its verb is that of the second door,
// or the first door's method; LIST is the first door's GET of all tasks.
type asked struct {
	namespace string // of the pod at the second door, "" for default

	verb    string
	mark    string // the label that a write sets
	host    string // that the pod of a create or an update has, or to which a binding binds
	version uint64 // that an update, a patch or a delete names; 0 for none
	uid     string // that a delete or a binding names; "" for none
}

// told is its answer.
type told struct {
	status  int
	version uint64 // of the pod; 0 if the answer does not say it
	store   uint64 // of the store, in a list
	uid     string // "" if the answer does not say it
	mark    string
	host    string
	gaveUp  bool // as gaveUp says
}

// podState is the model of one pod.
type podState struct {
	there      bool
	mark, host string
	version    uint64 // 0 if no answer has said it yet
	uid        string // "" if no answer has said it yet
	floor      uint64 // the store has had this version: a write makes a greater one
	changed    uint64 // the pod is as it was at this version, or has changed later

	// onEtcd is whether the pod may get a newer version without being changed: etcd has
	// no transactions, and who has to undo or to overtake an unfinished binding writes
	// the pod again as it is. A write that did so itself wins although it names the
	// version before.
	onEtcd bool
}

func podModel(onEtcd bool) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return podState{onEtcd: onEtcd} },
		Step: func(state, input, output interface{}) (bool, interface{}) {
			return state.(podState).step(input.(asked), output.(told))
		},
		DescribeOperation: func(input, output interface{}) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
}

func (s podState) step(in asked, out told) (bool, podState) {
	switch in.verb {
	case "get", "list", "GET", "LIST":
		return s.read(out)
	case "create", "POST":
		if s.there {
			return out.status == http.StatusConflict, s
		}
		return s.written(podState{host: in.host, mark: in.mark, onEtcd: s.onEtcd}, out)
	}
	if !s.there {
		return out.status == http.StatusNotFound, s
	}
	meant := s.supposing(in)
	switch {
	case out.gaveUp:
		return true, s
	case in.version != 0 && !meant.isNamed(in.version), in.uid != "" && in.uid != meant.uid:
		return out.status == http.StatusConflict, s
	case (meant != s || s.onEtcd && in.version != 0) && out.status == http.StatusConflict:
		return true, s // what was supposed is wrong
	case in.verb == "bind" && s.host != "":
		return out.status == http.StatusConflict, meant
	case in.verb == "update" && s.host != in.host:
		return out.status == http.StatusUnprocessableEntity, meant
	case in.verb == "delete", in.verb == "DELETE":
		floor := max(meant.floor, meant.version)
		fits := out.version == 0 || out.version > floor
		return out.status == http.StatusOK && fits, podState{floor: floor, onEtcd: s.onEtcd} // others may have written before it answered
	}
	next := meant
	if in.verb == "bind" {
		next.host = in.host
	} else {
		next.mark = in.mark
	}
	return meant.written(next, out)
}

// supposing returns the state in which what is not known yet is what a request names, if
// that can be.
func (s podState) supposing(in asked) podState {
	if s.mayHave(in.version) {
		s.version = in.version
	}
	if s.uid == "" {
		s.uid = in.uid
	}
	return s
}

// isNamed reports whether a write that names a version may win.
func (s podState) isNamed(version uint64) bool {
	return version == s.version || s.onEtcd && s.changed <= version && version < s.version
}

// mayHave reports whether the pod may have a version.
func (s podState) mayHave(version uint64) bool {
	if s.version == 0 || s.onEtcd && version > s.version {
		return version > s.floor
	}
	return version == s.version
}

// read is an answer that tells of the pod, or that it is not there.
func (s podState) read(out told) (bool, podState) {
	next := s
	next.floor = max(s.floor, out.store, out.version)
	isNew := out.store == 0 || out.store >= s.floor
	if !s.there {
		return isNew && out.status == http.StatusNotFound, next
	}
	if out.version != 0 {
		isNew = isNew && s.mayHave(out.version) && (out.uid == s.uid || s.uid == "")
		next.version, next.uid = out.version, out.uid
	}
	return isNew && out.status == http.StatusOK && out.mark == s.mark && out.host == s.host, next
}

// written is a success that makes a new version of the pod. An answer of the first door
// does not say which.
func (s podState) written(next podState, out told) (bool, podState) {
	next.there, next.floor, next.version = true, max(s.floor, s.version), out.version
	next.changed = max(out.version, next.floor+1)
	if out.version == 0 {
		return out.status < http.StatusMultipleChoices, next
	}
	ok := out.version > next.floor && out.mark == next.mark && out.host == next.host && (next.uid == "" || out.uid == next.uid)
	next.uid, next.floor = out.uid, out.version
	return ok && out.status < http.StatusMultipleChoices, next
}

// ask sends a request for a pod.
func (d *doors) ask(id string, in asked) told {
	pod := podNamed(id)
	pod.Labels, pod.Spec.NodeName = map[string]string{"mark": in.mark}, in.host
	if in.version != 0 {
		pod.ResourceVersion = strconv.FormatUint(in.version, 10)
	}
	task := v1beta1.Task{JSONBase: v1beta1.JSONBase{ID: id}, Labels: pod.Labels}
	task.DesiredState.Manifest.Containers = []v1beta1.Container{{Name: "web", Image: "dockerfile/nginx"}}
	pods := "/api/v1/namespaces/" + cmp.Or(in.namespace, metav1.NamespaceDefault) + "/pods"
	path := pods + "/" + id
	const inJSON, tasks = "application/json", "/api/v1beta1/tasks"
	switch in.verb {
	case "get":
		return d.askPod("GET", path, inJSON, nil)
	case "list":
		return d.askList(pods, id)
	case "create":
		pod.Spec.NodeName = ""
		return d.askPod("POST", pods, inJSON, pod)
	case "update":
		return d.askPod("PUT", path, inJSON, pod)
	case "patch":
		meta := metav1.ObjectMeta{Labels: pod.Labels, ResourceVersion: pod.ResourceVersion}
		return d.askPod("PATCH", path, mergePatch, map[string]interface{}{"metadata": meta})
	case "delete":
		preconditions := map[string]string{}
		if in.version != 0 {
			preconditions["resourceVersion"] = pod.ResourceVersion
		}
		if in.uid != "" {
			preconditions["uid"] = in.uid
		}
		return d.askPod("DELETE", path, inJSON, map[string]interface{}{"preconditions": preconditions})
	case "bind":
		text, _ := json.Marshal(corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: path[strings.LastIndex(path, "/")+1:], UID: types.UID(in.uid)}, Target: corev1.ObjectReference{Name: in.host}})
		status, _ := d.do("POST", path+"/binding", inJSON, string(text))
		return told{status: status}
	case "POST":
		return d.askTask("POST", tasks, task)
	case "LIST":
		list := decoded[v1beta1.TaskList](d.do("GET", tasks, "", ""))
		for _, item := range list.Items {
			if item.ID == id {
				return toldTask(http.StatusOK, item)
			}
		}
		return told{status: http.StatusNotFound}
	}
	return d.askTask(in.verb, taskPath(id), task)
}

// askPod sends a request whose answer is a pod.
func (d *doors) askPod(method, path, mediaType string, body interface{}) told {
	text, _ := json.Marshal(body)
	status, answer := d.do(method, path, mediaType, string(text))
	return toldPod(status, decoded[corev1.Pod](status, answer))
}

func (d *doors) askTask(method, path string, task v1beta1.Task) told {
	text, _ := json.Marshal(task)
	status, answer := d.do(method, path, "", string(text))
	return toldTask(status, decoded[v1beta1.Task](status, answer))
}

// askList finds a pod in the list of all in a namespace.
func (d *doors) askList(pods, id string) told {
	list := decoded[corev1.PodList](d.do("GET", pods, "", ""))
	out := told{status: http.StatusNotFound}
	for _, item := range list.Items {
		if item.Name == id {
			out = toldPod(http.StatusOK, item)
		}
	}
	out.store = number(list.ResourceVersion)
	return out
}

// decoded returns an answer that was a success.
func decoded[Object any](status int, text string) (object Object) {
	if status < http.StatusMultipleChoices {
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			panic(err)
		}
	}
	return object
}

func toldTask(status int, task v1beta1.Task) told {
	return told{status: status, mark: task.Labels["mark"], host: task.CurrentState.Host}
}

func toldPod(status int, pod corev1.Pod) told {
	return told{status: status, version: number(pod.ResourceVersion), uid: string(pod.UID), mark: pod.Labels["mark"], host: pod.Spec.NodeName}
}

func number(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64)
	return n
}

// choose makes up a request. What was told before, it may name: the newest, or something
// older.
func choose(random *rand.Rand, mark string, seen *[16]atomic.Pointer[told]) asked {
	verbs := []string{"get", "list", "create", "create", "update", "update", "update", "patch", "patch", "delete", "bind", "bind",
		"GET", "LIST", "POST", "POST", "PUT", "DELETE"}
	in := asked{verb: verbs[random.Intn(len(verbs))]}
	known := seen[random.Intn(len(seen))].Load()
	if newest := seen[0].Load(); known == nil || random.Intn(3) > 0 {
		known = newest
	}
	if known == nil {
		known = &told{}
	}
	named := func() bool { return random.Intn(3) > 0 }
	switch in.verb {
	case "POST":
		in.mark, in.host = mark, "m1"
	case "create", "PUT":
		in.mark = mark
	case "patch", "update":
		in.mark, in.host = mark, known.host
		if named() {
			in.version = known.version
		}
	case "delete":
		if named() {
			in.version = known.version
		}
		if named() {
			in.uid = known.uid
		}
	case "bind":
		in.host = fmt.Sprint("m", 1+random.Intn(2))
		if named() {
			in.uid = known.uid
		}
	}
	return in
}

// histories is how many histories are recorded on each store.
func histories(t *testing.T) int {
	if text := os.Getenv("KUBE2014_HISTORIES"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		return n
	}
	return 1
}

// Requests for a pod through both doors, and through two apiservers on one etcd, look as
// if they came one after the other: also what they say of versions. A write that names an
// old version never wins, and what is read is never older than what was answered before.
func TestTheRequestsThroughBothDoorsAreLinearizable(t *testing.T) {
	t.Parallel()
	for name, open := range twoDoors {
		for n := range histories(t) {
			t.Run(fmt.Sprintf("backend=%s, history %d", name, n), func(t *testing.T) {
				if n == 0 {
					t.Parallel()
				}
				both := open(t, "-machines", "m1,m2", "-scheduler", "none")
				for id, history := range recordPods(t, both, int64(n)) {
					model := podModel(name == "etcd")
					if strings.HasPrefix(id, dev+"/") {
						model = endingModel(name == "etcd")
					}
					assert.Empty(t, impossible(model, history), id)
				}
			})
		}
	}
}

// impossible returns "" for a history that is linearizable; else how far that goes, and
// what cannot follow.
func impossible(model porcupine.Model, history []porcupine.Operation) string {
	result, info := porcupine.CheckOperationsVerbose(model, history, 0)
	if result == porcupine.Ok {
		return ""
	}
	var longest []porcupine.Operation
	for _, part := range info.PartialLinearizationsOperations()[0] {
		if len(part) > len(longest) {
			longest = part
		}
	}
	var text strings.Builder
	tell := func(op porcupine.Operation) {
		fmt.Fprintf(&text, "%d-%d %s\n", op.Call, op.Return, model.DescribeOperation(op.Input, op.Output))
	}
	last := longest[max(0, len(longest)-10):]
	for _, op := range last {
		tell(op)
	}
	text.WriteString("none of these can follow:\n")
	for _, op := range history {
		if !slices.Contains(longest, op) && op.Call < last[len(last)-1].Return+20 {
			tell(op)
		}
	}
	return text.String()
}

// recorder records the requests for each pod.
type recorder struct {
	clock atomic.Int64

	mu       sync.Mutex // guards what follows
	recorded map[string][]porcupine.Operation
	outcomes map[string]int
}

// record sends a request, and adds it to the histories of some pods.
func (r *recorder) record(client int, in asked, ask func() told, ids ...string) told {
	called := r.clock.Add(1)
	began := time.Now()
	out := ask()
	out.gaveUp = gaveUp(out.status == http.StatusConflict, time.Since(began))
	returned := r.clock.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		r.recorded[id] = append(r.recorded[id], porcupine.Operation{ClientId: client, Input: in, Call: called, Output: out, Return: returned})
	}
	r.outcomes[fmt.Sprint(in.namespace, " ", in.verb, " ", out.status)]++
	return out
}

var historyIDs = []string{"x", "y", "z"}

// recordPods lets 8 clients send requests for 3 pods at once, and others for pods of these names in another namespace, which
// is deleted and created again.
func recordPods(t *testing.T, both []*doors, seed int64) map[string][]porcupine.Operation {
	const workers, requests = 8, 60
	var seen [3][16]atomic.Pointer[told]
	r := &recorder{recorded: map[string][]porcupine.Operation{}, outcomes: map[string]int{}}
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			random := rand.New(rand.NewSource(seed*workers + int64(w)))
			for i := range requests {
				n := random.Intn(len(historyIDs))
				in := choose(random, fmt.Sprintf("%d-%d", w, i), &seen[n])
				out := r.record(w, in, func() told { return both[random.Intn(len(both))].ask(historyIDs[n], in) }, historyIDs[n])
				if out.version != 0 {
					seen[n][random.Intn(16)].Store(&out)
					seen[n][0].Store(&out)
				}
			}
		})
	}
	r.recordEndings(t, both, seed, workers, &group)
	group.Wait()
	t.Log(r.outcomes)
	return r.recorded
}

// The checker finds histories that cannot be.
func TestTheModelOfAPodRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	op := func(in asked, out told, called, returned int64) porcupine.Operation {
		return porcupine.Operation{Input: in, Output: out, Call: called, Return: returned}
	}
	created := told{status: 201, version: 5, uid: "u", mark: "a"}
	create := op(asked{verb: "create", mark: "a"}, created, 0, 1)
	shown := func(version uint64, mark, host string) told {
		return told{status: 200, version: version, uid: "u", mark: mark, host: host}
	}
	put := op(asked{verb: "PUT", mark: "b"}, told{status: 200}, 2, 3)
	bound := op(asked{verb: "bind", host: "m1"}, told{status: 201}, 2, 3)
	for name, row := range map[string]struct {
		memory, etcd bool // whether it can be there
		history      []porcupine.Operation
	}{
		"a read of what was created": {true, true, []porcupine.Operation{create, op(asked{verb: "get"}, shown(5, "a", ""), 2, 3)}},
		"a create that is lost":      {false, false, []porcupine.Operation{create, op(asked{verb: "get"}, told{status: 404}, 2, 3)}},
		"an id that is given by both doors": {false, false, []porcupine.Operation{create,
			op(asked{verb: "POST", mark: "b", host: "m1"}, told{status: 200}, 2, 3)}},
		"a version that grows by itself":       {false, true, []porcupine.Operation{create, op(asked{verb: "get"}, shown(6, "a", ""), 2, 3)}},
		"a version that shrinks":               {false, false, []porcupine.Operation{create, put, op(asked{verb: "get"}, shown(5, "b", ""), 4, 5)}},
		"a version that shows what it did not": {false, false, []porcupine.Operation{create, op(asked{verb: "get"}, shown(5, "b", ""), 2, 3)}},
		"a list that is older than an answer": {false, false, []porcupine.Operation{create,
			op(asked{verb: "list"}, told{status: 200, version: 5, store: 4, uid: "u", mark: "a"}, 2, 3)}},
		"an update of the version that is there": {true, true, []porcupine.Operation{create,
			op(asked{verb: "update", mark: "b", version: 5}, shown(6, "b", ""), 2, 3)}},
		"a write that wins although it has shown a version before": {false, true, []porcupine.Operation{create,
			op(asked{verb: "get"}, shown(6, "a", ""), 3, 4), op(asked{verb: "update", mark: "b", version: 5}, shown(7, "b", ""), 2, 9)}},
		"an update of an old version that wins": {false, false, []porcupine.Operation{create, put,
			op(asked{verb: "update", mark: "c", version: 5}, shown(9, "c", ""), 4, 5)}},
		"two updates of one version that both win": {false, false, []porcupine.Operation{create,
			op(asked{verb: "update", mark: "b", version: 5}, shown(6, "b", ""), 2, 9), op(asked{verb: "patch", mark: "c", version: 5}, shown(7, "c", ""), 2, 9)}},
		"an update that is refused for nothing": {false, true, []porcupine.Operation{create,
			op(asked{verb: "update", mark: "b", version: 5}, told{status: 409}, 2, 3)}},
		"an update without a version that is refused": {false, false, []porcupine.Operation{create,
			op(asked{verb: "update", mark: "b"}, told{status: 409}, 2, 3)}},
		"an update that moves a pod": {false, false, []porcupine.Operation{create, bound,
			op(asked{verb: "update", mark: "b", host: "m2"}, shown(9, "b", "m2"), 4, 5)}},
		"a pod that is bound twice": {false, false, []porcupine.Operation{create, bound,
			op(asked{verb: "bind", host: "m2"}, told{status: 201}, 4, 5)}},
		"a binding that is lost": {false, false, []porcupine.Operation{create, bound, op(asked{verb: "GET"}, told{status: 200, mark: "a"}, 4, 5)}},
		"a write at the first door that is lost": {false, false, []porcupine.Operation{create, put,
			op(asked{verb: "GET"}, told{status: 200, mark: "a"}, 4, 5)}},
		"a delete of an old version that wins": {false, false, []porcupine.Operation{create, put,
			op(asked{verb: "delete", version: 5}, shown(9, "b", ""), 4, 5)}},
		"a delete of another pod of the name": {false, false, []porcupine.Operation{create,
			op(asked{verb: "delete", uid: "v"}, shown(9, "a", ""), 2, 3)}},
		"a pod that is there after its delete": {false, false, []porcupine.Operation{create,
			op(asked{verb: "DELETE"}, told{status: 200}, 2, 3), op(asked{verb: "get"}, shown(5, "a", ""), 4, 5)}},
	} {
		assert.Equal(t, row.memory, porcupine.CheckOperations(podModel(false), row.history), "memory: %s", name)
		assert.Equal(t, row.etcd, porcupine.CheckOperations(podModel(true), row.history), "etcd: %s", name)
	}
}
