package main

import (
	"fmt"
	"math/rand"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// selections are of pods. The last pod that writers.end makes is in all of them.
var selections = []selection{
	{"", ""},
	{"tier=a", ""},
	{"tier in (a, c), !other", ""},
	{"", "metadata.name=x0"},
	{"", "spec.nodeName=m1"},
	{"", "spec.nodeName!=m2"},
	{"", "status.phase=Running"},
	{"tier!=b", "spec.nodeName=m1,status.phase=Running"},
}

// writers change pods through both doors of all apiservers of a store.
type writers struct {
	t    *testing.T
	both []*doors

	mu           sync.Mutex // guards acknowledged
	acknowledged []string   // the pods that were answered to who created or changed one
}

// write makes a random change of one of few pods. It may be refused.
func (w *writers) write(random *rand.Rand, mark int) {
	d, name := w.both[random.Intn(len(w.both))], fmt.Sprint("x", random.Intn(5))
	tier, pod := string("ab"[random.Intn(2)]), todaysPods+"/"+name
	method, path, mediaType, body := "POST", todaysPods, "application/json", ""
	task := fmt.Sprintf(`{"id":%q,"labels":{"tier":%q,"mark":"%d"}}`, name, tier, mark)
	switch random.Intn(9) {
	case 0:
		body = fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"tier":%q}},"spec":{"containers":[{"name":"c","image":"i"}]}}`, name, tier)
	case 1, 2:
		method, path, mediaType, body = "PATCH", pod, mergePatch, fmt.Sprintf(`{"metadata":{"labels":{"tier":%q},"annotations":{"mark":"%d"}}}`, tier, mark)
	case 3:
		path, body = pod+"/binding", fmt.Sprintf(`{"metadata":{"name":%q},"target":{"kind":"Node","name":"m%d"}}`, name, 1+random.Intn(2))
	case 4:
		phase := []string{"Running", "Pending"}[random.Intn(2)]
		method, path, mediaType, body = "PATCH", pod+"/status", mergePatch, fmt.Sprintf(`{"status":{"phase":%q}}`, phase)
	case 5:
		method, path = "DELETE", pod
	case 6:
		path, body = "/api/v1beta1/tasks", task
	case 7:
		method, path, body = "PUT", "/api/v1beta1/tasks/"+name, task
	case 8:
		method, path = "DELETE", "/api/v1beta1/tasks/"+name
	}
	status, text := d.do(method, path, mediaType, body)
	assert.Contains(w.t, []int{200, 201, 404, 409}, status, "%s %s: %s", method, path, text)
	if status < 300 && method != "DELETE" && strings.Contains(text, `"kind":"Pod"`) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.acknowledged = append(w.acknowledged, strings.TrimSpace(text))
	}
}

// run lets some write at once, and returns when all have written that many changes.
func (w *writers) run(each int) {
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewSource(int64(i)))
			for n := range each {
				w.write(random, n)
			}
		})
	}
	all.Wait()
}

// end makes the last change: isLast finds it.
func (w *writers) end() {
	d := w.both[0]
	d.do("DELETE", todaysPods+"/x0", "application/json", "")
	end := podNamed("x0")
	end.Labels, end.Annotations, end.Spec.NodeName = map[string]string{"tier": "a"}, map[string]string{"end": "true"}, "m1"
	d.createPod(end)
	d.sendAs(http.StatusOK, "PATCH", todaysPods+"/x0/status", mergePatch, `{"status":{"phase":"Running"}}`)
}

func isLast(e event) bool {
	return e.about.Annotations["end"] != "" && strings.Contains(string(e.Object), `"phase":"Running"`)
}
