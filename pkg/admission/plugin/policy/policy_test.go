package policy

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/storage"
)

// What policies say is recorded: see TestWebhooksAndPoliciesDecideAsOnTodaysServer.

func (w *world) denied(object admission.Object) string {
	w.t.Helper()
	_, err := w.decide(w.t.Context(), "ConfigMap", "configmaps", object)
	if err == nil {
		return ""
	}
	return err.Error()
}

// update replaces a stored object.
func (w *world) update(kind schema.GroupVersionKind, resource string, object admission.Object) {
	w.t.Helper()
	key := api.Key{Kind: api.Kind(resource), Namespace: object.GetNamespace(), ID: object.GetName()}
	in, err := v1.NewCodec(kind, key.Kind, v1.Scheme).ToInternal(object)
	require.NoError(w.t, err)
	_, err = storage.GuaranteedUpdate(w.store, key, func(*storage.Object) (api.Object, error) { return in, nil })
	require.NoError(w.t, err)
}

func TestAPolicyWithoutABindingDecidesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	assert.Empty(t, w.denied(newConfigMap(nil)), "there are none")
	w.put(validatingKind, "validatingadmissionpolicies", &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: checks("configmaps", "false")})
	assert.Empty(t, w.denied(newConfigMap(nil)))
	w.validates("q", checks("configmaps", "false"))
	assert.Contains(t, w.denied(newConfigMap(nil)), "ValidatingAdmissionPolicy 'q'")
}

// K98.
func TestPoliciesDecideInTheOrderOfTheirNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"c", "a", "b"} {
		w.validates(name, checks("configmaps", "object.metadata.name != '"+name+"' && false"))
		w.mutates(name, changes("configmaps", "Object{data: {'by': object.?data.by.orValue('') + '"+name+"'}}"))
	}
	object, err := w.decide(t.Context(), "ConfigMap", "configmaps", newConfigMap(nil))
	assert.ErrorContains(t, err, "'a'")
	assert.Equal(t, "abc", object.(*corev1.ConfigMap).Data["by"])
}

func TestAChangeIsObeyedByTheNextRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.validates("p", checks("configmaps", "false"))
	assert.NotEmpty(t, w.denied(newConfigMap(nil)))
	w.update(validatingKind, "validatingadmissionpolicies", &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: checks("configmaps", "true")})
	assert.Empty(t, w.denied(newConfigMap(nil)))
}

func TestVariablesAreThoseOfTheObjectAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := changes("configmaps", "Object{data: {'a': variables.a + '2'}}", "[JSONPatch{op: 'add', path: '/data/b', value: variables.a + '3'}]")
	spec.Variables = []admissionregistrationv1.Variable{{Name: "a", Expression: "object.data.a"}}
	spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "c", Expression: "variables.a == '1' && namespaceObject == null"}}
	w.mutates("p", spec)
	object, err := w.decide(t.Context(), "ConfigMap", "configmaps", newConfigMap(map[string]string{"a": "1"}))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "12", "b": "123"}, object.(*corev1.ConfigMap).Data)
}

// K98: those of today's server stay as they were when the first policy with their kind is deleted.
func TestParametersAreThoseOfNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := checks("configmaps", "object.data.a == params.data.a")
	spec.ParamKind = &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	w.validates("p", spec)
	w.update(validatingKind.GroupVersion().WithKind("ValidatingAdmissionPolicyBinding"), "validatingadmissionpolicybindings", &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "p",
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			ParamRef:          &admissionregistrationv1.ParamRef{Name: "x", ParameterNotFoundAction: new(admissionregistrationv1.DenyAction)}}})
	object := newConfigMap(map[string]string{"a": "1"})
	assert.Contains(t, w.denied(object), "no params found for policy binding")
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	w.put(kind, "configmaps", newConfigMap(map[string]string{"a": "1"}))
	assert.Empty(t, w.denied(object))
	w.update(kind, "configmaps", newConfigMap(map[string]string{"a": "2"}))
	assert.Contains(t, w.denied(object), "failed expression")
}

func TestParametersAreSelectedByTheLabelsThatTheAPIShows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := checks("configmaps", "params.metadata.name != 'labelled'")
	spec.ParamKind = &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "Service"}
	w.validates("p", spec)
	w.update(validatingKind.GroupVersion().WithKind("ValidatingAdmissionPolicyBinding"), "validatingadmissionpolicybindings", &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "p",
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			ParamRef:          &admissionregistrationv1.ParamRef{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}}})
	kind := corev1.SchemeGroupVersion.WithKind("Service")
	w.put(kind, string(api.ServiceKind), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "selecting", Namespace: "default"}, Spec: corev1.ServiceSpec{Selector: map[string]string{"a": "b"}}})
	assert.Empty(t, w.denied(newConfigMap(nil)), "it selects pods with such a label, and has none itself")
	w.put(kind, string(api.ServiceKind), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "labelled", Namespace: "default", Labels: map[string]string{"a": "b"}}})
	assert.NotEmpty(t, w.denied(newConfigMap(nil)))
}

