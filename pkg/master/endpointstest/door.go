// Package endpointstest sends requests to a second door in memory.
package endpointstest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/discovery"
	"kube2014/pkg/rest/reviews"
	"kube2014/pkg/server/filters"
	"kube2014/pkg/server/request"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// Paths of resources.
const (
	Pods        = "/api/v1/namespaces/default/pods"
	Controllers = "/api/v1/namespaces/default/replicationcontrollers"
	Services    = "/api/v1/namespaces/default/services"
	Endpoints   = "/api/v1/namespaces/default/endpoints"
	Events      = "/api/v1/namespaces/default/events"
	Nodes       = "/api/v1/nodes"
)

// Types of bodies, and of answers.
const (
	JSONPatch      = "application/json-patch+json"
	MergePatch     = "application/merge-patch+json"
	StrategicPatch = "application/strategic-merge-patch+json"
	YAML           = "application/yaml"
	Table          = "application/json;as=Table;v=v1;g=meta.k8s.io"
)

// Now is the time in a Door.
var Now = time.Date(2026, 6, 6, 12, 0, 0, 0, time.UTC)

// Door is a second door over a store in memory. It places no pods.
type Door struct {
	*endpoints.Server
	Store *memory.Store
	who   *user.Info
	t     testing.TB
}

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	Handler(d.Server).ServeHTTP(w, req)
}

// NewServer returns the only server of today's API.
func NewServer(now func() time.Time, resources ...rest.Resource) *endpoints.Server {
	catalog := &rest.Catalog{}
	catalog.Install(resources...)
	return serve(now, catalog)
}

func serve(now func() time.Time, catalog *rest.Catalog) *endpoints.Server {
	server := endpoints.New(endpoints.NewConfig(now), catalog)
	server.All = rest.Catalogs{catalog}
	return server
}

// Handler returns the handler of the only server. The context of a request may have a user.
func Handler(server request.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		known := request.RecordOf(req.Context())
		filters.WithRequestInfo(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if known != nil {
				request.RecordOf(req.Context()).User = known.User
			}
			filters.Serve(w, req)
		}), []request.Server{server}).ServeHTTP(w, req)
	})
}

// Open returns a door to an empty store.
func Open(t testing.TB) *Door { return OpenWith(t) }

// OpenWith is Open with more resources, or others instead of those of their names: without them,
// everybody may do everything.
func OpenWith(t testing.TB, more ...rest.Resource) *Door {
	store, catalog := memory.New(1), &rest.Catalog{}
	objects := core.NewLifecycle(store, rest.Catalogs{catalog})
	now := func() time.Time { return Now }
	answers := reviews.Config{Authorizer: authorizer.AlwaysAllow{}, Rules: authorizer.AlwaysAllow{}, Now: now}
	base := rest.Base{Objects: objects, Now: now}
	catalog.Install(reviews.Resources(answers)...)
	catalog.Install(core.Resources(core.Config{Objects: objects, Placer: registry.MakePodPlacer(objects, nil), Now: now})...)
	catalog.Install(discovery.Resources(base)...)
	catalog.Install(more...)
	return &Door{Server: serve(now, catalog), Store: store, t: t}
}

// WithUser returns a context whose record has a user, and otherwise the record of ctx.
func WithUser(ctx context.Context, who *user.Info) context.Context {
	own := &request.Context{Context: ctx}
	if known := request.RecordOf(ctx); known != nil {
		own.Record = *known
	}
	own.Record.User = who
	return own
}

// As returns the same door for another user. Without one, requests come as through the
// insecure port.
func (d *Door) As(who *user.Info) *Door {
	door := *d
	door.who = who
	return &door
}

// Answer is an answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Text   string
	t      testing.TB
}

// Do sends a request. Headers are names and values by turns.
func (d *Door) Do(method, path, body string, headers ...string) Answer {
	d.t.Helper()
	ctx := d.t.Context()
	if d.who != nil {
		ctx = WithUser(ctx, d.who)
	}
	req := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	d.ServeHTTP(recorder, req)
	text, err := io.ReadAll(recorder.Result().Body)
	require.NoError(d.t, err)
	return Answer{Status: recorder.Code, Header: recorder.Result().Header, Text: string(text), t: d.t}
}

// Must is Do for a request that has to succeed.
func (d *Door) Must(method, path, body string, headers ...string) Answer {
	d.t.Helper()
	answer := d.Do(method, path, body, headers...)
	require.Less(d.t, answer.Status, 300, "%s %s: %s", method, path, answer.Text)
	return answer
}

// Patch sends a patch of a type.
func (d *Door) Patch(path, patchType, body string) Answer {
	d.t.Helper()
	return d.Do(http.MethodPatch, path, body, "Content-Type", patchType)
}

// Into decodes an answer.
func (a Answer) Into(into any) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal([]byte(a.Text), into), a.Text)
}

// Error returns the error in an answer.
func (a Answer) Error() metav1.Status {
	a.t.Helper()
	var status metav1.Status
	a.Into(&status)
	require.Equal(a.t, "Status", status.Kind, a.Text)
	require.Equal(a.t, metav1.StatusFailure, status.Status, a.Text)
	require.EqualValues(a.t, a.Status, status.Code)
	return status
}

// Meta returns the metadata of the object in an answer.
func (a Answer) Meta() metav1.ObjectMeta {
	a.t.Helper()
	var object metav1.PartialObjectMetadata
	a.Into(&object)
	return object.ObjectMeta
}

// Names returns the names of a list's items, and its metadata.
func (a Answer) Names() ([]string, metav1.ListMeta) {
	a.t.Helper()
	require.Equal(a.t, http.StatusOK, a.Status, a.Text)
	var list metav1.PartialObjectMetadataList
	a.Into(&list)
	names := []string{}
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names, list.ListMeta
}

// Forget writes a pod named forgotten until the history does not reach back to a version.
func (d *Door) Forget(version string) {
	d.t.Helper()
	old, err := strconv.ParseUint(version, 10, 64)
	require.NoError(d.t, err)
	for {
		if _, err := d.Store.ListAt(storage.Selection{Kind: api.TaskKind}, old); err != nil {
			require.Equal(d.t, api.Expired, api.KindOf(err))
			return
		}
		for range 100 {
			forgotten := &api.Task{JSONBase: api.JSONBase{ID: "forgotten"}}
			_, err := d.Store.Commit(storage.Change{Key: api.DefaultKey(api.TaskKind, forgotten.ID), Expected: storage.Any, Action: storage.Write, Object: forgotten})
			require.NoError(d.t, err)
		}
	}
}

// Pod returns the JSON of a pod, with more metadata if that is not "".
func Pod(name, meta string) string {
	if meta != "" {
		meta = "," + meta
	}
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + name + `"` + meta + `},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`
}
