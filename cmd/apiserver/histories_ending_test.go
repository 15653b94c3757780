package main

import (
	"context"
	"fmt"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller/namespace"
)

// dev is a namespace that is deleted and created again.
const (
	dev     = "dev"
	devPath = "/api/v1/namespaces/" + dev
)

// endingState is the model of one pod in that namespace. While it is being deleted, the pod goes at some moment, then the
// namespace.
type endingState struct {
	pod            podState
	exists, ending bool // the namespace
}

// endingModel returns the model of a pod in a namespace that may end. On etcd's v2 API, which has no transactions, a pod that
// is refused may be seen until it is taken back: there only what is said of the namespace counts.
func endingModel(onEtcd bool) porcupine.Model {
	model := &porcupine.NondeterministicModel{
		Init: func() []interface{} { return []interface{}{endingState{}} },
		Step: func(state, input, output interface{}) (next []interface{}) {
			for _, s := range state.(endingState).reachable() {
				if ok, after := s.step(input.(asked), output.(told), onEtcd); ok {
					next = append(next, after)
				}
			}
			return next
		},
		DescribeOperation: podModel(onEtcd).DescribeOperation,
	}
	return model.ToModel()
}

// reachable returns the states that the controller may have brought about.
func (s endingState) reachable() []endingState {
	states := []endingState{s}
	if s.ending {
		s.pod = podState{floor: max(s.pod.floor, s.pod.version)}
		states = append(states, s, endingState{pod: s.pod})
	}
	return states
}

func (s endingState) step(in asked, out told, onEtcd bool) (ok bool, next endingState) {
	next = s
	switch {
	case in.verb == "create namespace":
		next.exists = true
		return s.exists && out.status == http.StatusConflict || !s.exists && out.status == http.StatusCreated, next
	case in.verb == "delete namespace":
		next.ending = s.exists
		return s.exists && out.status == http.StatusOK || !s.exists && out.status == http.StatusNotFound, next
	case onEtcd:
		return true, s
	case in.verb == "create" && !s.exists:
		return out.status == http.StatusNotFound, s
	case in.verb == "create" && s.ending:
		return out.status == http.StatusForbidden || s.pod.there && out.status == http.StatusConflict, s
	}
	ok, next.pod = s.pod.step(in, out)
	return ok, next
}

