package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/admission"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/webhook/webhooktest"
)

// server is a webhook's server for tests. Its paths are webhooks, which answer by a function of
// that name, or allow.
type server struct {
	*httptest.Server
	answers map[string]func(r *admissionv1.AdmissionRequest) string
	code    int // with which they answer, if not 200

	mu    sync.Mutex
	asked []*admissionv1.AdmissionRequest
	paths []string
}

func serve(t testing.TB) *server {
	s := &server{answers: map[string]func(*admissionv1.AdmissionRequest) string{}}
	s.Server = webhooktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		path := strings.Trim(r.URL.Path, "/")
		s.mu.Lock()
		s.asked, s.paths = append(s.asked, review.Request), append(s.paths, path)
		s.mu.Unlock()
		answer := s.answers[path]
		if answer == nil {
			answer = func(*admissionv1.AdmissionRequest) string { return response(`"allowed":true`) }
		}
		if s.code != 0 {
			w.WriteHeader(s.code)
		}
		fmt.Fprint(w, strings.ReplaceAll(answer(review.Request), "$UID", string(review.Request.UID)))
	})
	return s
}

// answer lets a webhook always answer the same.
func (s *server) answer(name, text string) {
	s.answers[name] = func(*admissionv1.AdmissionRequest) string { return text }
}

// response is an answer with these fields of the response.
func response(fields string) string {
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"$UID",` + fields + `}}`
}

// patched is an answer with a patch.
func patched(operations string) string {
	text, _ := json.Marshal([]byte(operations))
	return response(`"allowed":true,"patchType":"JSONPatch","patch":` + string(text))
}

func addLabel(name, value string) string {
	return patched(fmt.Sprintf(`[{"op":"add","path":"/metadata/labels/%s","value":"%s"}]`, name, value))
}

// fields are those of a webhook in a configuration.
type fields map[string]any

// hook returns the webhook NAME.example.com at the path /NAME, with changes.
func (s *server) hook(name string, changes fields) fields {
	all := fields{
		"name": name + ".example.com", "clientConfig": fields{"url": s.URL + "/" + name, "caBundle": webhooktest.CA(s.Server)}, "sideEffects": "None",
		"admissionReviewVersions": []string{"v1"}, "timeoutSeconds": 30,
		"rules": []fields{{"operations": []string{"*"}, "apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{"*/*"}}},
	}
	maps.Copy(all, changes)
	for field, value := range changes {
		if value == nil {
			delete(all, field)
		}
	}
	return all
}

// configurationOf returns the configuration of a plugin with webhooks, named config.
func configurationOf(kind string, hooks ...fields) json.RawMessage {
	text, err := json.Marshal(fields{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind + "WebhookConfiguration", "metadata": fields{"name": "config"}, "webhooks": hooks,
	})
	if err != nil {
		panic(err) // a mistake in a test
	}
	return text
}

// world is a chain with what it told, and what was observed.
type world struct {
	chain       *admission.Chain
	warnings    []string
	annotations map[string]string
	calls       []Call
}

// chainOf returns a chain of plugins, of which the one of a kind has webhooks. Others are called in
// the order of their names.
func chainOf(t testing.TB, kind string, others map[string]admission.Interface, hooks ...fields) *world {
	w := &world{annotations: map[string]string{}}
	plugins, name := admission.Plugins{}, NameMutating
	plugins[NameMutating] = NewMutating
	plugins[NameValidating] = NewValidating
	for other, plugin := range others {
		plugins[other] = func(json.RawMessage) (admission.Interface, error) { return plugin, nil }
	}
	if kind == "Validating" {
		name = NameValidating
	}
	names := []string{}
	for _, known := range plugins.Names() {
		if known == name || others[known] != nil {
			names = append(names, known)
		}
	}
	chain, err := plugins.New(names, map[string]json.RawMessage{name: configurationOf(kind, hooks...)})
	require.NoError(t, err)
	var mu sync.Mutex
	chain.Each(func(_ string, plugin admission.Interface) {
		Observe(plugin, func(c Call) {
			mu.Lock()
			defer mu.Unlock()
			assert.GreaterOrEqual(t, c.Took.Nanoseconds(), int64(0))
			c.Took = 0
			w.calls = append(w.calls, c)
		})
	})
	w.chain = chain
	return w
}

// begin begins a request.
func (w *world) begin(ctx context.Context, a admission.Attributes) *admission.Request {
	r := w.chain.Begin(ctx, a)
	r.Warn = func(text string) { w.warnings = append(w.warnings, text) }
	r.Annotate = func(key, value string) { w.annotations[key] = value }
	return r
}

// decide lets a chain decide about the creation of a pod, and returns what it makes of it.
func (w *world) decide(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return w.decideAbout(ctx, creation(), pod, nil)
}

func (w *world) decideAbout(ctx context.Context, a admission.Attributes, pod, old *corev1.Pod) (*corev1.Pod, error) {
	var before, stored admission.Object
	if pod != nil {
		before = pod
	}
	if old != nil {
		stored = old
	}
	r := w.begin(ctx, a)
	object, err := r.Mutate(before, stored)
	if err == nil {
		err = r.Validate(object, stored)
	}
	if err != nil || object == nil {
		return nil, err
	}
	return object.(*corev1.Pod), nil
}

// creation are the attributes of the creation of a pod.
func creation() admission.Attributes {
	return admission.Attributes{
		Operation: admission.Create, Kind: corev1.SchemeGroupVersion.WithKind("Pod"), Resource: corev1.SchemeGroupVersion.WithResource("pods"),
		Namespace: "default", Name: "x", User: &user.Info{Name: "ann", UID: "1", Groups: []string{"dev"}, Extra: map[string][]string{"a": {"b", "c"}}},
		Options: &metav1.CreateOptions{},
	}
}

func newPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "default", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i:1"}}},
	}
}
