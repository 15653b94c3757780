package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/auth/user"
)

// recorded is what kube-apiserver 1.36 answered to a request about a pod, x with the label a=b,
// when its only webhook gave an answer.
type recorded struct {
	Note          string            `json:"note"`
	Type          string            `json:"type"` // Validating, Mutating or both
	Method        string            `json:"method"`
	Answer        string            `json:"answer"`
	AnswerCode    int               `json:"answerCode"`
	FailurePolicy string            `json:"failurePolicy"`
	Warnings      []string          `json:"warnings"` // as they stand in the header
	Status        *metav1.Status    `json:"status"`   // if it failed
	Name          string            `json:"name"`     // of the pod, otherwise
	Labels        map[string]string `json:"labels"`
}

const failing = `failed calling webhook "a.example.com": `

// otherwise has which errors are told in other words here: those of today's server name types of
// Go, or what the webhook has answered.
var otherwise = map[string]string{
	"another uid":                   failing + "received invalid webhook response: response.uid is not that of the request",
	"no uid":                        failing + "received invalid webhook response: response.uid is not that of the request",
	"another kind":                  unwanted,
	"an unknown kind":               unwanted,
	"no kind":                       unwanted,
	"only a kind":                   unwanted,
	"another version":               unwanted,
	"version 2":                     unwanted,
	"a status instead":              unwanted,
	"no JSON":                       unwanted,
	"null":                          unwanted,
	"nothing":                       unwanted,
	"a list":                        unwanted,
	"another type":                  unwanted,
	"more behind it":                unwanted,
	"no base64":                     unwanted,
	"HTTP 204":                      unwanted,
	"YAML":                          unwanted, // there it is read
	"HTTP 307":                      failing + "failed to call webhook: it answered 307",
	"HTTP 400":                      failing + "failed to call webhook: it answered 400",
	"HTTP 401":                      failing + "failed to call webhook: it answered 401",
	"HTTP 403":                      failing + "failed to call webhook: it answered 403",
	"HTTP 403 and a status":         failing + "failed to call webhook: it answered 403",
	"HTTP 404":                      failing + "failed to call webhook: it answered 404",
	"HTTP 409":                      failing + "failed to call webhook: it answered 409",
	"HTTP 429":                      failing + "failed to call webhook: it answered 429",
	"HTTP 500":                      failing + "failed to call webhook: it answered 500",
	"HTTP 500 and text":             failing + "failed to call webhook: it answered 500",
	"HTTP 503":                      failing + "failed to call webhook: it answered 503",
	"another type of patch":         failing + "received undecodable patch in webhook response",
	"another type of a list":        failing + "unsupported patch type",
	"a patch that is no JSON":       failing + "received undecodable patch in webhook response",
	"a patch that is no list":       failing + "received undecodable patch in webhook response",
	"a patch: an unknown operation": unapplied,
	"a patch: a missing path":       unapplied,
	"a patch: a removal of what is not there": unapplied,
	"a patch: a failed test":                  unapplied,
	"a patch: a failed test, open":            unapplied,
	"a patch: no object":                      unapplied,
	"a patch: a value of another type":        mistake + "spec to a value of another type",
	"a patch: a value of another type, open":  mistake + "spec to a value of another type",
	"a patch: an unknown kind":                mistake + "the object to one of another kind",
	"a patch: another kind":                   mistake + "the object to one of another kind",
	"a patch: another version":                mistake + "the object to one of another kind",
	"an update: another kind":                 mistake + "the object to one of another kind",
	"a patch: a list for all":                 mistake + "the object to one that cannot be read",
	"a patch: a quantity that is none":        mistake + "the object to one that cannot be read",
	// There such a quantity is taken.
	"a patch: a huge quantity": mistake + "the object: spec.containers.resources.limits.cpu: the quantity has too many digits or too large an exponent",
}

const (
	unwanted  = failing + "failed to call webhook: the answer is of another kind or version, or broken"
	unapplied = `admission webhook "a.example.com" sent a patch that cannot be applied`
	mistake   = `admission webhook "a.example.com" patched `
)

// later are those that are refused when the object is checked after all plugins.
var later = map[string]bool{
	"a patch: no name": true, "a patch: a wrong name": true, "a patch: no metadata": true, "a patch: no containers": true, "a patch: no spec": true,
	"an update: another resource version": true,
}

func TestRequestsEndAsInTodaysServer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/answers.json")
	require.NoError(t, err)
	var all []recorded
	require.NoError(t, json.Unmarshal(text, &all))
	require.Len(t, all, 121)
	for _, row := range all {
		for _, kind := range []string{"Validating", "Mutating"} {
			if row.Type == kind || row.Type == "both" {
				t.Run(kind+" "+row.Note, func(t *testing.T) { t.Parallel(); replay(t, kind, row) })
			}
		}
	}
}

