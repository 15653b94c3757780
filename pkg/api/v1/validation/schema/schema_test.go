package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/randfill"

	"kube2014/pkg/api/v1/markers"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
)

// deployment returns one whose pods have three containers.
func deployment(strategy appsv1.DeploymentStrategyType) *appsv1.Deployment {
	container := corev1.Container{Name: "a", Image: "i", ImagePullPolicy: corev1.PullAlways, Ports: []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolTCP}}}
	return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
		Strategy: appsv1.DeploymentStrategy{Type: strategy},
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container, container, container}}},
	}}
}

func job(rules ...batchv1.PodFailurePolicyRule) *batchv1.Job {
	return &batchv1.Job{Spec: batchv1.JobSpec{PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: rules}}}
}

func ingress(pathTypes ...networkingv1.PathType) *networkingv1.Ingress {
	var paths []networkingv1.HTTPIngressPath
	for _, pathType := range pathTypes {
		paths = append(paths, networkingv1.HTTPIngressPath{PathType: &pathType})
	}
	http := networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: paths}}
	return &networkingv1.Ingress{Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{}, {IngressRuleValue: http}}}}
}

func hooks(names ...string) (all []admissionregistrationv1.ValidatingWebhook) {
	for _, name := range names {
		all = append(all, admissionregistrationv1.ValidatingWebhook{Name: name})
	}
	return all
}

func texts(errs field.ErrorList) (all []string) {
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

// K40.
func TestObjectsAreCheckedByTheMarkersOfTheirTypes(t *testing.T) {
	t.Parallel()
	never := policyv1.UnhealthyPodEvictionPolicyType("Never")
	for sentence, row := range map[string]struct {
		object any
		want   []string
	}{
		"a value of an enum is right":               {deployment(appsv1.RecreateDeploymentStrategyType), nil},
		"an empty one is for the defaults":          {deployment(""), nil},
		"another one is not supported":              {deployment("Blue"), []string{`spec.strategy.type: Unsupported value: "Blue": supported values: "Recreate", "RollingUpdate"`}},
		"neither is one behind a pointer":           {&policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{UnhealthyPodEvictionPolicy: &never}}, []string{`spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"`}},
		"nor one at the top":                        {&schedulingv1.PriorityClass{PreemptionPolicy: new(corev1.PreemptionPolicy("a"))}, []string{`preemptionPolicy: Unsupported value: "a": supported values: "Never", "PreemptLowerPriority"`}},
		"nor those of lists, in their order":        {ingress("a", "Exact", "b"), []string{`spec.rules[1].http.paths[0].pathType: Unsupported value: "a": supported values: "Exact", "ImplementationSpecific", "Prefix"`, `spec.rules[1].http.paths[2].pathType: Unsupported value: "b": supported values: "Exact", "ImplementationSpecific", "Prefix"`}},
		"nor one in a list":                         {&networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{"In"}}}, []string{`spec.policyTypes[0]: Unsupported value: "In": supported values: "Egress", "Ingress"`}},
		"a status is not checked":                   {&corev1.PersistentVolume{Status: corev1.PersistentVolumeStatus{Phase: "Lost"}}, nil},
		"a set has an element once":                 {job(batchv1.PodFailurePolicyRule{OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Values: []int32{1, 2, 1}}}), []string{`spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 1`}},
		"a list that is a map has a key once":       {&admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: hooks("a", "b", "a")}, []string{`webhooks[2].name: Duplicate value: "a"`}},
		"finalizers and owners have their own rule": {&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"a/b", "a/b"}}}, nil},
		"secrets may repeat":                        {&corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Name: "a"}, {Name: "a"}}}, nil},
		"addresses may repeat":                      {&discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"1.2.3.4", "1.2.3.4"}}}}, nil},
		"verbs of flow schemas may repeat":          {&flowcontrolv1.FlowSchema{Spec: flowcontrolv1.FlowSchemaSpec{Rules: []flowcontrolv1.PolicyRulesWithSubjects{{ResourceRules: []flowcontrolv1.ResourcePolicyRule{{Verbs: []string{"a", "a"}}}}}}}, nil},
		"modes of drivers may repeat":               {&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{"Ephemeral", "Ephemeral"}}}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			var c check.Errors
			Check(&c, row.object, nil)
			assert.Equal(t, row.want, texts(c.List))
		})
	}
}

