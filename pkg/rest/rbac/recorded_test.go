package rbac

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/storage"
)

// inJSON has the names of a reference to a role as this server's errors show it. K86.
var inJSON = strings.NewReplacer(`\"APIGroup\":`, `\"apiGroup\":`, `\"Kind\":`, `\"kind\":`, `\"Name\":`, `\"name\":`)

func TestRequestsAreAnsweredAsTodaysServerAnswersThem(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		store := connect()
		policy := NewPolicy(store)
		require.NoError(t, policy.Load())
		require.NoError(t, Bootstrap(t.Context(), store, clock))
		d := open(t, store, escalation(policy))
		for i, r := range recordedIn(t, "answers.json") {
			status, answer := d.send(r)
			if !assert.Equal(t, r.Status, status, "%d: %s %s %s %s", i, r.Who, r.Method, r.Path, r.Body) {
				t.Log(answer)
			}
			assert.Equal(t, inJSON.Replace(constant(t, r.Answer)), answer, "%d: %s %s %s %s", i, r.Who, r.Method, r.Path, r.Body)
		}
	})
}
