package reviews_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/auth/authorizer"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest/reviews"
)

func TestK42ARulesReviewRepeatsWhatItWasAsked(t *testing.T) {
	t.Parallel()
	d := asking(t, reviews.Config{Rules: authorizer.AlwaysAllow{}})
	assert.Contains(t, d.As(people["bob"]).Must("POST", selfRules, `{"spec":{"namespace":"default"}}`).Text, `"spec":{"namespace":"default"}`)
}

func TestK43AReviewOfANamespaceIsNotAllowedOutsideOfOne(t *testing.T) {
	t.Parallel()
	door := OpenWith(t, reviews.Resources(reviews.Config{Authorizer: authorizer.AlwaysAllow{}, Now: now})...)
	assert.Equal(t, 405, door.Do("POST", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews", `{}`).Status)
}

func TestK44ATokenReviewKnowsNoAudiences(t *testing.T) {
	t.Parallel()
	d := asking(t, reviews.Config{Tokens: known{token: "x", who: people["bob"]}})
	answer := d.Must("POST", tokens, `{"spec":{"token":"x","audiences":["a"]}}`).Text
	assert.Contains(t, answer, `"authenticated":true`)
	assert.NotContains(t, answer, `"status":{"audiences"`)
}
