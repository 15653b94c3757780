package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/util/certtest"
	"kube2014/pkg/webhook/webhooktest"
)

// kinds are those of the configurations, with the names of their calls for metrics and the audit.
var kinds = map[string]struct{ call, audit string }{
	"Mutating":   {"admit", "failed-open.mutation.webhook.admission.k8s.io/round_0_index_0"},
	"Validating": {"validating", "failed-open.validating.webhook.admission.k8s.io/round_0_index_0"},
}

// A webhook that cannot be asked is one whose failure policy counts. (K62)
func TestAServerThatCannotBeAskedIsAFailure(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	hangs := webhooktest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // else it does not see who leaves
		<-r.Context().Done()
	})
	elsewhere := webhooktest.Serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it is asked") })
	redirects := webhooktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/s3cret", http.StatusTemporaryRedirect)
	})
	large := webhooktest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("s3cret", 1<<20+1)) })
	away := webhooktest.Serve(t, nil)
	away.Close()
	other := certtest.Authority(t, "other").CertPEM
	at := func(url string, ca []byte) fields { return fields{"url": url + "/s3cret", "caBundle": ca} }
	for name, row := range map[string]struct {
		changes fields
		problem string
		code    int
	}{
		"it hangs":               {fields{"timeoutSeconds": 1, "clientConfig": at(hangs.URL, webhooktest.CA(hangs))}, "context deadline exceeded", 503},
		"it sends us elsewhere":  {fields{"clientConfig": at(redirects.URL, webhooktest.CA(redirects))}, "it answered 307", 307},
		"it answers too much":    {fields{"clientConfig": at(large.URL, webhooktest.CA(large))}, "the answer has more than 6291456 bytes", 503},
		"it is away":             {fields{"clientConfig": at(away.URL, webhooktest.CA(away))}, "dial tcp " + strings.TrimPrefix(away.URL, "https://") + ": connect: connection refused", 503},
		"another authority":      {fields{"clientConfig": at(elsewhere.URL, other)}, "tls: failed to verify certificate: x509: certificate signed by unknown authority", 503},
		"the system's authority": {fields{"clientConfig": fields{"url": elsewhere.URL + "/s3cret"}}, "tls: failed to verify certificate: x509: certificate signed by unknown authority", 503},
	} {
		for kind, words := range kinds {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				changes := maps.Clone(row.changes)
				w := chainOf(t, kind, nil, serve(t).hook("a", changes))
				_, err := w.decide(t.Context(), newPod())
				want := `Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: ` + row.problem
				require.EqualError(t, err, want)
				assert.Equal(t, metav1.StatusReasonInternalError, apierrors.ReasonForError(err))
				assert.NotContains(t, err.Error(), "s3cret")
				failure := Call{Name: "a.example.com", Type: words.call, Operation: "CREATE", Code: row.code, ErrorType: "calling_webhook_error", Rejected: true}
				assert.Equal(t, []Call{failure}, w.calls)
				assert.NotContains(t, w.annotations, words.audit)

				changes["failurePolicy"] = "Ignore"
				w = chainOf(t, kind, nil, serve(t).hook("a", changes))
				_, err = w.decide(t.Context(), newPod())
				require.NoError(t, err)
				failure.Rejected, failure.FailOpen = false, true
				assert.Equal(t, []Call{failure}, w.calls)
				assert.Equal(t, "a.example.com", w.annotations[words.audit])
			})
		}
	}
	t.Cleanup(func() { assert.LessOrEqual(t, int(asked.Load()), 4, "nobody is asked again") }) // a busy one may give up before it asks
}