func TestRulesComeFirst(t *testing.T) {
	t.Parallel()
	for _, path := range []*field.Path{field.NewPath("spec", "strategy", "type"), field.NewPath("spec", "strategy")} {
		var c check.Errors
		c.Add(field.Invalid(path, "Blue", "is a color"))
		Check(&c, deployment("Blue"), nil)
		assert.Len(t, c.List, 1, path)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	var c check.Errors
	Check(&c, ingress(make([]networkingv1.PathType, 100_000)...), nil)
	assert.Empty(t, c.List)
	Check(&c, ingress(slices.Repeat([]networkingv1.PathType{"a"}, 100_000)...), nil)
	assert.Len(t, c.List, mostErrors)
}

func TestEachEnumOfPodsIsRefusedOnce(t *testing.T) {
	t.Parallel()
	found := 0
	eachEnum(reflect.TypeFor[corev1.PodSpec](), func(set func(v reflect.Value), name string) {
		found++
		var template corev1.PodTemplate
		set(reflect.ValueOf(&template.Template.Spec).Elem())
		var c check.Errors
		podspec.Validate(&c, &template.Template.Spec, "a", field.NewPath("template", "spec"))
		Check(&c, &template, nil)
		c.List = slices.DeleteFunc(c.List, func(err *field.Error) bool {
			return fmt.Sprint(err.BadValue) != "Bad" || strings.HasPrefix(err.Detail, "operator must be Exists")
		})
		if name != "stopSignal" { // nobody may set it yet
			assert.Len(t, c.List, 1, "%s in %v", name, template.Template.Spec)
		}
	})
	require.Greater(t, found, 50)
}

func TestAnyObjectIsChecked(t *testing.T) {
	t.Parallel()
	f := randfill.NewWithSeed(1).NilChance(0.3).NumElements(0, 3).MaxDepth(12)
	for _, object := range []any{&appsv1.StatefulSet{}, &batchv1.CronJob{}, &corev1.Node{}, &corev1.PersistentVolume{}, &storagev1.CSINode{},
		&admissionregistrationv1.MutatingWebhookConfiguration{}, &networkingv1.NetworkPolicy{}, &policyv1.PodDisruptionBudget{}} {
		for range 20 {
			var c check.Errors
			f.Fill(object)
			Check(&c, object, nil)
			assert.LessOrEqual(t, len(c.List), mostErrors)
		}
	}
}

// eachEnum calls a function for each field in a type that is an enum, with a function that sets it
// to "Bad", and its name.
func eachEnum(t reflect.Type, call func(set func(v reflect.Value), name string)) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		of, inner := f.Type, func(v reflect.Value) reflect.Value { return v }
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			outer := inner
			if of.Kind() == reflect.Pointer {
				inner = func(v reflect.Value) reflect.Value {
					v = outer(v)
					v.Set(reflect.New(v.Type().Elem()))
					return v.Elem()
				}
			} else {
				inner = func(v reflect.Value) reflect.Value {
					v = outer(v)
					v.Set(reflect.MakeSlice(v.Type(), 1, 1))
					return v.Index(0)
				}
			}
			of = of.Elem()
		}
		at := func(v reflect.Value) reflect.Value { return inner(v.FieldByIndex(f.Index)) }
		if of.Kind() == reflect.Struct {
			eachEnum(of, func(set func(v reflect.Value), name string) { call(func(v reflect.Value) { set(at(v)) }, name) })
		} else if len(markers.Enum(of)) > 0 {
			call(func(v reflect.Value) { at(v).SetString("Bad") }, name)
		}
	}
}

func BenchmarkADeploymentOfThreeContainers(b *testing.B) {
	d, c := deployment(appsv1.RecreateDeploymentStrategyType), &check.Errors{}
	for b.Loop() {
		Check(c, d, nil)
	}
	require.Empty(b, c.List)
}

func BenchmarkTheRulesOfADeployment(b *testing.B) {
	for b.Loop() {
		require.NotNil(b, maker{}.kind(reflect.TypeFor[appsv1.Deployment]()))
	}
}
