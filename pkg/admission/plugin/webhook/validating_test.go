package webhook

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
)

func TestWebhooksThatCheckAreAskedAllAtOnce(t *testing.T) {
	t.Parallel()
	const count = 5
	s, here, all := serve(t), make(chan struct{}, count), make(chan struct{})
	var hooks []fields
	for i := range count {
		name := fmt.Sprint("h", i)
		s.answers[name] = func(*admissionv1.AdmissionRequest) string {
			if here <- struct{}{}; len(here) == count {
				close(all)
			}
			select {
			case <-all:
				return response(`"allowed":true`)
			case <-time.After(time.Minute):
				return response(`"allowed":false`)
			}
		}
		hooks = append(hooks, s.hook(name, nil))
	}
	w := chainOf(t, "Validating", nil, hooks...)
	_, err := w.decide(t.Context(), newPod())
	require.NoError(t, err)
	assert.Len(t, w.calls, count)
	uids := map[string]bool{}
	for _, request := range s.asked {
		uids[string(request.UID)] = true
	}
	assert.Len(t, uids, count, "each call is known by another uid")
}

// K66.
func TestTheFirstRefusalInTheOrderOfTheConfigurationCounts(t *testing.T) {
	t.Parallel()
	s, second := serve(t), make(chan struct{})
	s.answers["b"] = func(*admissionv1.AdmissionRequest) string {
		<-second // it is the last to answer
		return response(`"allowed":false,"warnings":["b"],"status":{"message":"the first"}`)
	}
	s.answers["c"] = func(*admissionv1.AdmissionRequest) string {
		close(second)
		return response(`"allowed":false,"warnings":["c"],"status":{"message":"the second"}`)
	}
	w := chainOf(t, "Validating", nil, s.hook("a", nil), s.hook("b", nil), s.hook("c", nil))
	_, err := w.decide(t.Context(), newPod())
	assert.EqualError(t, err, `admission webhook "b.example.com" denied the request: the first`)
	assert.Equal(t, []string{"b", "c"}, w.warnings, "in their order")
	require.Len(t, w.calls, 3)
	for i, rejected := range []bool{false, true, true} {
		assert.Equal(t, rejected, w.calls[i].Rejected)
	}
}

func TestOnlyThoseWhoAreAskedCountForTheAudit(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.answer("c", "rubbish")
	never := fields{"objectSelector": fields{"matchLabels": fields{"never": ""}}}
	w := chainOf(t, "Validating", nil, s.hook("a", never), s.hook("b", nil), s.hook("c", fields{"failurePolicy": "Ignore"}))
	_, err := w.decide(t.Context(), newPod())
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"b", "c"}, s.paths)
	assert.Equal(t, map[string]string{"failed-open.validating.webhook.admission.k8s.io/round_0_index_1": "c.example.com"}, w.annotations)

	w = chainOf(t, "Validating", nil, s.hook("a", never))
	_, err = w.decide(t.Context(), newPod())
	require.NoError(t, err)
	assert.Len(t, s.paths, 2, "nobody is asked")
}
