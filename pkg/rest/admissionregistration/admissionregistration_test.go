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

// K98: nobody is to rely on a webhook that is never called.
func TestEachAnswerWarnsThatNothingIsObeyed(t *testing.T) {
	t.Parallel()
	b := generic.Base{Objects: memory.New(1), Turns: &generic.Turns{}, Now: func() time.Time { return Now }}
	d := OpenWith(t, admissionregistration.Resources(b)...)
	const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	for _, answer := range []Answer{
		d.Must("POST", path, `{"metadata":{"name":"a"},"webhooks":[{"name":"x.example.com","clientConfig":{"url":"https://127.0.0.1/"},"sideEffects":"None","admissionReviewVersions":["v1"]}]}`),
		d.Must("GET", path+"/a", ""), d.Must("GET", path, ""),
	} {
		assert.Equal(t, []string{`299 - "ValidatingWebhookConfiguration has no effect: this server does not obey it yet"`}, answer.Header["Warning"])
	}
}