func replay(t *testing.T, kind string, row recorded) {
	s := serve(t)
	s.answer("a", row.Answer)
	s.code = row.AnswerCode
	changes := fields{}
	if row.FailurePolicy != "" {
		changes["failurePolicy"] = row.FailurePolicy
	}
	w := chainOf(t, kind, nil, s.hook("a", changes))
	a, pod, old := creation(), newPod(), newPod()
	switch row.Method {
	case "POST":
		old = nil
	case "PUT":
		a.Operation, a.Options = admission.Update, &metav1.UpdateOptions{}
		old.UID, pod.UID, old.ResourceVersion, pod.ResourceVersion = "1", "1", "2", "2"
	case "DELETE":
		a.Operation, a.Options, pod = admission.Delete, &metav1.DeleteOptions{}, nil
	}
	object, err := w.decideAbout(t.Context(), a, pod, old)
	for i, warning := range row.Warnings {
		want := strings.ReplaceAll(warning[1:len(warning)-1], `\"`, `"`)
		if assert.Greater(t, len(w.warnings), i) {
			assert.Equal(t, want, w.warnings[i])
		}
	}
	assert.Len(t, w.warnings, len(row.Warnings))
	want := row.Status.DeepCopy() // some rows are for both kinds, at the same time
	if words := otherwise[row.Note]; words != "" && !strings.HasSuffix(row.Note, ", open") || strings.HasPrefix(words, "admission webhook") {
		want = &apierrors.NewInternalError(errors.New(words)).ErrStatus
	}
	if want == nil || later[row.Note] {
		require.NoError(t, err)
		if row.Method != "DELETE" && want == nil {
			assert.Equal(t, row.Name, object.Name)
			assert.Equal(t, row.Labels, object.Labels)
		}
		return
	}
	var got *apierrors.StatusError
	require.ErrorAs(t, err, &got)
	if want.Details != nil { // today's server says it twice, and what follows from it
		want.Details.Causes = slices.Compact(want.Details.Causes)
		want.Message = strings.NewReplacer("[metadata.name: Required value: name or generateName is required, ", "", "]", "").Replace(want.Message)
		want.Details.Causes = slices.DeleteFunc(want.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeFieldValueRequired })
	}
	assert.Equal(t, *want, got.ErrStatus)
}

func TestWebhooksAreToldAsByTodaysServer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/reviews.json")
	require.NoError(t, err)
	var all []struct {
		Note   string
		Review json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &all))
	require.Len(t, all, 7)
	for _, row := range all {
		t.Run(row.Note, func(t *testing.T) { t.Parallel(); tell(t, row.Review) })
	}
}

// tell lets a plugin ask about what a recorded review is about.
func tell(t *testing.T, recorded []byte) {
	var review admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(recorded, &review))
	asked := review.Request
	a := admission.Attributes{
		Operation: admission.Operation(asked.Operation), Kind: schema.GroupVersionKind(asked.Kind), Resource: schema.GroupVersionResource(asked.Resource),
		Subresource: asked.SubResource, Namespace: asked.Namespace, Name: asked.Name, DryRun: *asked.DryRun,
		User: &user.Info{Name: asked.UserInfo.Username, UID: asked.UserInfo.UID, Groups: asked.UserInfo.Groups},
	}
	switch asked.Operation {
	case admissionv1.Create:
		a.Options = &metav1.CreateOptions{}
	case admissionv1.Update:
		a.Options = &metav1.PatchOptions{Force: new(bool)}
	case admissionv1.Delete:
		a.Options = &metav1.DeleteOptions{}
	}
	require.NoError(t, json.Unmarshal(asked.Options.Raw, a.Options))
	a.Options.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as the server has them
	object, old := object(t, a.Kind.Kind, asked.Object), object(t, a.Kind.Kind, asked.OldObject)

	p, err := NewMutating(configurationOf("Mutating", serve(t).hook("a", nil)))
	require.NoError(t, err)
	var sent []byte
	p.(*mutating).file[0].post = func(_ context.Context, review, _ any) error {
		sent, err = json.Marshal(review)
		return errors.New("not now")
	}
	a.Object, a.OldObject = object, old
	require.Error(t, p.(*mutating).Admit(t.Context(), &a))
	want, got := map[string]any{}, map[string]any{}
	require.NoError(t, json.Unmarshal(recorded, &want))
	require.NoError(t, json.Unmarshal(sent, &got))
	uid := got["request"].(map[string]any)["uid"].(string)
	assert.Len(t, uid, 36)
	want["request"].(map[string]any)["uid"] = uid
	assert.Equal(t, want, got)
}

func object(t *testing.T, kind string, raw runtime.RawExtension) admission.Object {
	if raw.Raw == nil || string(raw.Raw) == "null" {
		return nil
	}
	made := map[string]admission.Object{"Pod": &corev1.Pod{}, "Node": &corev1.Node{}, "Binding": &corev1.Binding{}, "Scale": &autoscalingv1.Scale{}}[kind]
	require.NoError(t, json.Unmarshal(raw.Raw, made))
	made.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return made
}
