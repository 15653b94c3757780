package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/matching"
)

// patching patches a pod by operations.
func patching(t testing.TB, a *admission.Attributes, operations string) (bool, error) {
	p := &common{}
	view, err := p.matcher.View(matching.Version{Resource: a.Resource, Kind: a.Kind}, a)
	require.NoError(t, err)
	before, err := encode(view.Object)
	require.NoError(t, err)
	patchType := admissionv1.PatchTypeJSONPatch
	return p.patch(a, view, &hook{name: "a.b.c"}, before, &admissionv1.AdmissionResponse{Patch: []byte(operations), PatchType: &patchType})
}

func ofPod(pod *corev1.Pod) *admission.Attributes {
	a := creation()
	a.Object = pod
	return &a
}

// K65.
func TestAPatchThatChangesNothingIsNoChange(t *testing.T) {
	t.Parallel()
	for _, operations := range []string{"", "[]", "null", " [ ] ", `[{"op":"add","path":"/metadata/labels/a","value":"b"}]`,
		`[{"op":"test","path":"/metadata/name","value":"x"}]`, `[{"op":"add","path":"/spec/other","value":1}]`, `[{"op":"remove","path":"/metadata/namespace"}]`,
		`[{"op":"remove","path":"/kind"}]`, `[{"op":"remove","path":"/apiVersion"}]`} {
		a := ofPod(newPod())
		changed, err := patching(t, a, operations)
		require.NoError(t, err, operations)
		assert.False(t, changed, operations)
		assert.Equal(t, newPod(), a.Object, operations)
	}
}

func TestAPatchKeepsTheIdentityOfAnObject(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		options   any
		operation string
		problem   string
	}{
		{&metav1.CreateOptions{}, `{"op":"replace","path":"/metadata/name","value":"y"}`, ""},
		{&metav1.UpdateOptions{}, `{"op":"replace","path":"/metadata/name","value":"y"}`, `Pod "y" is invalid: metadata.name: Invalid value: "y": field is immutable`},
		{&metav1.PatchOptions{}, `{"op":"replace","path":"/metadata/name","value":"y"}`, `Pod "y" is invalid: metadata.name: Invalid value: "y": field is immutable`},
		{nil, `{"op":"remove","path":"/metadata/name"}`, `Pod "" is invalid: metadata.name: Invalid value: "": field is immutable`},
		{&metav1.CreateOptions{}, `{"op":"replace","path":"/metadata/namespace","value":"y"}`, "the namespace of the provided object does not match the namespace sent on the request"},
		{&metav1.CreateOptions{}, `{"op":"replace","path":"/metadata/uid","value":"y"}`, `Pod "x" is invalid: metadata.uid: Invalid value: "y": field is immutable`},
		{nil, `{"op":"remove","path":"/metadata/uid"}`, ""},
		{nil, `{"op":"replace","path":"/kind","value":"Service"}`, `Internal error occurred: admission webhook "a.b.c" patched the object to one of another kind`},
		{nil, `{"op":"replace","path":"/apiVersion","value":"apps/v1"}`, `Internal error occurred: admission webhook "a.b.c" patched the object to one of another kind`},
	} {
		pod := newPod()
		pod.UID = "1"
		a := ofPod(pod)
		a.Options = nil
		switch options := row.options.(type) {
		case *metav1.CreateOptions:
			a.Options = options
		case *metav1.UpdateOptions:
			a.Options = options
		case *metav1.PatchOptions:
			a.Options = options
		}
		changed, err := patching(t, a, "["+row.operation+"]")
		if row.problem == "" {
			require.NoError(t, err, row.operation)
			assert.True(t, changed, row.operation)
			continue
		}
		var wrong *broken
		require.ErrorAs(t, err, &wrong, row.operation)
		assert.EqualError(t, wrong.status, row.problem)
		assert.Same(t, pod, a.Object, "nothing has changed")
	}
}

func TestANameThatIsMadeLaterMayBeGivenByAPatch(t *testing.T) {
	t.Parallel()
	pod := newPod()
	pod.Name, pod.GenerateName = "", "x-"
	a := ofPod(pod)
	a.Options = nil
	changed, err := patching(t, a, `[{"op":"add","path":"/metadata/name","value":"y"}]`)
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, "y", a.Object.GetName())
}

func TestAScaleIsPatchedAsAnObjectOfItsOwn(t *testing.T) {
	t.Parallel()
	a := &admission.Attributes{Operation: admission.Update, Kind: autoscalingv1.SchemeGroupVersion.WithKind("Scale"), Namespace: "default",
		Object: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: autoscalingv1.ScaleSpec{Replicas: 1}}}
	changed, err := patching(t, a, `[{"op":"replace","path":"/spec/replicas","value":7}]`)
	require.NoError(t, err)
	assert.True(t, changed)
	assert.EqualValues(t, 7, a.Object.(*autoscalingv1.Scale).Spec.Replicas)
	assert.Empty(t, a.Object.(*autoscalingv1.Scale).TypeMeta, "as it was")
}

