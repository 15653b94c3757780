package admissionregistration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	. "kube2014/pkg/endpoints/endpointstest"
	"kube2014/pkg/rest/admissionregistration"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage/memory"
)

func open(t *testing.T) *Door {
	b := generic.Base{Objects: memory.New(1), Turns: &generic.Turns{}, Now: func() time.Time { return Now }}
	return OpenWith(t, admissionregistration.Resources(b)...)
}

const group = "/apis/admissionregistration.k8s.io/v1"

func TestWebhooksAreDefaultedCheckedAndChangedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	open(t).Replay(t, "testdata/recorded.jsonl")
}

// K98: nobody is to rely on a policy that decides nothing.
func TestEachAnswerAboutAPolicyWarnsThatItIsNotObeyed(t *testing.T) {
	t.Parallel()
	d := open(t)
	const path = group + "/validatingadmissionpolicies"
	for _, answer := range []Answer{
		d.Must("POST", path, `{"metadata":{"name":"a"},"spec":{"validations":[{"expression":"true"}]}}`),
		d.Must("GET", path+"/a", ""), d.Must("GET", path, ""),
	} {
		assert.Equal(t, []string{`299 - "ValidatingAdmissionPolicy has no effect: this server does not obey it yet"`}, answer.Header["Warning"])
	}
	assert.Empty(t, d.Must("GET", group+"/validatingwebhookconfigurations", "").Header["Warning"])
}
