package abac_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/authorizer/abac"
	"kube2014/pkg/auth/authorizer/authorizertest"
	"kube2014/pkg/auth/user"
)

// A line is bad, with its number, or a rule that lists what it allows. None allows anything to
// who is not authenticated, unless it names them.
func FuzzPolicyLine(f *testing.F) {
	recording, err := authorizertest.Read("testdata/decisions.json")
	require.NoError(f, err)
	for _, line := range recording.Policy {
		f.Add(line)
	}
	for _, line := range recording.Lines {
		f.Add(line.Line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "\n") {
			return
		}
		policy, err := abac.Read([]byte(line))
		if err != nil {
			assert.ErrorContains(t, err, "line 1: ")
			assert.Nil(t, policy)
			return
		}
		assert.LessOrEqual(t, len(policy), 1)
		stranger := &user.Info{Name: "stranger", Groups: []string{"strangers"}}
		decision, _, err := policy.Authorize(t.Context(), authorizer.Attributes{User: stranger, Verb: "get", Path: "/"})
		require.NoError(t, err)
		assert.True(t, decision == authorizer.NoOpinion || strings.Contains(line, "stranger") || strings.Contains(line, `\u`))
	})
}