// K63.
func TestWhatAPatchMakesIsBounded(t *testing.T) {
	t.Parallel()
	add := func(text string) string {
		return `[{"op":"add","path":"/metadata/annotations","value":{"a":"` + text + `"}}]`
	}
	copies := `[{"op":"add","path":"/metadata/annotations","value":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`
	for i := range 8 {
		copies += fmt.Sprintf(`,{"op":"copy","from":"/metadata/annotations/a","path":"/metadata/annotations/c%d"}`, i)
	}
	for name, row := range map[string]struct{ operations, problem string }{
		"a large object":        {add(strings.Repeat("x", maxObject)), `Internal error occurred: admission webhook "a.b.c" patched the object to one of more than 3145728 bytes`},
		"a large copy":          {copies + "]", `Internal error occurred: admission webhook "a.b.c" sent a patch that cannot be applied`},
		"an object that may be": {add(strings.Repeat("x", maxObject-4096)), ""},
	} {
		a := ofPod(newPod())
		_, err := patching(t, a, row.operations)
		if row.problem == "" {
			require.NoError(t, err, name)
			continue
		}
		var wrong *broken
		require.ErrorAs(t, err, &wrong, name)
		assert.EqualError(t, wrong.status, row.problem)
	}
	many := "[" + strings.TrimSuffix(strings.Repeat(`{"op":"test","path":"/kind","value":"Pod"},`, 10001), ",") + "]"
	_, err := patching(t, ofPod(newPod()), many)
	var failure *failed
	require.ErrorAs(t, err, &failure)
	assert.EqualError(t, failure, "received undecodable patch in webhook response")
}

func TestTheBrokenPatchIsObservedAsTheServersOwn(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.answer("a", patched(`[{"op":"replace","path":"/kind","value":"Service"}]`))
	w := chainOf(t, "Mutating", nil, s.hook("a", fields{"failurePolicy": "Ignore"}))
	_, err := w.decide(t.Context(), newPod())
	assert.True(t, apierrors.IsInternalError(err), "its failure policy does not count")
	assert.Equal(t, []Call{{Name: "a.example.com", Type: "admit", Operation: "CREATE", Rejected: true, ErrorType: "apiserver_internal_error"}}, w.calls)
}

// Whatever a webhook answers, a pod stays a pod, of the same name in the same namespace.
func FuzzPatchOfAWebhook(f *testing.F) {
	for _, operations := range []string{"", "null", "[]", "{}", "[null]", `[{"op":"add","path":"/metadata/labels/x","value":"y"}]`, `[{"op":"test","path":""}]`,
		`[{"op":"replace","path":"","value":{}}]`, `[{"op":"replace","path":"","value":null}]`, `[{"op":"replace","path":"/kind","value":"Service"}]`,
		`[{"op":"remove","path":"/metadata"}]`, `[{"op":"move","from":"/spec","path":"/metadata/annotations"}]`, `[{"op":"copy","from":"","path":"/spec"}]`,
		`[{"op":"add","path":"/spec/containers/0/resources","value":{"limits":{"cpu":"1e12345"}}}]`, `[{"op":"add","path":"/metadata/labels","value":{"a":1}}]`,
		`[{"op":"replace","path":"/metadata/namespace","value":"other"}]`, `[{"op":"add","path":"/metadata/creationTimestamp","value":"x"}]`} {
		text, _ := json.Marshal([]byte(operations))
		f.Add(response(`"allowed":true,"patchType":"JSONPatch","patch":` + string(text)))
	}
	f.Add("")
	f.Add("null")
	f.Add(response(`"allowed":false,"status":{"code":70000,"message":"m"},"warnings":["w"],"auditAnnotations":{"k":"v"}`))
	f.Fuzz(func(t *testing.T, text string) {
		post := func(_ context.Context, review, answer any) error {
			uid := string(review.(*admissionv1.AdmissionReview).Request.UID)
			if json.Unmarshal(bytes.ReplaceAll([]byte(text), []byte("$UID"), []byte(uid)), answer) != nil {
				return errors.New("rubbish")
			}
			return nil
		}
		h := matcher(t, fields{"rules": everything()})
		h.post = post
		a := ofPod(newPod())
		a.Operation, a.Options, a.OldObject = admission.Update, &metav1.UpdateOptions{}, newPod()
		err := (&mutating{&common{file: []*hook{h}}}).Admit(t.Context(), a)
		pod, ok := a.Object.(*corev1.Pod)
		require.True(t, ok)
		assert.Equal(t, "default/x", pod.Namespace+"/"+pod.Name)
		assert.Empty(t, pod.Kind)
		if err != nil {
			var status *apierrors.StatusError
			require.ErrorAs(t, err, &status)
			assert.GreaterOrEqual(t, status.ErrStatus.Code, int32(400))
			assert.Less(t, status.ErrStatus.Code, int32(1000))
			assert.Equal(t, newPod(), pod)
		}
	})
}
