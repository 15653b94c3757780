package reviews_test

import (
	"bytes"
	"context"
	"errors"
	"log"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest/reviews"
)

func now() time.Time { return Now }

// written is what the tests have logged.
var written lockedBuffer

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func TestMain(m *testing.M) {
	log.SetOutput(&written)
	os.Exit(m.Run())
}

// asking opens a door whose reviews ask these.
func asking(t *testing.T, config reviews.Config) *Door {
	config.Now = now
	if config.Authorizer == nil {
		config.Authorizer = authorizer.AlwaysDeny{}
	}
	if config.Rules == nil {
		config.Rules = authorizer.AlwaysDeny{}
	}
	return OpenWith(t, reviews.Resources(config)...)
}

func TestWithoutGuardsEverybodyMayDoEverything(t *testing.T) {
	t.Parallel()
	d := Open(t)
	for _, row := range []struct{ path, body, want string }{
		{selfAccess, `{"spec":{"resourceAttributes":{"namespace":"default","verb":"get","resource":"pods"}}}`,
			`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"resourceAttributes":{"namespace":"default","verb":"get","resource":"pods"}},"status":{"allowed":true}}`},
		{access, `{"spec":{"user":"bob","nonResourceAttributes":{"path":"/","verb":"get"}}}`,
			`{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"nonResourceAttributes":{"path":"/","verb":"get"},"user":"bob"},"status":{"allowed":true}}`},
		{localAccess("a"), `{"spec":{"user":"bob","resourceAttributes":{"namespace":"a"}}}`,
			`{"kind":"LocalSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{"namespace":"a"},"spec":{"resourceAttributes":{"namespace":"a"},"user":"bob"},"status":{"allowed":true}}`},
		{selfRules, `{"spec":{"namespace":"default"}}`,
			`{"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"namespace":"default"},"status":{"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}],"incomplete":false}}`},
		{selves, `{}`,
			`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","metadata":{"creationTimestamp":"2026-06-06T12:00:00Z"},"status":{"userInfo":{"username":"system:unsecured","groups":["system:masters","system:authenticated"]}}}`},
		{tokens, `{"spec":{"token":"x"},"status":{"authenticated":true,"user":{"username":"me"},"audiences":["a"]}}`,
			`{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},"spec":{"token":"x"},"status":{"user":{}}}`},
	} {
		t.Run(row.path, func(t *testing.T) {
			t.Parallel()
			got := d.Do("POST", row.path, row.body)
			assert.Equal(t, 201, got.Status)
			assert.Equal(t, row.want+"\n", got.Text)
		})
	}
}

func TestTheAuthorizerIsAskedWhatTheReviewAsks(t *testing.T) {
	t.Parallel()
	const (
		resource = `"resourceAttributes":{"namespace":"n","verb":"v","group":"g","version":"1","resource":"r","subresource":"s","name":"x","fieldSelector":{"rawSelector":"a=b"},"labelSelector":{"rawSelector":"a=b"}}`
		path     = `"nonResourceAttributes":{"path":"/p","verb":"get"}`
		subject  = `"user":"eve","groups":["g1","g2"],"uid":"7","extra":{"scopes":["a","b"]}`
	)
	bob, eve := people["bob"], &user.Info{Name: "eve", UID: "7", Groups: []string{"g1", "g2"}, Extra: map[string][]string{"scopes": {"a", "b"}}}
	all := authorizer.Attributes{IsResource: true, Verb: "v", APIGroup: "g", APIVersion: "1", Resource: "r", Subresource: "s", Namespace: "n", Name: "x",
		FieldSelector: []metav1.FieldSelectorRequirement{{Key: "a", Operator: "In", Values: []string{"b"}}}, LabelSelector: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In", Values: []string{"b"}}}}
	some := authorizer.Attributes{IsResource: true, APIVersion: "*", FieldSelector: all.FieldSelector, LabelSelector: all.LabelSelector}
	for _, row := range []struct {
		path, spec string
		who        *user.Info
		want       authorizer.Attributes
	}{
		{selfAccess, resource, bob, all},
		{selfAccess, path, bob, authorizer.Attributes{Verb: "get", Path: "/p"}},
		{selfAccess, `"resourceAttributes":{}`, bob, authorizer.Attributes{IsResource: true, APIVersion: "*"}},
		{selfAccess, `"resourceAttributes":{"fieldSelector":{"requirements":[{"key":"a","operator":"In","values":["b"]},{"key":"c","operator":"Near","values":["d"]}]},` +
			`"labelSelector":{"requirements":[{"key":"c","operator":"Near","values":["d"]},{"key":"a","operator":"In","values":["b"]}]}}`, bob, some},
		{access, resource + "," + subject, eve, all},
		{access, path + "," + subject, eve, authorizer.Attributes{Verb: "get", Path: "/p"}},
		{access, path + `,"groups":["g"]`, &user.Info{Groups: []string{"g"}}, authorizer.Attributes{Verb: "get", Path: "/p"}},
		{localAccess("n"), resource + "," + subject, eve, all},
	} {
		t.Run(row.path+" "+row.spec, func(t *testing.T) {
			t.Parallel()
			row.want.User = row.who
			asking(t, reviews.Config{Authorizer: decides(func(a authorizer.Attributes) (authorizer.Decision, string, error) {
				assert.Equal(t, row.want, a)
				return authorizer.Allow, "", nil
			})}).As(bob).Must("POST", row.path, `{"spec":{`+row.spec+`}}`)
		})
	}
}

func TestTheAnswerIsWhatTheAuthorizerSays(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 5000)
	for name, row := range map[string]struct {
		decision authorizer.Decision
		reason   string
		err      error
		want     authorizationv1.SubjectAccessReviewStatus
	}{
		"allowed":      {authorizer.Allow, "why", nil, authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "why"}},
		"denied":       {authorizer.Deny, "why", nil, authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "why"}},
		"no opinion":   {authorizer.NoOpinion, "", nil, authorizationv1.SubjectAccessReviewStatus{}},
		"an error":     {authorizer.NoOpinion, "", errors.New("no role x"), authorizationv1.SubjectAccessReviewStatus{EvaluationError: "no role x"}},
		"a long error": {authorizer.NoOpinion, "", errors.New("x" + long), authorizationv1.SubjectAccessReviewStatus{EvaluationError: "x" + long[:998] + "..."}},
	} {
		for path, body := range map[string]string{
			selfAccess:       `{"spec":{"resourceAttributes":{}}}`,
			access:           `{"spec":{"resourceAttributes":{},"user":"eve"},"status":{"allowed":true,"denied":true,"reason":"mine"}}`,
			localAccess("n"): `{"spec":{"resourceAttributes":{"namespace":"n"},"user":"eve"}}`,
		} {
			t.Run(name+" "+path, func(t *testing.T) {
				t.Parallel()
				var review authorizationv1.SubjectAccessReview
				asking(t, reviews.Config{Authorizer: decides(func(authorizer.Attributes) (authorizer.Decision, string, error) {
					return row.decision, row.reason, row.err
				})}).Must("POST", path, body).Into(&review)
				assert.Equal(t, row.want, review.Status)
			})
		}
	}
}

