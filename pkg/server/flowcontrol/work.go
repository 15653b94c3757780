package flowcontrol

import (
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util/fairqueuing"
)

// The estimates are those of today's server.
const (
	mostSeats      = 10 // of a request
	objectsPerSeat = 100
	watchesPerSeat = 10
	eventTime      = 5 * time.Millisecond // that a seat is busy with what a change means for those who watch
)

// WorkOf estimates what a request costs: a list or the beginning of a watch by the number of objects, a change by that of the watches that
// must be told of it.
func (c *Control) WorkOf(a *authorizer.Attributes, req *http.Request) fairqueuing.Work {
	if !a.IsResource {
		return fairqueuing.Work{Seats: 1}
	}
	switch a.Verb {
	case "list":
		return fairqueuing.Work{Seats: c.seatsToList(a, req.URL)}
	case "watch":
		query := req.URL.Query()
		if version := query.Get("resourceVersion"); version != "" && version != "0" && !request.IsOn(query["sendInitialEvents"]) {
			return fairqueuing.Work{Seats: 1} // it begins with no objects
		}
		return fairqueuing.Work{Seats: c.seatsToList(a, req.URL)}
	case "create", "update", "patch", "delete":
		if a.Resource == "serviceaccounts" && a.Subresource == "token" { // which nobody is told of
			break
		}
		if watches := c.watches.of(a); watches >= watchesPerSeat {
			return fairqueuing.Work{Seats: 1, FinalSeats: perSeat(watches, watchesPerSeat), Linger: eventTime}.Within(mostSeats)
		}
	}
	return fairqueuing.Work{Seats: 1}
}

func perSeat(number, each int) int { return (number + each - 1) / each }

func (c *Control) seatsToList(a *authorizer.Attributes, at *url.URL) int {
	number := (*c.counts.Load())[schema.GroupResource{Group: a.APIGroup, Resource: a.Resource}]
	if a.Name != "" || number <= objectsPerSeat {
		return 1
	}
	if at.RawQuery != "" {
		text := at.Query().Get("limit")
		limit, err := strconv.Atoi(text)
		switch {
		case text == "":
		case err != nil: // it will be refused
			return mostSeats
		case limit > 0:
			number = min(number, limit)
		}
	}
	return min(perSeat(number, objectsPerSeat), mostSeats)
}

// watched is what is watched: all objects of a resource, those of a namespace, or one.
type watched struct{ group, resource, namespace, name string }

// watches are the numbers of open watches. They are safe for concurrent use.
type watches struct {
	mu   sync.Mutex
	open map[watched]int
}

// Watch counts a watch until forget is called.
func (c *Control) Watch(a *authorizer.Attributes, req *http.Request) (forget func()) {
	if a.APIGroup == "" && a.Resource == "pods" && isOfNode(req.URL.Query().Get("fieldSelector")) {
		return func() {} // nearly no change of a pod is one of this node's
	}
	what := watched{a.APIGroup, a.Resource, a.Namespace, a.Name}
	c.watches.add(what, 1)
	return func() { c.watches.add(what, -1) }
}

func isOfNode(selector string) bool {
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		return false
	}
	node, isOne := parsed.RequiresExactMatch("spec.nodeName")
	return isOne && node != ""
}

func (w *watches) add(what watched, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[what] += n; w.open[what] == 0 {
		delete(w.open, what)
	}
}

// of returns the number of watches that a change may be for.
func (w *watches) of(a *authorizer.Attributes) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	what := watched{group: a.APIGroup, resource: a.Resource}
	n := w.open[what]
	if what.namespace = a.Namespace; a.Namespace != "" {
		n += w.open[what]
	}
	if what.name = a.Name; a.Name != "" {
		n += w.open[what]
	}
	return n
}
