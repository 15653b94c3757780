package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/webhook"
	"kube2014/pkg/webhook/webhooktest"
)

var (
	_ authorizer.Authorizer   = &Authorizer{}
	_ authorizer.RuleResolver = &Authorizer{}
)

var ann = &user.Info{Name: "ann", UID: "1", Groups: []string{"dev"}, Extra: map[string][]string{"scope": {"a"}}}

func getPod() authorizer.Attributes {
	return authorizer.Attributes{User: ann, Verb: "get", IsResource: true, APIGroup: "g", APIVersion: "v1", Resource: "pods",
		Subresource: "log", Namespace: "shop", Name: "web", Path: "/api/v1/x"}
}

func answer(status string) string {
	return `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{},"status":` + status + `}`
}

const (
	allowed = `{"allowed":true,"reason":"she may"}`
	denied  = `{"allowed":false,"denied":true,"reason":"she must not"}`
	neither = `{"allowed":false,"reason":"who knows"}`
)

func TestAServerDecides(t *testing.T) {
	t.Parallel()
	const broken = "the answer is of another kind or version, or broken"
	for _, row := range []struct {
		name, answer string
		decision     authorizer.Decision
		reason       string
		problem      string
	}{
		{"yes", answer(allowed), authorizer.Allow, "she may", ""},
		{"no", answer(denied), authorizer.Deny, "she must not", ""},
		{"neither", answer(neither), authorizer.NoOpinion, "who knows", ""},
		{"nothing", answer(`{}`), authorizer.NoOpinion, "", ""},
		{"both", answer(`{"allowed":true,"denied":true,"reason":"x"}`), authorizer.Deny, "x", "the authorization webhook both allows and denies"},
		{"another type", answer(`{"allowed":"answ3r"}`), authorizer.NoOpinion, "", broken},
		{"another kind", strings.ReplaceAll(answer(allowed), "SubjectAccess", "SelfSubjectAccess"), authorizer.NoOpinion, "", broken},
		{"another version", strings.ReplaceAll(answer(allowed), "/v1", "/v1beta1"), authorizer.NoOpinion, "", broken},
		{"rubbish", "answ3r", authorizer.NoOpinion, "", broken},
		{"too much", strings.Repeat("answ3r", 1<<20), authorizer.NoOpinion, "", "the answer has more than 1048576 bytes"},
	} {
		server := webhooktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			assert.JSONEq(t, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{},"status":{"allowed":false},
				"spec":{"user":"ann","uid":"1","groups":["dev"],"extra":{"scope":["a"]},"resourceAttributes":{"verb":"get","group":"g",
				"version":"v1","resource":"pods","subresource":"log","namespace":"shop","name":"web"}}}`, string(body))
			fmt.Fprint(w, row.answer)
		})
		client, err := webhook.New(webhooktest.Kubeconfig(t, server, "token: 0urs3cret"))
		require.NoError(t, err)
		decision, reason, err := New(client.Post).Authorize(t.Context(), getPod())
		assert.Equal(t, row.decision, decision, row.name)
		assert.Equal(t, row.reason, reason, row.name)
		if row.problem == "" {
			assert.NoError(t, err, row.name)
			continue
		}
		assert.ErrorContains(t, err, row.problem, row.name)
		assert.NotContains(t, err.Error(), "answ3r", row.name)
		assert.NotContains(t, err.Error(), "0urs3cret", row.name)
	}
}

func TestAServerThatHangsIsLeftWithTheRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := webhooktest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	client, err := webhook.New(webhooktest.Kubeconfig(t, server, ""))
	require.NoError(t, err)
	decision, _, err := New(client.Post).Authorize(ctx, getPod())
	assert.Equal(t, authorizer.NoOpinion, decision)
	assert.ErrorIs(t, err, context.Canceled)
}

// counted answers with a status, and counts.
type counted struct {
	status string
	asked  int
	last   string
	err    error
}

func (c *counted) post(_ context.Context, review, into any) error {
	c.asked++
	text, _ := json.Marshal(review)
	c.last = string(text)
	if c.err != nil {
		return c.err
	}
	return json.Unmarshal([]byte(answer(c.status)), into)
}

func TestAPathIsAskedForAsSuch(t *testing.T) {
	t.Parallel()
	server := &counted{status: allowed}
	decision, _, err := New(server.post).Authorize(t.Context(), authorizer.Attributes{User: &user.Info{Name: "ann"}, Verb: "get", Path: "/metrics"})
	assert.Equal(t, authorizer.Allow, decision)
	assert.NoError(t, err)
	assert.Contains(t, server.last, `"spec":{"nonResourceAttributes":{"path":"/metrics","verb":"get"},"user":"ann"}`)
}

func TestWhatIsAllowedCountsLonger(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status string
		err    error
		fails  bool
		asked  int
	}{{allowed, nil, false, 1}, {denied, nil, false, 4}, {neither, nil, false, 4},
		{`{"allowed":true,"denied":true}`, nil, true, 4}, {"", errors.New("away"), true, 8}} {
		synctest.Test(t, func(t *testing.T) {
			server := &counted{status: row.status, err: row.err}
			a := New(server.post)
			first, _, _ := a.Authorize(t.Context(), getPod())
			for range 7 {
				time.Sleep(otherTTL / 2)
				decision, _, err := a.Authorize(t.Context(), getPod())
				assert.Equal(t, first, decision)
				assert.Equal(t, row.fails, err != nil)
			}
			assert.Equal(t, row.asked, server.asked, row.status)
			time.Sleep(allowedTTL)
			_, _, _ = a.Authorize(t.Context(), getPod())
			assert.Equal(t, row.asked+1, server.asked, row.status)
		})
	}
}

func TestEveryAttributeIsAnotherQuestion(t *testing.T) {
	t.Parallel()
	server := &counted{status: allowed}
	a := New(server.post)
	asked := 0
	for _, change := range []func(*authorizer.Attributes){
		func(*authorizer.Attributes) {},
		func(about *authorizer.Attributes) { about.User = &user.Info{Name: "bob"} },
		func(about *authorizer.Attributes) { about.User = &user.Info{Name: "ann", UID: "2"} },
		func(about *authorizer.Attributes) { about.User = &user.Info{Name: "ann", Groups: []string{"dev,ops"}} },
		func(about *authorizer.Attributes) {
			about.User = &user.Info{Name: "ann", Groups: []string{"dev", "ops"}}
		},
		func(about *authorizer.Attributes) { about.Verb = "list" },
		func(about *authorizer.Attributes) { about.APIGroup = "" },
		func(about *authorizer.Attributes) { about.APIVersion = "v2" },
		func(about *authorizer.Attributes) { about.Resource = "secrets" },
		func(about *authorizer.Attributes) { about.Subresource = "" },
		func(about *authorizer.Attributes) { about.Namespace = "" },
		func(about *authorizer.Attributes) { about.Name = "" },
		func(about *authorizer.Attributes) {
			about.FieldSelector, _ = authorizer.ParseFieldSelector("spec.nodeName=m")
		},
		func(about *authorizer.Attributes) {
			about.LabelSelector, _ = authorizer.ParseLabelSelector("a in (b,c)")
		},
		func(about *authorizer.Attributes) { about.IsResource = false },
	} {
		about := getPod()
		change(&about)
		asked++
		for range 2 {
			_, _, err := a.Authorize(t.Context(), about)
			assert.NoError(t, err)
			assert.Equal(t, asked, server.asked)
		}
	}
}

func TestNobodyListsWhatAUserMayDo(t *testing.T) {
	t.Parallel()
	rules, incomplete, why := New(nil).RulesFor(t.Context(), ann, "shop")
	assert.Empty(t, rules)
	assert.True(t, incomplete)
	assert.Error(t, why)
}

func FuzzStatus(f *testing.F) {
	for _, seed := range []string{allowed, denied, neither, `{"allowed":true,"denied":true}`, `{"allowed":null}`, `{"Allowed":true}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, status string) {
		decision, _, err := New((&counted{status: status}).post).Authorize(t.Context(), getPod())
		assert.False(t, err != nil && decision == authorizer.Allow)
	})
}

func BenchmarkDecided(b *testing.B) {
	a := New((&counted{status: allowed}).post)
	for b.Loop() {
		_, _, _ = a.Authorize(b.Context(), getPod())
	}
}
