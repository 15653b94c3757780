// Package managers lets random managers change the same objects on ours and on today's kube-apiserver, and compares after
// each step what they answer, and who owns what.
package managers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/compare/serverstest"
)

const (
	stepsVariable = "KUBE2014_MANAGERS"      // how many steps; make managers sets it
	seedVariable  = "KUBE2014_MANAGERS_SEED" // of the random choices; 1 without it
	onlyVariable  = "KUBE2014_MANAGERS_ONLY" // a kind, or the number of a history
	perHistory    = 25                       // steps
	atOnce        = 6                        // histories
	atMost        = 40                       // differences that are told
	settled       = 30 * time.Second         // after which controllers have done their work
)

func TestRandomManagersOwnWhatTheyOwnOnKubeAPIServer(t *testing.T) {
	if os.Getenv(stepsVariable) == "" {
		t.Skip("make managers runs it")
	}
	steps, seed := number(t, stepsVariable, 0), number(t, seedVariable, 1)
	program, etcd := serverstest.OurProgram(t), serverstest.StartEtcd(t)
	flags := []string{"-scheduler", "none", "-service_cluster_ip_range", "10.0.0.0/24", "-disable_admission_plugins", "ServiceAccount"}
	theirs := serverstest.Todays(t, serverstest.StartEtcd(t))
	ours := []*serverstest.Server{serverstest.InMemory(t, program, flags...), serverstest.OnEtcd(t, program, etcd, flags...)}
	for _, s := range append(ours, theirs) {
		install(t, s)
	}
	var group sync.WaitGroup
	histories := make(chan int)
	sum := &summary{statuses: map[int]int{}}
	for range atOnce {
		group.Go(func() {
			for i := range histories {
				h := newHistory(i, uint64(seed))
				if only := os.Getenv(onlyVariable); only != "" && only != h.name && only != fmt.Sprint(i) {
					continue
				}
				h.compare([2]*serverstest.Server{theirs, ours[i/len(kinds)%len(ours)]}, sum)
			}
		})
	}
	for i := range (steps + perHistory - 1) / perHistory {
		histories <- i
	}
	close(histories)
	group.Wait()
	t.Logf("%d steps of %d histories, seed %d; %d histories differed only once; statuses %v", sum.steps.Load(), sum.histories.Load(), seed, sum.once.Load(), sum.statuses)
	slices.SortFunc(sum.differences, func(a, b difference) int { return a.history - b.history })
	for _, d := range sum.differences[:min(atMost, len(sum.differences))] {
		t.Error(d)
	}
	assert.Empty(t, len(sum.differences), "histories that differ")
	require.Positive(t, sum.steps.Load())
}