func TestARequestThatEndsIsNotAdmittedWhateverThePolicy(t *testing.T) {
	t.Parallel()
	for kind, words := range kinds {
		for _, policy := range []string{"Fail", "Ignore"} {
			ctx, cancel := context.WithCancel(t.Context())
			s := webhooktest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				cancel()
				<-r.Context().Done()
			})
			w := chainOf(t, kind, nil, serve(t).hook("a", fields{"failurePolicy": policy, "clientConfig": fields{"url": s.URL, "caBundle": webhooktest.CA(s)}}))
			_, err := w.decide(ctx, newPod())
			require.EqualError(t, err, "Timeout: request did not complete within requested timeout")
			assert.True(t, apierrors.IsTimeout(err))
			assert.NotContains(t, w.annotations, words.audit)
			require.Len(t, w.calls, 1)
			assert.True(t, w.calls[0].Rejected)
			assert.False(t, w.calls[0].FailOpen)
		}
	}
}

func TestAPanicInACallIsAFailure(t *testing.T) {
	t.Parallel()
	panics := func(context.Context, any, any) error { panic("of a test") }
	for _, open := range []bool{false, true} {
		changes, a := fields{"rules": everything()}, creation()
		a.Object = newPod()
		m, v := &mutating{&common{file: []*hook{matcher(t, changes)}}}, &validating{&common{file: []*hook{matcher(t, changes), matcher(t, changes)}}}
		for _, h := range append(m.file, v.file...) {
			h.post, h.failOpen = panics, open
		}
		for _, err := range []error{m.Admit(t.Context(), &a), v.Validate(t.Context(), &a)} {
			if open {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, `Internal error occurred: failed calling webhook "a.b.c": the call has panicked`)
			}
		}
	}
}

