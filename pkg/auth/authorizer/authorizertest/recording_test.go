package authorizertest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/authorizer/authorizertest"
)

func TestARecordingIsWrittenAsItWasRead(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"../abac/testdata/decisions.json", "../rbac/testdata/decisions.json"} {
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		got, err := authorizertest.Load(t, file).Text()
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got))
	}
}

func TestARecordingWithAnUnknownMemberIsAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "decisions.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"views": []}`), 0o600))
	_, err := authorizertest.Read(file)
	require.ErrorContains(t, err, "views")
	_, err = authorizertest.Read(file + ".none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestRulesHaveOneOrder(t *testing.T) {
	t.Parallel()
	a, b := authorizer.Rule{Verbs: []string{"a"}}, authorizer.Rule{Verbs: []string{"b"}}
	given := []authorizer.Rule{b, a}
	assert.Equal(t, []authorizer.Rule{a, b}, authorizertest.Sorted(given))
	assert.Equal(t, []authorizer.Rule{b, a}, given)
}
