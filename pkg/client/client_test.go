package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

// seen is the request that a server received.
type seen struct{ method, uri, body string }

// record starts a server that answers every request in the same way. It returns
// a client of it and the last request.
func record(t *testing.T, status int, body string) (*Client, *seen) {
	last := &seen{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		sent, err := io.ReadAll(req.Body)
		assert.NoError(t, err)
		*last = seen{req.Method, req.RequestURI, string(sent)}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return &Client{Host: server.URL, HTTP: server.Client()}, last // others end the idle connections of http.DefaultTransport
}

func TestEachMethodAsksAsTheAPISays(t *testing.T) {
	t.Parallel()
	const manifest = `"manifest":{"version":"","volumes":null,"containers":null}`
	const task = `{"id":"x","desiredState":{` + manifest + `},"currentState":{` + manifest + `}}`
	const controller = `{"id":"x","desiredState":{"replicas":0,"taskTemplate":{"desiredState":{` + manifest + `}}}}`
	const service = `{"id":"x","port":1}`
	labels := map[string]string{"a": "b", "c": "&"}
	base := api.JSONBase{ID: "x"}
	for name, row := range map[string]struct {
		call   func(*Client) (interface{}, error)
		asked  seen
		answer string
		want   interface{}
	}{
		"list tasks": {func(c *Client) (interface{}, error) { return c.ListTasks(labels) },
			seen{"GET", "/api/v1beta1/tasks?labels=a%3Db%2Cc%3D%26", ""}, `{"items":[` + task + `]}`, api.TaskList{Items: []api.Task{{JSONBase: base}}}},
		"list all tasks": {func(c *Client) (interface{}, error) { return c.ListTasks(nil) },
			seen{"GET", "/api/v1beta1/tasks", ""}, `{"items":[]}`, api.TaskList{Items: []api.Task{}}},
		"get task": {func(c *Client) (interface{}, error) { return c.GetTask("x") },
			seen{"GET", "/api/v1beta1/tasks/x", ""}, task, api.Task{JSONBase: base}},
		"create task": {func(c *Client) (interface{}, error) { return c.CreateTask(api.Task{JSONBase: base}) },
			seen{"POST", "/api/v1beta1/tasks", task}, task, api.Task{JSONBase: base}},
		"update task": {func(c *Client) (interface{}, error) { return c.UpdateTask(api.Task{JSONBase: base}) },
			seen{"PUT", "/api/v1beta1/tasks/x", task}, task, api.Task{JSONBase: base}},
		"delete task": {func(c *Client) (interface{}, error) { return nil, c.DeleteTask("x") },
			seen{"DELETE", "/api/v1beta1/tasks/x", ""}, `{"success": true}`, nil},
		"list controllers": {func(c *Client) (interface{}, error) { return c.ListReplicationControllers(labels) },
			seen{"GET", "/api/v1beta1/replicationControllers?labels=a%3Db%2Cc%3D%26", ""}, `{}`, api.ReplicationControllerList{}},
		"get controller": {func(c *Client) (interface{}, error) { return c.GetReplicationController("x") },
			seen{"GET", "/api/v1beta1/replicationControllers/x", ""}, controller, api.ReplicationController{JSONBase: base}},
		"create controller": {func(c *Client) (interface{}, error) {
			return c.CreateReplicationController(api.ReplicationController{JSONBase: base})
		}, seen{"POST", "/api/v1beta1/replicationControllers", controller}, controller, api.ReplicationController{JSONBase: base}},
		"update controller": {func(c *Client) (interface{}, error) {
			return c.UpdateReplicationController(api.ReplicationController{JSONBase: base})
		}, seen{"PUT", "/api/v1beta1/replicationControllers/x", controller}, controller, api.ReplicationController{JSONBase: base}},
		"delete controller": {func(c *Client) (interface{}, error) { return nil, c.DeleteReplicationController("x") },
			seen{"DELETE", "/api/v1beta1/replicationControllers/x", ""}, `{"success": true}`, nil},
		"list services": {func(c *Client) (interface{}, error) { return c.ListServices(nil) },
			seen{"GET", "/api/v1beta1/services", ""}, `{"items":[` + service + `]}`, api.ServiceList{Items: []api.Service{{JSONBase: base, Port: 1}}}},
		"get service": {func(c *Client) (interface{}, error) { return c.GetService("x") },
			seen{"GET", "/api/v1beta1/services/x", ""}, service, api.Service{JSONBase: base, Port: 1}},
		"create service": {func(c *Client) (interface{}, error) { return c.CreateService(api.Service{JSONBase: base, Port: 1}) },
			seen{"POST", "/api/v1beta1/services", service}, service, api.Service{JSONBase: base, Port: 1}},
		"update service": {func(c *Client) (interface{}, error) { return c.UpdateService(api.Service{JSONBase: base, Port: 1}) },
			seen{"PUT", "/api/v1beta1/services/x", service}, service, api.Service{JSONBase: base, Port: 1}},
		"delete service": {func(c *Client) (interface{}, error) { return nil, c.DeleteService("x") },
			seen{"DELETE", "/api/v1beta1/services/x", ""}, `{"success": true}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, last := record(t, 200, row.answer)
			got, err := row.call(client)
			require.NoError(t, err)
			assert.Equal(t, row.want, got)
			assert.Equal(t, row.asked, *last)
		})
	}
}

func TestAnErrorAnswerIsTheTypedErrorAgain(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status int
		line   string
		want   api.Error
	}{
		"not found":          {404, `Not Found: task "x" does not exist`, api.Error{Kind: api.NotFound, Message: `task "x" does not exist`}},
		"already exists":     {409, `Conflict: task "x" already exists`, api.Error{Kind: api.AlreadyExists, Message: `task "x" already exists`}},
		"conflict":           {409, "Conflict: no machine", api.Error{Kind: api.Conflict, Message: "no machine"}},
		"invalid":            {400, "Bad Request: desiredState.replicas: -1 is negative", api.Error{Kind: api.Invalid, Field: "desiredState.replicas", Message: "-1 is negative"}},
		"forbidden":          {403, "Forbidden: no", api.Error{Kind: api.Forbidden, Message: "no"}},
		"method not allowed": {405, "Method Not Allowed: no", api.Error{Kind: api.MethodNotAllowed, Message: "no"}},
		"too large":          {413, "Request Entity Too Large: no", api.Error{Kind: api.TooLarge, Message: "no"}},
		"unavailable":        {503, "Service Unavailable: later", api.Error{Kind: api.Unavailable, Message: "later"}},
		"internal":           {500, "Internal Error: broken", api.Error{Kind: api.Internal, Message: "broken"}},
		"another server":     {502, "<html>", api.Error{Kind: api.Internal, Message: "<html>"}},
		"no reason given":    {500, "", api.Error{Kind: api.Internal, Message: "the server answered 500 Internal Server Error"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := record(t, row.status, row.line)
			_, err := client.GetTask("x")
			assert.Equal(t, &row.want, err)
		})
	}
}

func TestAnIDOrLabelThatCannotBeAskedForIsRefusedUnasked(t *testing.T) {
	t.Parallel()
	client, last := record(t, 200, `{}`)
	_, err := client.GetTask("../services/x")
	assert.Equal(t, api.Invalid, api.KindOf(err))
	_, err = client.UpdateService(api.Service{})
	assert.EqualError(t, err, "id: must not be empty")
	for _, labels := range []map[string]string{{"a": "b,c"}, {"a": "b=c"}, {"a,b": "c"}, {"": "c"}, {"a=b": ""}} {
		_, err = client.ListTasks(labels)
		assert.Equal(t, api.Invalid, api.KindOf(err), labels)
	}
	assert.Equal(t, seen{}, *last)
}

func TestAServerThatIsAwayOrTalksNonsenseIsAnError(t *testing.T) {
	t.Parallel()
	client, _ := record(t, 200, "<html>")
	_, err := client.GetTask("x")
	assert.ErrorContains(t, err, "GET tasks/x: cannot decode the answer: ")

	refused := roundTripper(func(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED })
	away := &Client{Host: "http://away", HTTP: &http.Client{Transport: refused}}
	_, err = away.GetTask("x")
	assert.ErrorContains(t, err, "connection refused")
	wrong := &Client{Host: "http://a b"}
	_, err = wrong.GetTask("x")
	assert.Error(t, err)
	_, err = client.CreateTask(api.Task{DesiredState: api.TaskState{Info: make(chan int)}})
	assert.ErrorContains(t, err, "POST tasks: ")
}

func TestPrefixAndTransportCanBeChosen(t *testing.T) {
	t.Parallel()
	client, last := record(t, 200, `{}`)
	client.Host += "/"
	client.HTTP = http.DefaultClient
	for _, prefix := range []string{"/v2", "/v2/", "v2"} {
		client.Prefix = prefix
		_, err := client.GetTask("x")
		require.NoError(t, err)
		assert.Equal(t, "/v2/tasks/x", last.uri)
	}
}

func TestTheClientIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		io.WriteString(w, `{"id": "`+strings.TrimPrefix(req.URL.Path, "/api/v1beta1/services/")+`"}`)
	}))
	defer server.Close()
	client := &Client{Host: server.URL}
	var group sync.WaitGroup
	for i := range 16 {
		id := string(rune('a' + i))
		group.Go(func() {
			for range 10 {
				service, err := client.GetService(id)
				assert.NoError(t, err)
				assert.Equal(t, id, service.ID)
			}
		})
	}
	group.Wait()
}

// roundTripper is a network that is not there.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