func everything() []fields {
	return []fields{{"operations": []string{"*"}, "apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{"*/*"}}}
}

func TestAWebhookTellsTheClientAndTheAudit(t *testing.T) {
	t.Parallel()
	for kind, words := range kinds {
		for _, allowed := range []string{"true", "false"} {
			s := serve(t)
			s.answer("a", response(`"allowed":`+allowed+`,"warnings":["careful","","twice"],"auditAnnotations":{"k":"v","K-2":"w","no key":"x","a/b":"y"}`))
			w := chainOf(t, kind, nil, s.hook("a", nil))
			_, err := w.decide(t.Context(), newPod())
			assert.Equal(t, allowed == "true", err == nil)
			assert.Equal(t, []string{"careful", "twice"}, w.warnings)
			assert.Equal(t, "v", w.annotations["a.example.com/k"])
			assert.Equal(t, "w", w.annotations["a.example.com/K-2"])
			assert.NotContains(t, w.annotations, "a.example.com/no key")
			assert.NotContains(t, w.annotations, "a.example.com/a/b")
			call := Call{Name: "a.example.com", Type: words.call, Operation: "CREATE", Code: 200, ErrorType: "no_error"}
			if allowed == "false" {
				call.Code, call.Rejected = 400, true
			}
			assert.Equal(t, []Call{call}, w.calls)
		}
	}
}

// K64.
func TestARefusalHasAStatusThatHTTPHas(t *testing.T) {
	t.Parallel()
	h := &hook{name: "a.b.c"}
	for code, want := range map[int32]int32{0: 400, -1: 400, 200: 400, 399: 400, 400: 400, 403: 403, 503: 503, 999: 999, 1000: 400, 70000: 400} {
		result := &metav1.Status{Code: code, Message: "not so", TypeMeta: metav1.TypeMeta{Kind: "Other", APIVersion: "v2"}}
		var status *apierrors.StatusError
		require.ErrorAs(t, h.denied(result), &status)
		assert.Equal(t, want, status.ErrStatus.Code)
		assert.Empty(t, status.ErrStatus.TypeMeta)
		assert.Equal(t, "not so", result.Message, "the answer is as it was")
	}
}

func TestAWebhookIsToldOfADryRun(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for _, effects := range []string{"None", "NoneOnDryRun"} {
			for _, dry := range []bool{false, true} {
				s := serve(t)
				w := chainOf(t, kind, nil, s.hook("a", fields{"sideEffects": effects}))
				a := creation()
				a.DryRun = dry
				_, err := w.decideAbout(t.Context(), a, newPod(), nil)
				require.NoError(t, err)
				require.Len(t, s.asked, 1)
				assert.Equal(t, dry, *s.asked[0].DryRun)
			}
		}
	}
}

func TestAWebhookIsToldWhoAsksAndHowLongItMayTake(t *testing.T) {
	t.Parallel()
	var query, agent string
	var review admissionv1.AdmissionReview
	s := webhooktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		query, agent = r.URL.RawQuery, r.Header.Get("Authorization")
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&review))
		fmt.Fprint(w, strings.ReplaceAll(response(`"allowed":true`), "$UID", string(review.Request.UID)))
	})
	w := chainOf(t, "Validating", nil, serve(t).hook("a", fields{"timeoutSeconds": nil, "clientConfig": fields{"url": s.URL, "caBundle": webhooktest.CA(s)}}))
	_, err := w.decide(t.Context(), newPod())
	require.NoError(t, err)
	assert.Equal(t, "timeout=10s", query)
	assert.Empty(t, agent)
	who := review.Request.UserInfo
	assert.Equal(t, []any{"ann", "1", []string{"dev"}}, []any{who.Username, who.UID, who.Groups})
	assert.Equal(t, "[b c]", fmt.Sprint(who.Extra["a"]))

	a := creation()
	a.User, a.Options = nil, nil
	_, err = w.decideAbout(t.Context(), a, newPod(), nil)
	require.NoError(t, err, "the first door may know neither")
}

// K61.
func TestWhatIsWrittenOfAFailureHasNoSecret(t *testing.T) {
	t.Parallel()
	s := serve(t)
	pod := newPod()
	pod.Spec.Containers[0].Image = "s3cret"
	for name, answer := range map[string]string{
		"rubbish":       "s3cret",
		"another uid":   `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"s3cret","allowed":true}}`,
		"another kind":  `{"apiVersion":"v1","kind":"s3cret","response":{"uid":"$UID","allowed":true}}`,
		"another type":  response(`"allowed":"s3cret"`),
		"a type":        response(`"allowed":true,"patchType":"s3cret","patch":"W3t9XQ=="`),
		"a wrong patch": patched(`"s3cret"`),
		"a patch":       patched(`[{"op":"s3cret","path":"/s3cret"}]`),
		"a test":        patched(`[{"op":"test","path":"/s3cret","value":"s3cret"}]`),
		"a type of one": patched(`[{"op":"add","path":"/spec","value":"s3cret"}]`),
		"a quantity":    patched(`[{"op":"add","path":"/spec/overhead","value":{"cpu":"s3cret"}}]`),
		"another one":   patched(`[{"op":"replace","path":"/kind","value":"s3cret"}]`),
	} {
		s.answer("a", answer)
		_, err := chainOf(t, "Mutating", nil, s.hook("a", nil)).decide(t.Context(), pod)
		var status *apierrors.StatusError
		if assert.ErrorAs(t, err, &status, name) {
			assert.Equal(t, metav1.StatusReasonInternalError, status.ErrStatus.Reason, name)
			text, _ := json.Marshal(status.ErrStatus)
			assert.NotContains(t, string(text), "s3cret", name)
			assert.NotContains(t, string(text), strings.TrimPrefix(s.URL, "https://"), name)
		}
	}
}

func TestAnObjectThatCannotBeEncodedIsAnInternalError(t *testing.T) {
	t.Parallel()
	a := creation()
	a.Object = unencoded{newPod()}
	p := &common{file: []*hook{matcher(t, fields{"rules": everything()})}}
	for _, err := range []error{(&mutating{p}).Admit(t.Context(), &a), (&validating{p}).Validate(t.Context(), &a)} {
		assert.EqualError(t, err, "Internal error occurred: the object cannot be encoded")
	}
}

// unencoded is a pod that has no JSON.
type unencoded struct{ *corev1.Pod }

func (u unencoded) DeepCopyObject() runtime.Object { return u }

func (unencoded) MarshalJSON() ([]byte, error) { return nil, errors.New("s3cret") }
