package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/server"
	"kube2014/pkg/server/request"
)

// whoAsks tells who asks, and which credentials are left.
var whoAsks = toys{
	"/who": func(w http.ResponseWriter, req *http.Request) {
		who := request.UserFrom(req.Context())
		fmt.Fprintf(w, "%s %s %v %v", who.Name, who.UID, who.Groups, who.Extra)
		for name := range req.Header {
			if name == "Authorization" || strings.HasPrefix(name, "Impersonate") {
				fmt.Fprint(w, " with ", name)
			}
		}
	},
}

// byName knows a user by the name in a header.
var byName = authenticator.RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
	switch name := req.Header.Get("Authorization"); name {
	case "":
		return nil, false, nil
	case "wrong":
		return nil, false, errors.New("it is wrong")
	default:
		return &user.Info{Name: name, Groups: []string{"g"}}, true, nil
	}
})

// rules allow what is in them: "USER VERB RESOURCE[/SUBRESOURCE][.GROUP] [NAMESPACE/]NAME".
type rules []string

func (r rules) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	resource, name := a.Resource, a.Name
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	if a.APIGroup != "" {
		resource += "." + a.APIGroup
	}
	if a.Namespace != "" {
		name = a.Namespace + "/" + name
	}
	for _, rule := range r {
		if rule == a.User.Name+" "+a.Verb+" "+resource+" "+name {
			return authorizer.Allow, "", nil
		}
	}
	return authorizer.NoOpinion, "no rule", errors.New("the rules are few")
}

func guarded(allowed ...string) http.Handler {
	return chainOf(whoAsks, server.Config{Auth: server.Auth{Authenticator: byName, Authorizer: rules(allowed)}})
}

func TestWithoutGuardsEverybodyGetsIn(t *testing.T) {
	t.Parallel()
	answer := ask(chainOf(whoAsks, server.Config{}), "GET", "/who", "Authorization: wrong", "Impersonate-User: other")
	assert.Equal(t, "system:unsecured  [system:masters system:authenticated] map[]", strings.Split(answer.Body.String(), " with ")[0])
}

func TestWhoIsNotKnownIsA401AndWhyIsOnlyLogged(t *testing.T) {
	for _, headers := range [][]string{nil, {"Authorization: wrong"}} {
		logged := logOf(func() {
			answer := ask(guarded(), "GET", "/who", headers...)
			assert.Equal(t, http.StatusUnauthorized, answer.Code)
			assert.Equal(t, "Unauthorized", answer.Body.String())
		})
		assert.Contains(t, logged, "GET /who: not authenticated: ")
	}
}

func TestAMethodAndTheNamesInACertificateStayInTheirLine(t *testing.T) {
	long := authenticator.RequestFunc(func(*http.Request) (*user.Info, bool, error) {
		return nil, false, errors.New(strings.Repeat("x", 1<<20) + "\nGET / 200")
	})
	auth := server.Auth{Authenticator: long, Authorizer: rules{}}
	req := httptest.NewRequest("GET", "/who", nil)
	req.Method = "GET / 200 1ms\n"
	logged := logOf(func() {
		chainOf(whoAsks, server.Config{Auth: auth}).ServeHTTP(httptest.NewRecorder(), req)
	})
	assert.Less(t, len(logged), 3000)
	assert.Equal(t, 2, strings.Count(logged, `"GET / 200 1ms\n" /who`))
	assert.Equal(t, 2, strings.Count(logged, "\n"), "a line for why, and one for the request")
}

func TestAnAuthenticatorThatNamesNobodyLetsNobodyIn(t *testing.T) {
	t.Parallel()
	nobody := authenticator.RequestFunc(func(*http.Request) (*user.Info, bool, error) { return nil, true, nil })
	handler := chainOf(whoAsks, server.Config{Auth: server.Auth{Authenticator: nobody, Authorizer: authorizer.AlwaysAllow{}}})
	assert.Equal(t, http.StatusUnauthorized, ask(handler, "GET", "/who").Code)
}

func TestWhatIsNotAllowedIsA403ThatTellsTheReason(t *testing.T) {
	logged := logOf(func() {
		answer := ask(guarded(), "GET", "/who", "Authorization: ann")
		assert.Equal(t, http.StatusForbidden, answer.Code)
		assert.Equal(t, `User "ann" cannot get resource "toys" in API group "" at the cluster scope: no rule`, answer.Body.String())
	})
	assert.Contains(t, logged, "GET /who: not authorized: the rules are few")
}