func TestAWrongReviewAsksNobody(t *testing.T) {
	t.Parallel()
	d := asking(t, reviews.Config{Tokens: nobody{t}, Rules: nobody{t}, Authorizer: nobody{t}})
	for path, body := range map[string]string{
		selfAccess:       `{}`,
		access:           `{"spec":{"resourceAttributes":{}}}`,
		localAccess("n"): `{"metadata":{"namespace":"m"},"spec":{"resourceAttributes":{"namespace":"m"},"user":"x"}}`,
		selfRules:        `{}`,
		tokens:           `{"spec":{"audiences":["a"]}}`,
	} {
		assert.NotEmpty(t, d.Do("POST", path, body).Error().Message)
	}
}

// nobody is to be asked nothing.
type nobody struct{ t *testing.T }

func (n nobody) AuthenticateToken(context.Context, string) (*user.Info, bool, error) {
	assert.Fail(n.t, "asked about a token")
	return nil, false, nil
}

func (n nobody) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	assert.Fail(n.t, "asked about access")
	return authorizer.Deny, "", nil
}

func (n nobody) RulesFor(context.Context, *user.Info, string) ([]authorizer.Rule, bool, error) {
	assert.Fail(n.t, "asked about rules")
	return nil, false, nil
}

// lists is a RuleResolver that knows some rules of one user.
type lists struct {
	who        string
	rules      []authorizer.Rule
	incomplete bool
	why        error
}

func (l lists) RulesFor(_ context.Context, who *user.Info, namespace string) ([]authorizer.Rule, bool, error) {
	if who.Name != l.who || namespace != "n" {
		return nil, false, nil
	}
	return l.rules, l.incomplete, l.why
}

func TestRulesAreThoseOfTheUserInTheNamespace(t *testing.T) {
	t.Parallel()
	d := asking(t, reviews.Config{Rules: lists{who: "bob", incomplete: true, why: errors.New("no role x"), rules: []authorizer.Rule{
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}, ResourceNames: []string{"web"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz"}},
	}}})
	for _, row := range []struct{ who, namespace, want string }{
		{"bob", "n", `{"resourceRules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods","pods/log"],"resourceNames":["web"]}],"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/healthz"]}],"incomplete":true,"evaluationError":"no role x"}`},
		{"bob", "m", `{"resourceRules":[],"nonResourceRules":[],"incomplete":false}`},
		{"admin", "n", `{"resourceRules":[],"nonResourceRules":[],"incomplete":false}`},
	} {
		assert.Contains(t, d.As(people[row.who]).Must("POST", selfRules, `{"spec":{"namespace":"`+row.namespace+`"}}`).Text, `"status":`+row.want+"}")
	}
}

func TestATokensErrorIsNeverToldAndItsTokenNeverLogged(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-token"
	for _, err := range []error{nil, errors.New("it has expired"), errors.New("the token " + secret + " has\nexpired")} {
		d := asking(t, reviews.Config{Tokens: known{token: "other", err: err}})
		var review authenticationv1.TokenReview
		d.Must("POST", tokens, `{"spec":{"token":"`+secret+`"}}`).Into(&review)
		assert.Equal(t, authenticationv1.TokenReviewStatus{Error: "invalid bearer token"}, review.Status)
	}
	assert.Contains(t, written.String(), "A token to be reviewed is not accepted: it has expired")
	assert.NotContains(t, written.String(), secret)
}

