package validatingadmissionpolicystatus

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
	"kube2014/pkg/master/servertest"
)

// What today's controller says of types is recorded: see TestWebhooksAndPoliciesDecideAsOnTodaysServer.

const document = `{"components":{"schemas":{
"Map":{"type":"object","properties":{"data":{"type":"object","additionalProperties":{"type":"string"}},"self":{"$ref":"#/components/schemas/Map"}},
"x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"ConfigMap"}]}}}}`

// bench is a server with two controllers in a synctest bubble.
type bench struct {
	t        *testing.T
	policies clientv1.Resource[*admissionregistrationv1.ValidatingAdmissionPolicy]
	writes   atomic.Int32
	code     atomic.Int32 // with which OpenAPI is answered
}

func inBubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		b := &bench{t: t, policies: server.Client(t, "test").ValidatingAdmissionPolicies()}
		b.code.Store(http.StatusOK)
		server.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			switch {
			case req.URL.Path == "/openapi/v3/api/v1":
				w.WriteHeader(int(b.code.Load()))
				_, _ = io.WriteString(w, document)
				return
			case req.Method != http.MethodGet && req.UserAgent() == "controller":
				b.writes.Add(1)
			}
			next.ServeHTTP(w, req)
		})
		resources := []metav1.APIResource{{Version: "v1", Kind: "ConfigMap", Name: "configmaps"}, {Version: "v1", Kind: "ConfigMap", Name: "configmaps/status"}, {Version: "v1", Kind: "Pod", Name: "pods"}}
		for range 2 {
			c := NewStatusController(controller.Config{Client: server.Client(t, "controller"), Resources: func() []metav1.APIResource { return resources }})
			servertest.Run(t, func(ctx context.Context) { c.Run(ctx, 2) })
		}
		test(b)
	})
}

// settle waits until the controllers have nothing to do.
func (b *bench) settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

func (b *bench) create(expression string, resources ...string) {
	rule := admissionregistrationv1.RuleWithOperations{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: resources}}
	_, err := b.policies.Create(b.t.Context(), &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		Validations:      []admissionregistrationv1.Validation{{Expression: expression}},
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}}}}})
	require.NoError(b.t, err)
}

func (b *bench) status() admissionregistrationv1.ValidatingAdmissionPolicyStatus {
	policy, err := b.policies.Get(b.t.Context(), "p")
	require.NoError(b.t, err)
	return policy.Status
}

func TestWhatIsWrongWithTheTypesOfAPolicyIsInItsStatus(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.create("object.data['a'] == 1", "configmaps")
		b.settle()
		status := b.status()
		assert.EqualValues(t, 1, status.ObservedGeneration)
		require.Len(t, status.TypeChecking.ExpressionWarnings, 1)
		warning := status.TypeChecking.ExpressionWarnings[0]
		assert.Equal(t, "spec.validations[0].expression", warning.FieldRef)
		assert.Contains(t, warning.Warning, "/v1, Kind=ConfigMap: ERROR: <input>:1:18: found no matching overload for '_==_' applied to '(string, int)'")
		writes := b.writes.Load()
		b.settle()
		assert.Equal(t, writes, b.writes.Load(), "once")

		policy, err := b.policies.Get(b.t.Context(), "p")
		require.NoError(t, err)
		policy.Spec.Validations[0].Expression = "object.data['a'] == '1'"
		_, err = b.policies.Update(b.t.Context(), policy)
		require.NoError(t, err)
		b.settle()
		assert.EqualValues(t, 2, b.status().ObservedGeneration)
		assert.Empty(t, b.status().TypeChecking.ExpressionWarnings)
	})
}

func TestWhatIsUnknownIsNoMistake(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.create("object.nothing == 1", "pods", "secrets", "configmaps/status")
		b.settle()
		assert.Equal(t, &admissionregistrationv1.TypeChecking{}, b.status().TypeChecking)
	})
}

func TestTypesAreCheckedWhenTheServerTellsThem(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.code.Store(http.StatusServiceUnavailable)
		b.create("object.nothing == 1", "configmaps")
		b.settle()
		assert.Nil(t, b.status().TypeChecking)
		b.code.Store(http.StatusOK)
		time.Sleep(time.Hour)
		b.settle()
		assert.Len(t, b.status().TypeChecking.ExpressionWarnings, 1)
	})
}

func TestASchemaThatContainsItselfEnds(t *testing.T) {
	t.Parallel()
	var of struct{ Components struct{ Schemas components } }
	require.NoError(t, json.Unmarshal([]byte(document), &of))
	resolved := of.Components.Schemas.resolve(&spec.Schema{SchemaProps: spec.SchemaProps{Ref: spec.MustCreateRef("#/components/schemas/Map")}}, nil)
	self := resolved.Properties["self"]
	assert.Equal(t, spec.StringOrArray{"object"}, self.Type)
	assert.Empty(t, self.Properties)
}
