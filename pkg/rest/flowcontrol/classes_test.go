package flowcontrol_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/rest/flowcontrol"
	"kube2014/pkg/rest/flowcontrol/flowcontroltest"
	"kube2014/pkg/server"
	control "kube2014/pkg/server/flowcontrol"
	"kube2014/pkg/server/request"
)

// anything is an API that answers nothing to everything.
type anything struct{}

func (anything) Serves(req *http.Request, record *request.Record) bool {
	record.Today(req)
	return true
}

func (anything) ServeHTTP(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func (anything) Fail(w http.ResponseWriter, _ *http.Request, _ error) {
	w.WriteHeader(http.StatusTooManyRequests)
}

func TestRequestsAreClassifiedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	recording, err := flowcontroltest.Read("testdata/classes.json")
	require.NoError(t, err)
	d, b := open(t)
	require.NoError(t, flowcontrol.Bootstrap(t.Context(), b))
	for _, schema := range recording.Schemas {
		d.Must("POST", flows, string(schema))
	}
	for _, level := range recording.Levels {
		d.Must("POST", levels, string(level))
	}
	followed := flowcontrol.NewFollowed(b.Objects)
	names := map[string]string{"": ""}
	for _, schema := range followed.Get().Schemas {
		names[string(schema.UID)] = schema.Name
	}
	for _, level := range followed.Get().Levels {
		names[string(level.UID)] = level.Name
	}
	master := authenticator.RequestFunc(func(*http.Request) (*user.Info, bool, error) {
		return &user.Info{Name: "root", Groups: []string{user.Masters}}, true, nil
	})
	config := server.Config{Chain: &server.Delegate{Server: anything{}}, RequestTimeout: time.Minute, Auth: server.Auth{Authenticator: master, Authorizer: authorizer.AlwaysAllow{}},
		FlowControl: control.New(control.Config{Seats: 600, Read: followed.Get, Mandatory: flowcontrol.Mandatory(), Counts: func() map[schema.GroupResource]int { return nil }})}
	handler := config.Complete().New().SecureHandler()
	for _, recorded := range recording.Requests {
		req := httptest.NewRequest(recorded.Method, recorded.URL, nil)
		req.Header.Set("Impersonate-User", recorded.User)
		req.Header["Impersonate-Group"] = recorded.Groups
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		now := recorded
		now.Schema, now.Level = names[answer.Header().Get("X-Kubernetes-PF-FlowSchema-UID")], names[answer.Header().Get("X-Kubernetes-PF-PriorityLevel-UID")]
		assert.Equal(t, recorded, now)
	}
}
