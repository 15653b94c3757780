package policy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// world is a chain of both plugins over a store, with what they told.
type world struct {
	t           testing.TB
	store       storage.Interface
	chain       *admission.Chain
	warnings    []string
	annotations map[string]string
}

// everybody may do everything.
type everybody struct{}

func (everybody) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.Allow, "", nil
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, store: memory.New(1), annotations: map[string]string{}}
	plugins := admission.Plugins{}
	plugins[NameMutating] = NewMutating
	plugins[NameValidating] = NewValidating
	chain, err := plugins.New([]string{NameMutating, NameValidating}, nil)
	require.NoError(t, err)
	catalog := &rest.Catalog{}
	for kind, stored := range map[string]api.Kind{"ConfigMap": "configmaps", "Pod": api.TaskKind, "Service": api.ServiceKind} {
		row := rest.InNamespaces(corev1.SchemeGroupVersion, kind, strings.ToLower(kind)+"s", printers.Printer{})
		row.StoredKind = stored
		catalog.Install(row)
	}
	chain.Each(func(_ string, p admission.Interface) {
		p.(plugin.WantsObjects).SetObjects(w.store, w.store, rest.Catalogs{catalog})
		p.(plugin.WantsAuthorizer).SetAuthorizer(everybody{})
	})
	w.chain = chain
	return w
}

// put stores an object.
func (w *world) put(kind schema.GroupVersionKind, resource string, object admission.Object) {
	w.t.Helper()
	in, err := v1.NewCodec(kind, api.Kind(resource), v1.Scheme).ToInternal(object)
	require.NoError(w.t, err)
	_, err = w.store.Commit(storage.Create(in))
	require.NoError(w.t, err)
}

// validates stores a policy that checks, and a binding of it.
func (w *world) validates(name string, spec admissionregistrationv1.ValidatingAdmissionPolicySpec, actions ...admissionregistrationv1.ValidationAction) {
	w.t.Helper()
	if len(actions) == 0 {
		actions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
	}
	meta := metav1.ObjectMeta{Name: name}
	w.put(admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy"), "validatingadmissionpolicies",
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: spec})
	w.put(admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding"), "validatingadmissionpolicybindings",
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: actions}})
}

// mutates stores a policy that changes, and a binding of it.
func (w *world) mutates(name string, spec admissionregistrationv1.MutatingAdmissionPolicySpec) {
	w.t.Helper()
	meta := metav1.ObjectMeta{Name: name}
	w.put(admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy"), "mutatingadmissionpolicies",
		&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta, Spec: spec})
	w.put(admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicyBinding"), "mutatingadmissionpolicybindings",
		&admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}})
}

// matching returns the requests that create or change a resource of the core group.
func matchingOf(resource string) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}}}}}}
}

func checks(resource string, expressions ...string) (spec admissionregistrationv1.ValidatingAdmissionPolicySpec) {
	spec.MatchConstraints = matchingOf(resource)
	for _, one := range expressions {
		spec.Validations = append(spec.Validations, admissionregistrationv1.Validation{Expression: one})
	}
	return spec
}

func creation(kind, resource string) admission.Attributes {
	return admission.Attributes{
		Operation: admission.Create, Kind: corev1.SchemeGroupVersion.WithKind(kind), Resource: corev1.SchemeGroupVersion.WithResource(resource),
		Namespace: "default", User: &user.Info{Name: "ann", Groups: []string{"dev"}}, Options: &metav1.CreateOptions{},
	}
}

// decide lets the chain decide about a new object, and returns what it makes of it.
func (w *world) decide(ctx context.Context, kind, resource string, object admission.Object) (admission.Object, error) {
	r := w.chain.Begin(ctx, creation(kind, resource))
	r.Warn = func(text string) { w.warnings = append(w.warnings, text) }
	r.Annotate = func(key, value string) { w.annotations[key] = value }
	changed, err := r.Mutate(object, nil)
	if err == nil {
		err = r.Validate(changed, nil)
	}
	return changed, err
}

func newPod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default", Labels: map[string]string{"a": "b"}}}
	for i := range 2 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: fmt.Sprint("c", i), Image: "i:1"})
	}
	return pod
}

func newConfigMap(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default"}, Data: data}
}

var validatingKind = admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy")

// changes returns a policy with mutations: a JSON patch if it begins with a bracket, else a configuration to apply.
func changes(resource string, expressions ...string) (spec admissionregistrationv1.MutatingAdmissionPolicySpec) {
	spec.MatchConstraints, spec.ReinvocationPolicy = matchingOf(resource), admissionregistrationv1.NeverReinvocationPolicy
	for _, one := range expressions {
		m := admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: one}}
		if one[0] == '[' {
			m = admissionregistrationv1.Mutation{PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: &admissionregistrationv1.JSONPatch{Expression: one}}
		}
		spec.Mutations = append(spec.Mutations, m)
	}
	return spec
}