func TestWhoGetsInIsKnownBehindTheChainWithoutCredentials(t *testing.T) {
	t.Parallel()
	answer := ask(guarded("ann get toys who"), "GET", "/who", "Authorization: ann")
	assert.Equal(t, "ann  [g] map[]", answer.Body.String())
}

func TestK34AGroupWithoutAUserIsToldWithItsHeader(t *testing.T) {
	t.Parallel()
	answer := ask(guarded("ann get toys who"), "GET", "/who", "Authorization: ann", "Impersonate-Group: system:masters")
	assert.Equal(t, http.StatusBadRequest, answer.Code)
	assert.Equal(t, "Impersonate-User: must be given with the other headers of impersonation", answer.Body.String())
}

func TestImpersonationNeedsARightToEachPart(t *testing.T) {
	t.Parallel()
	const denied = `User "ann" cannot impersonate resource `
	for name, row := range map[string]struct {
		headers []string
		allowed []string
		status  int
		says    string
	}{
		"a user": {[]string{"Impersonate-User: bob"}, []string{"ann impersonate users bob", "bob get toys who"},
			200, "bob  [system:authenticated] map[]"},
		"a user without the right": {[]string{"Impersonate-User: bob"}, []string{"bob get toys who"},
			403, denied + `"users" in API group "" at the cluster scope: no rule`},
		"a user with only the right of today's constrained impersonation (K96)": {[]string{"Impersonate-User: bob"},
			[]string{"ann impersonate:user-info users.authentication.k8s.io bob", "ann impersonate-on:user-info:get toys who", "bob get toys who"},
			403, denied + `"users" in API group "" at the cluster scope: no rule`},
		"a user who has no right": {[]string{"Impersonate-User: bob"}, []string{"ann impersonate users bob", "ann get toys who"},
			403, `User "bob" cannot get resource "toys" in API group "" at the cluster scope: no rule`},
		"groups": {[]string{"Impersonate-User: bob", "Impersonate-Group: x", "Impersonate-Group: y"},
			[]string{"ann impersonate users bob", "ann impersonate groups x", "ann impersonate groups y", "bob get toys who"},
			200, "bob  [x y system:authenticated] map[]"},
		"a group without the right": {[]string{"Impersonate-User: bob", "Impersonate-Group: x", "Impersonate-Group: system:masters"},
			[]string{"ann impersonate users bob", "ann impersonate groups x", "bob get toys who"},
			403, denied + `"groups" in API group "" at the cluster scope: no rule`},
		"a uid": {[]string{"Impersonate-User: bob", "Impersonate-Uid: 7"},
			[]string{"ann impersonate users bob", "ann impersonate uids.authentication.k8s.io 7", "bob get toys who"}, 200, "bob 7 [system:authenticated] map[]"},
		"what else is known": {[]string{"Impersonate-User: bob", "Impersonate-Extra-Scopes: a", "Impersonate-Extra-Scopes: b", "Impersonate-Extra-Acme%2fthing: c"},
			[]string{"ann impersonate users bob", "ann impersonate userextras/scopes.authentication.k8s.io a", "ann impersonate userextras/scopes.authentication.k8s.io b",
				"ann impersonate userextras/acme/thing.authentication.k8s.io c", "bob get toys who"}, 200, "bob  [system:authenticated] map[acme/thing:[c] scopes:[a b]]"},
		"what else is known without the right": {[]string{"Impersonate-User: bob", "Impersonate-Extra-Scopes: a"}, []string{"ann impersonate users bob"},
			403, denied + `"userextras/scopes" in API group "authentication.k8s.io" at the cluster scope: no rule`},
		"a service account": {[]string{"Impersonate-User: system:serviceaccount:default:robot"},
			[]string{"ann impersonate serviceaccounts default/robot", "system:serviceaccount:default:robot get toys who"},
			200, "system:serviceaccount:default:robot  [system:serviceaccounts system:serviceaccounts:default system:authenticated] map[]"},
		"a service account without the right": {[]string{"Impersonate-User: system:serviceaccount:default:robot"}, []string{"ann impersonate users system:serviceaccount:default:robot"},
			403, denied + `"serviceaccounts" in API group "" in the namespace "default": no rule`},
		"what only looks like one": {[]string{"Impersonate-User: system:serviceaccount:default"}, []string{"ann impersonate users system:serviceaccount:default", "system:serviceaccount:default get toys who"},
			200, "system:serviceaccount:default  [system:authenticated] map[]"},
		"nobody": {[]string{"Impersonate-User: system:anonymous"}, []string{"ann impersonate users system:anonymous", "system:anonymous get toys who"},
			200, "system:anonymous  [system:unauthenticated] map[]"},
		"a group without a user": {[]string{"Impersonate-Group: system:masters"}, []string{"ann get toys who"},
			400, "Impersonate-User: must be given with the other headers of impersonation"},
		"a uid without a user": {[]string{"Impersonate-Uid: 7"}, []string{"ann get toys who"},
			400, "Impersonate-User: must be given with the other headers of impersonation"},
		"more without a user": {[]string{"Impersonate-Extra-Scopes: a"}, []string{"ann get toys who"},
			400, "Impersonate-User: must be given with the other headers of impersonation"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := ask(guarded(row.allowed...), "GET", "/who", append(row.headers, "Authorization: ann")...)
			assert.Equal(t, row.says, answer.Body.String())
			assert.Equal(t, row.status, answer.Code)
		})
	}
}

