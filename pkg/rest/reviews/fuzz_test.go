package reviews_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"

	"kube2014/pkg/auth/authorizer"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest/reviews"
)

// Whatever a review says, it is answered or refused, and grants nothing itself.
func FuzzReviews(f *testing.F) {
	paths := []string{access, selfAccess, selfRules, tokens, selves, localAccess("default")}
	text, err := os.ReadFile("testdata/recorded.json")
	require.NoError(f, err)
	var recorded []struct{ Path, Body string }
	require.NoError(f, json.Unmarshal(text, &recorded))
	for _, r := range recorded {
		f.Add(uint8(slices.Index(paths, r.Path)), r.Body)
	}
	f.Fuzz(func(t *testing.T, path uint8, body string) {
		door := OpenWith(t, reviews.Resources(reviews.Config{Authorizer: authorizer.AlwaysDeny{}, Rules: authorizer.AlwaysDeny{}, Tokens: known{token: "known"}, Now: now})...)
		got := door.Do("POST", paths[int(path)%len(paths)], body)
		if got.Status != 201 {
			assert.Contains(t, []int{400, 422}, got.Status, got.Text)
			assert.NotEmpty(t, got.Error().Message)
			return
		}
		var review authorizationv1.SubjectAccessReview
		got.Into(&review)
		assert.False(t, review.Status.Allowed)
	})
}