// recordEndings lets one client create and delete the namespace, and two others send requests for pods in it.
func (r *recorder) recordEndings(t *testing.T, both []*doors, seed int64, first int, group *sync.WaitGroup) {
	const lives, clients, requests = 4, 2, 15
	var all []string
	for _, id := range historyIDs {
		all = append(all, dev+"/"+id)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, d := range both {
		running.Go(func() { d.endNamespaces(ctx) })
	}
	var begun [lives]chan struct{}
	var half [lives]sync.WaitGroup // of the requests in each life
	for life := range begun {
		begun[life] = make(chan struct{})
		half[life].Add(clients)
	}
	group.Go(func() {
		defer running.Wait()
		defer stop()
		for life := range begun {
			d := both[life%len(both)]
			ask := func(verb, method, path, body string) {
				r.record(first, asked{namespace: dev, verb: verb}, func() told {
					status, _ := d.do(method, path, "application/json", body)
					return told{status: status}
				}, all...)
			}
			ask("create namespace", "POST", "/api/v1/namespaces", `{"metadata": {"name": "`+dev+`"}}`)
			close(begun[life])
			half[life].Wait()
			ask("delete namespace", "DELETE", devPath, "")
			eventually(t, func() bool {
				status, _ := d.do("GET", devPath, "", "")
				return status == http.StatusNotFound
			}, "the namespace is gone")
			assert.Empty(t, decoded[metav1.PartialObjectMetadataList](d.do("GET", devPath+"/pods", "", "")).Items, "nothing is left over")
		}
	})
	verbs := []string{"get", "list", "create", "create", "create", "update", "patch", "delete"}
	var seen [3]atomic.Pointer[told]
	for w := range clients {
		group.Go(func() {
			random := rand.New(rand.NewSource(-seed*clients - int64(w) - 1))
			for i := range lives * requests {
				if i%requests == requests/2 {
					half[i/requests].Done()
				}
				<-begun[i/requests]
				n := random.Intn(len(historyIDs))
				in := asked{namespace: dev, verb: verbs[random.Intn(len(verbs))], mark: fmt.Sprintf("dev%d-%d", w, i)}
				if known := seen[n].Load(); known != nil && random.Intn(2) == 0 && in.verb != "create" {
					in.version = known.version
				}
				out := r.record(first+1+w, in, func() told { return both[random.Intn(len(both))].ask(historyIDs[n], in) }, dev+"/"+historyIDs[n])
				if out.version != 0 {
					seen[n].Store(&out)
				}
			}
		})
	}
}

// endNamespaces runs a namespace controller until the context ends.
func (d *doors) endNamespaces(ctx context.Context) {
	server := httptest.NewServer(d.handler)
	defer server.Close()
	client := clientv1.New(server.URL)
	objects := informers.New(client, 0)
	n := namespace.NewNamespaceController(namespace.Config{Client: client, Informers: objects, Resources: func() []metav1.APIResource {
		return []metav1.APIResource{{Name: "pods", Kind: "Pod", Version: "v1", Namespaced: true, Verbs: metav1.Verbs{"delete", "deletecollection", "list"}}}
	}})
	objects.Run(ctx)
	n.Run(ctx, 1)
}

// The checker finds histories that cannot be.
func TestTheModelOfANamespaceRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	op := func(verb string, status int, called, returned int64) porcupine.Operation {
		out := told{status: status}
		if verb == "create" && status == http.StatusCreated || verb == "get" && status == http.StatusOK {
			out.version, out.uid, out.mark = 5, "u", "a"
		}
		return porcupine.Operation{Input: asked{verb: verb, mark: "a"}, Output: out, Call: called, Return: returned}
	}
	begin := []porcupine.Operation{op("create namespace", 201, 0, 1), op("create", 201, 2, 3)}
	for name, row := range map[string]struct {
		can     bool
		history []porcupine.Operation
	}{
		"a pod that goes with its namespace":  {true, []porcupine.Operation{op("delete namespace", 200, 4, 5), op("get", 200, 6, 7), op("get", 404, 8, 9), op("create namespace", 201, 10, 11)}},
		"a pod that goes without it":          {false, []porcupine.Operation{op("get", 404, 4, 5)}},
		"a pod that is there after it":        {false, []porcupine.Operation{op("delete namespace", 200, 4, 5), op("create namespace", 201, 6, 7), op("get", 200, 8, 9)}},
		"a pod that comes while it ends":      {false, []porcupine.Operation{op("delete namespace", 200, 4, 5), op("get", 404, 6, 7), op("create", 201, 8, 9)}},
		"a pod that is refused for nothing":   {false, []porcupine.Operation{op("create", 403, 4, 5)}},
		"a namespace that is made twice":      {false, []porcupine.Operation{op("create namespace", 201, 4, 5)}},
		"a name that is taken while it ends":  {true, []porcupine.Operation{op("delete namespace", 200, 4, 5), op("create", 409, 6, 7)}},
		"a name that nothing has":             {false, []porcupine.Operation{op("delete namespace", 200, 4, 5), op("get", 404, 6, 7), op("create", 409, 8, 9)}},
		"a pod that is refused while it ends": {true, []porcupine.Operation{op("delete namespace", 200, 4, 5), op("create", 403, 6, 7), op("create", 404, 8, 9)}},
	} {
		require.Equal(t, row.can, porcupine.CheckOperations(endingModel(false), append(begin, row.history...)), name)
	}
}