// collection is an API of one collection, whose query counts or not.
type collection struct {
	toys
	verb    string
	selects bool
}

func (c collection) Serves(req *http.Request, record *request.Record) bool {
	record.Info = request.RequestInfo{Path: req.URL.Path, Verb: c.verb, IsResource: true, Resource: "toys", Selects: c.selects}
	return true
}

func TestAQueryNamesAnObjectOnlyIfTheAnswerKeepsToIt(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		query  string
		counts bool
		status int
	}{
		"the name that is allowed":       {"?fieldSelector=metadata.name%3Dbear", true, 200},
		"another name":                   {"?fieldSelector=metadata.name%3Dcat", true, 403},
		"another one at the second word": {"?fieldSelector=&fieldSelector=metadata.name%3Dbear", true, 403},
		"all others":                     {"?fieldSelector=metadata.name!%3Dbear", true, 403},
		"no selector":                    {"?fieldSelector=%3D%3D%3D", true, 403},
		"all":                            {"", true, 403},
		"all, as the query is ignored":   {"?fieldSelector=metadata.name%3Dbear", false, 403},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := server.Config{Chain: &server.Delegate{Server: collection{whoAsks, "list", row.counts}}, RequestTimeout: time.Minute,
				Auth: server.Auth{Authenticator: byName, Authorizer: rules{"ann list toys bear"}}}
			answer := ask(config.Complete().New().SecureHandler(), "GET", "/who"+row.query, "Authorization: ann")
			assert.Equal(t, row.status, answer.Code)
		})
	}
}

func TestAnAuthorizerSeesTheSelectors(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"list", "deletecollection"} {
		var seen authorizer.Attributes
		config := server.Config{Chain: &server.Delegate{Server: collection{whoAsks, verb, true}}, RequestTimeout: time.Minute,
			Auth: server.Auth{Authenticator: byName, Authorizer: allows(func(a authorizer.Attributes) { seen = a })}}
		query := "?fieldSelector=metadata.name%3Dbear,a!%3Db&labelSelector=c,d+in+(e)"
		assert.Equal(t, 200, ask(config.Complete().New().SecureHandler(), "GET", "/who"+query, "Authorization: ann").Code)
		assert.Equal(t, []metav1.FieldSelectorRequirement{{Key: "a", Operator: "NotIn", Values: []string{"b"}}, {Key: "metadata.name", Operator: "In", Values: []string{"bear"}}}, seen.FieldSelector)
		assert.Equal(t, []metav1.LabelSelectorRequirement{{Key: "c", Operator: "Exists", Values: []string{}}, {Key: "d", Operator: "In", Values: []string{"e"}}}, seen.LabelSelector)
		assert.Equal(t, map[string]string{"list": "bear"}[verb], seen.Name, "a name does not permit to delete a collection")
	}
}

// allows allows everything that it has seen.
type allows func(authorizer.Attributes)

func (a allows) Authorize(_ context.Context, wanted authorizer.Attributes) (authorizer.Decision, string, error) {
	a(wanted)
	return authorizer.Allow, "", nil
}

// namespaces is an API of one namespace.
type namespaces struct{ toys }

func (namespaces) Serves(req *http.Request, record *request.Record) bool {
	record.Info = request.RequestInfo{Path: req.URL.Path, Verb: "get", IsResource: true, Resource: "namespaces", Name: "default"}
	return true
}

func TestWhoMayReadInANamespaceMayReadTheNamespace(t *testing.T) {
	t.Parallel()
	config := server.Config{Chain: &server.Delegate{Server: namespaces{whoAsks}}, RequestTimeout: time.Minute, Auth: server.Auth{Authenticator: byName, Authorizer: rules{"ann get namespaces default/default"}}}
	assert.Equal(t, http.StatusOK, ask(config.Complete().New().SecureHandler(), "GET", "/who", "Authorization: ann").Code)
}
