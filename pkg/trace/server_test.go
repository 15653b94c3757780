package trace

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/server"
)

// decided always decides the same.
type decided struct {
	decision authorizer.Decision
	reason   string
	err      error
}

func (d decided) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return d.decision, d.reason, d.err
}

func TestWhoGetsInIsToldWithoutTheCredentials(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	req := httptest.NewRequest("GET", "/", nil)
	req.Header.Set("Authorization", "Bearer secret-word")
	ann := &user.Info{Name: "ann", Groups: []string{"g", "h"}}
	for _, known := range []struct {
		who *user.Info
		ok  bool
		err error
	}{{ann, true, nil}, {nil, false, nil}, {nil, false, errors.New("invalid bearer token")}} {
		auth := s.Auth(server.Auth{Authenticator: authenticator.RequestFunc(func(*http.Request) (*user.Info, bool, error) { return known.who, known.ok, known.err })})
		who, ok, err := auth.Authenticator.AuthenticateRequest(req)
		assert.Equal(t, known.who, who)
		assert.Equal(t, known.ok, ok)
		assert.Equal(t, known.err, err)
	}
	pods := authorizer.Attributes{User: ann, Verb: "get", IsResource: true, Resource: "pods", Subresource: "log", Namespace: "default", Name: "web"}
	for _, row := range []struct {
		wanted authorizer.Attributes
		decided
	}{
		{pods, decided{authorizer.Allow, "RBAC: allowed", nil}},
		{authorizer.Attributes{User: ann, Verb: "post", Path: "/x"}, decided{authorizer.NoOpinion, "", nil}},
		{pods, decided{authorizer.Deny, "no", nil}},
		{pods, decided{authorizer.NoOpinion, "", errors.New("the webhook does not answer")}},
	} {
		decision, reason, err := s.Auth(server.Auth{Authorizer: row.decided}).Authorizer.Authorize(t.Context(), row.wanted)
		assert.Equal(t, row.decided, decided{decision, reason, err})
	}
	assert.Equal(t, `
     1ms Authenticator.AuthenticateRequest → user "ann" in "g, h"
     1ms Authenticator.AuthenticateRequest → nobody
     1ms Authenticator.AuthenticateRequest → error: invalid bearer token
     1ms Authorizer.Authorize("ann", get "default/pods/web/log") → allowed: RBAC: allowed
     1ms Authorizer.Authorize("ann", post "/x") → no opinion
     1ms Authorizer.Authorize("ann", get "default/pods/web/log") → denied: no
     1ms Authorizer.Authorize("ann", get "default/pods/web/log") → error: the webhook does not answer
`, "\n"+s.trace())
}