func TestAnnotationsThatCostTooMuchTogetherAreOneFailureOfTheirPolicy(t *testing.T) {
	t.Parallel()
	costly := "object.data.a.contains('" + strings.Repeat("y", 100) + "') ? 'a' : 'b'" // a tenth of the length by a tenth of the length
	object := newConfigMap(map[string]string{"a": strings.Repeat("x", 900_000)})
	for action, denied := range map[admissionregistrationv1.ValidationAction]bool{admissionregistrationv1.Deny: true, admissionregistrationv1.Audit: false} {
		w, spec := newWorld(t), checks("configmaps", "true")
		spec.AuditAnnotations = []admissionregistrationv1.AuditAnnotation{{Key: "cheap", ValueExpression: "'yes'"}}
		for i := range 12 { // each costs almost a tenth of what all may
			spec.AuditAnnotations = append(spec.AuditAnnotations, admissionregistrationv1.AuditAnnotation{Key: fmt.Sprint("costly", i), ValueExpression: costly})
		}
		w.validates("p", spec, action)
		assert.Equal(t, denied, w.denied(object) != "", action)
		assert.Empty(t, w.annotations["p/cheap"])
	}
}

func TestAPolicyThatTheServerCannotReadFailsAsItsFailurePolicySays(t *testing.T) {
	t.Parallel()
	noPolicy := admissionregistrationv1.Ignore
	for name, row := range map[string]struct {
		change func(*admissionregistrationv1.ValidatingAdmissionPolicySpec)
		why    string
	}{
		"no constraints": {func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) { s.MatchConstraints = nil }, "failed to configure policy: policy contained no match constraints"},
		"a wrong selector": {func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
			s.MatchConstraints.ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}
		}, `failed to configure policy: "Like" is not a valid label selector operator`},
		"an expression that does not compile": {func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
			s.Validations[0].Expression = "object."
		}, "compilation error: "},
		"a variable that does not compile": {func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
			s.Variables = []admissionregistrationv1.Variable{{Name: "v", Expression: "nothing"}}
			s.Validations[0].Expression = "variables.v == 1"
		}, `composited variable "v" fails to compile`},
		"a condition that does not compile": {func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
			s.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "c", Expression: "nothing"}}
		}, "compilation error: "},
		"an unknown kind of parameters": {func(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
			s.ParamKind = &admissionregistrationv1.ParamKind{APIVersion: "a/b/c", Kind: "K"}
		}, "failed to configure policy: failed to find resource referenced by paramKind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, spec := newWorld(t), checks("configmaps", "true")
			row.change(&spec)
			w.validates("p", spec)
			assert.Contains(t, w.denied(newConfigMap(nil)), row.why)
			spec.FailurePolicy = &noPolicy
			w.update(validatingKind, "validatingadmissionpolicies", &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: spec})
			assert.Empty(t, w.denied(newConfigMap(nil)))
		})
	}
}

func TestARequestWithoutTimeIsNotAdmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := checks("configmaps", "true")
	spec.FailurePolicy = new(admissionregistrationv1.Ignore)
	w.validates("p", spec)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.decide(ctx, "ConfigMap", "configmaps", newConfigMap(nil))
	assert.True(t, apierrors.IsTimeout(err), err)
}

func TestNobodysPolicyKeepsAPolicyFromBeingChanged(t *testing.T) {
	t.Parallel()
	p, err := NewValidating(nil)
	require.NoError(t, err)
	for resource, want := range map[string]bool{
		"configmaps.": true, "validatingadmissionpolicies.admissionregistration.k8s.io": false, "mutatingadmissionpolicybindings.admissionregistration.k8s.io": false,
		"validatingwebhookconfigurations.admissionregistration.k8s.io": true, "tokenreviews.authentication.k8s.io": false, "subjectaccessreviews.authorization.k8s.io": false,
	} {
		name, group, _ := strings.Cut(resource, ".")
		assert.Equal(t, want, p.(admission.SelectsResources).Selects(schema.GroupResource{Group: group, Resource: name}, ""), resource)
	}
}

func TestPatchesAreBounded(t *testing.T) {
	t.Parallel()
	const test = "JSONPatch{op: 'test', path: '/kind', value: 'ConfigMap'},"
	const double = "JSONPatch{op: 'copy', from: '/data', path: '/data/x'},JSONPatch{op: 'copy', from: '/data', path: '/data/y'},"
	for expression, why := range map[string]string{
		"[JSONPatch{op: 'add', path: '/data', value: {'a': object.data.a" + strings.Repeat(".replace('x', 'xx')", 12) + "}}]": "cost limit exceeded",
		"[" + strings.Repeat(test, 10_001) + "]": "expression code point size exceeds limit",
		"[" + strings.Repeat(double, 20) + "]":   "Unable to complete the copy, the accumulated size increase of copy is",
	} {
		w := newWorld(t)
		w.mutates("p", changes("configmaps", expression))
		_, err := w.decide(t.Context(), "ConfigMap", "configmaps", newConfigMap(map[string]string{"a": strings.Repeat("x", 2000)}))
		assert.ErrorContains(t, err, why)
	}
}

func TestManyRequestsMayBeDecidedWhilePoliciesChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mutates("m", changes("configmaps", "Object{data: {'x': 'y'}}"))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				r := w.chain.Begin(t.Context(), creation("ConfigMap", "configmaps"))
				object, err := r.Mutate(newConfigMap(map[string]string{"a": "b"}), nil)
				if assert.NoError(t, err) {
					assert.Equal(t, map[string]string{"a": "b", "x": "y"}, object.(*corev1.ConfigMap).Data)
					assert.NoError(t, r.Validate(object, nil))
				}
			}
		})
	}
	for i := range 20 {
		w.validates(fmt.Sprint("p", i), checks("configmaps", "object.data.x == 'y'"))
	}
	all.Wait()
}