func TestATokenThatIsAcceptedWithAnErrorIsNotAccepted(t *testing.T) {
	t.Parallel()
	d := asking(t, reviews.Config{Tokens: undecided{}})
	assert.Contains(t, d.Must("POST", tokens, `{"spec":{"token":"x"}}`).Text, `"status":{"user":{},"error":"invalid bearer token"}`)
}

type undecided struct{}

func (undecided) AuthenticateToken(context.Context, string) (*user.Info, bool, error) {
	return &user.Info{Name: "eve"}, true, errors.New("it could not be checked")
}

func TestATokensUserIsShownAsAMemberOfAllAuthenticated(t *testing.T) {
	t.Parallel()
	who := &user.Info{Name: "eve", UID: "7", Groups: []string{"g"}, Extra: map[string][]string{"scopes": {"a", "b"}}}
	d := asking(t, reviews.Config{Tokens: known{token: "x", who: who}})
	var review authenticationv1.TokenReview
	d.Must("POST", tokens, `{"spec":{"token":"x"},"status":{"error":"mine"}}`).Into(&review)
	assert.Equal(t, authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "eve", UID: "7",
		Groups: []string{"g", "system:authenticated"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a", "b"}}}}, review.Status)
	assert.Equal(t, []string{"g"}, who.Groups)
}

func TestWhoAsksIsShownWithAllThatIsKnown(t *testing.T) {
	t.Parallel()
	who := &user.Info{Name: "eve", UID: "7", Groups: []string{"g"}, Extra: map[string][]string{"scopes": {"a", "b"}}}
	assert.Contains(t, Open(t).As(who).Must("POST", selves, `{}`).Text,
		`"userInfo":{"username":"eve","uid":"7","groups":["g"],"extra":{"scopes":["a","b"]}}`)
}

func TestEachResourceHasItsTypeAndCanOnlyBeCreated(t *testing.T) {
	t.Parallel()
	resources := reviews.Resources(reviews.Config{})
	var names []string
	for _, resource := range resources {
		assert.True(t, resource.Types().Recognizes(resource.Kind))
		assert.Equal(t, []string{"create"}, resource.Verbs())
		assert.Equal(t, resource.Name == "localsubjectaccessreviews", resource.Namespaced)
		names = append(names, schema.GroupResource{Group: resource.GroupVersion.Group, Resource: resource.Name}.String())
	}
	assert.Equal(t, []string{
		"selfsubjectreviews.authentication.k8s.io", "tokenreviews.authentication.k8s.io", "localsubjectaccessreviews.authorization.k8s.io",
		"selfsubjectaccessreviews.authorization.k8s.io", "selfsubjectrulesreviews.authorization.k8s.io", "subjectaccessreviews.authorization.k8s.io",
	}, names, "in the order of today's discovery")
	require.Equal(t, "selfsubjectreview", resources[0].Singular)
}

func TestAHugeReviewIsRefusedInShort(t *testing.T) {
	t.Parallel()
	many := func(one string) string { return strings.TrimSuffix(strings.Repeat(one+",", 2000), ",") }
	selector := func(text string) string { return `{"spec":{"resourceAttributes":{` + text + `}}}` }
	for name, row := range map[string]struct{ body, want string }{
		"a long raw field selector": {selector(`"fieldSelector":{"rawSelector":"` + strings.Repeat("a", 1<<17) + `"}`), "spec.resourceAttributes.fieldSelector.rawSelector: Too long: may not be more than 65536 bytes"},
		"a long raw label selector": {selector(`"labelSelector":{"rawSelector":"` + strings.Repeat("a", 1<<17) + `"}`), "spec.resourceAttributes.labelSelector.rawSelector: Too long: may not be more than 65536 bytes"},
		"many fields":               {selector(`"fieldSelector":{"requirements":[` + many(`{}`) + `]}`), "spec.resourceAttributes.fieldSelector.requirements: Too many: 2000: must have at most 1000 items"},
		"many values of a label":    {selector(`"labelSelector":{"requirements":[{"values":[` + many(`"?"`) + `]}]}`), "spec.resourceAttributes.labelSelector.requirements: Too many: 2001: must have at most 1000 items"},
		"a long name":               {`{"metadata":{"name":"` + strings.Repeat("<", 1<<20) + `"},"spec":{"resourceAttributes":{}}}`, "metadata: Invalid value: must be empty"},
		"a long path":               {`{"spec":{"resourceAttributes":{},"nonResourceAttributes":{"path":"` + strings.Repeat("<", 1<<20) + `"}}}`, "spec.nonResourceAttributes: Invalid value: cannot be specified in combination with resourceAttributes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, `.authorization.k8s.io "" is invalid: `+row.want, Open(t).Do("POST", selfAccess, row.body).Error().Message)
		})
	}
}