// install creates the definition of things, and returns when they are served.
func install(t *testing.T, s *serverstest.Server) {
	created := s.Do(t, serverstest.Request{Method: http.MethodPost, Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", ContentType: "application/yaml", Body: definition()})
	require.Equal(t, http.StatusCreated, created.Status, "%s: %s", s.Name, created.Body)
	for _, version := range []string{"v1", "v2"} {
		serverstest.Eventually(t, s.Name+" serves things", func() bool { return s.Finds("/apis/managers.example.com/" + version + "/things") })
	}
}

func number(t *testing.T, variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, variable)
	return n
}

// summary is what is told at the end. Histories write it at once.
type summary struct {
	steps, histories, once atomic.Int64

	mu          sync.Mutex // guards the rest
	statuses    map[int]int
	differences []difference
}

type difference struct {
	history int
	kind    string
	steps   []string
	texts   [2]string // of kube-apiserver, and of ours
}

func (d difference) String() string {
	return fmt.Sprintf("history %d of a %s:\n%s\n- kube-apiserver, + ours:\n%s", d.history, d.kind, strings.Join(d.steps, "\n"), diff(d.texts[0], d.texts[1]))
}

// history is what happens to one object.
type history struct {
	kind
	number int
	steps  []step
}

func newHistory(number int, seed uint64) *history {
	h := &history{kind: kinds[number%len(kinds)], number: number}
	c := &chooser{rand.New(rand.NewPCG(seed, uint64(number))), h.kind}
	for range perHistory {
		h.steps = append(h.steps, c.next())
	}
	return h
}

var runs atomic.Int64

// compare runs the history on two servers and, if they differ, looks for the fewest steps that make them differ.
func (h *history) compare(servers [2]*serverstest.Server, sum *summary) {
	sum.histories.Add(1)
	at, found := h.run(servers, h.steps, sum)
	if found == nil {
		return
	}
	steps := h.steps[:at+1]
	// By chance, a second may begin between the answers of two servers: they sort by time.
	at, again := h.run(servers, steps, nil)
	if again == nil {
		sum.once.Add(1)
		return
	}
	steps, found = steps[:at+1], again
	for i := len(steps) - 2; i >= 0; i-- {
		fewer := slices.Delete(slices.Clone(steps), i, i+1)
		if at, less := h.run(servers, fewer, nil); less != nil && at == len(fewer)-1 {
			steps, found = fewer, less
		}
	}
	found.history, found.kind = h.number, h.name
	sum.mu.Lock()
	defer sum.mu.Unlock()
	sum.differences = append(sum.differences, *found)
}

// run takes the steps on both servers, with an object of a new name, and returns the number of the first step after which they
// differ, and how.
func (h *history) run(servers [2]*serverstest.Server, steps []step, sum *summary) (int, *difference) {
	name := fmt.Sprint("o", runs.Add(1))
	defer h.cleanUp(servers, name)
	var current [2]object
	var told []string
	for i, s := range steps {
		var sent [2]serverstest.Request
		var answers, states [2]string
		var status int
		var next [2]object
		var group sync.WaitGroup
		for side, server := range servers {
			group.Go(func() {
				sent[side] = s.request(h.kind, name, current[side])
				answer := send(server, sent[side])
				if side == 0 {
					status = answer.Status
				}
				answers[side] = h.normal(h.told(answer), name)
				next[side], states[side] = h.read(server, name, s.version, current[side])
			})
		}
		group.Wait()
		busy := func() bool { return states[0] != states[1] || isCleanedUp(states[0]) }
		for end := time.Now().Add(settled); h.slow && busy() && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			for side, server := range servers {
				next[side], states[side] = h.read(server, name, s.version, current[side])
			}
		}
		told = append(told, strings.ReplaceAll(tell(sent[0]), name, "NAME"))
		if sum != nil {
			sum.steps.Add(1)
			sum.mu.Lock()
			sum.statuses[status]++
			sum.mu.Unlock()
		}
		texts := [2]string{answers[0] + "then:\n" + states[0], answers[1] + "then:\n" + states[1]}
		if texts[0] != texts[1] {
			switch is, ends := isKnown(h.kind, texts); {
			case !is:
				return i, &difference{steps: told, texts: texts}
			case ends:
				return 0, nil
			}
		}
		current = next
	}
	return 0, nil
}

// isCleanedUp reports whether a controller deletes the objects of a definition that ends: how long that takes is not compared.
func isCleanedUp(state string) bool {
	return strings.Contains(state, `"deletionTimestamp"`) && strings.Contains(state, `"customresourcecleanup.apiextensions.k8s.io"`)
}

func tell(r serverstest.Request) string {
	return fmt.Sprintf("%s %s (%s, %q) %s", r.Method, r.Path, r.ContentType, r.Agent, r.Body)
}

func send(s *serverstest.Server, r serverstest.Request) serverstest.Answer {
	for {
		a, err := s.Try(r)
		switch {
		case err != nil:
			return serverstest.Answer{Body: []byte(err.Error())}
		case a.Status == http.StatusTooManyRequests: // by the server as a whole
			time.Sleep(10 * time.Millisecond)
		default:
			return a
		}
	}
}

// told returns an answer as a text.
func (h *history) told(a serverstest.Answer) string {
	text := fmt.Sprintf("status %d\n", a.Status)
	for _, warning := range slices.Sorted(slices.Values(a.Header.Values("Warning"))) {
		text += "Warning: " + warning + "\n"
	}
	return text + h.normalAnswer(a.Body)
}

// read returns the object that a server has, also as a text. A text says, too, whether it was written after it was as before.
func (h *history) read(s *serverstest.Server, name, version string, before object) (current object, text string) {
	got := send(s, serverstest.Request{Method: http.MethodGet, Path: h.pathIn(version) + "/" + h.objectName(name)})
	text = h.normal(h.normalAnswer(got.Body), name)
	if got.Status != http.StatusOK || json.Unmarshal(got.Body, &current) != nil {
		return nil, text
	}
	if before != nil && !h.slow {
		text += fmt.Sprintf("written: %t\n", versionOf(before) != versionOf(current))
	}
	return current, text
}

func versionOf(o object) string {
	return o["metadata"].(object)["resourceVersion"].(string)
}

func (h *history) cleanUp(servers [2]*serverstest.Server, name string) {
	for _, server := range servers {
		path := h.pathIn(h.versions[0]) + "/" + h.objectName(name)
		send(server, serverstest.Request{Method: "PATCH", Path: path, ContentType: onMerge, Body: []byte(`{"metadata": {"finalizers": null}}`)})
		send(server, serverstest.Request{Method: "DELETE", Path: path})
	}
}
