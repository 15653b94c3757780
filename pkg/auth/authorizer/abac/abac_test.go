package abac_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/authorizer/abac"
	"kube2014/pkg/auth/authorizer/authorizertest"
	"kube2014/pkg/auth/user"
)

func read(lines ...string) (abac.Policy, error) {
	return abac.Read([]byte(strings.Join(lines, "\n")))
}

func TestAPolicyDecidesAsTodaysServerDoes(t *testing.T) {
	t.Parallel()
	recording := authorizertest.Load(t, "testdata/decisions.json")
	policy, err := read(recording.Policy...)
	require.NoError(t, err)
	authorizertest.Replay(t, recording, policy)
}

// stricter has the lines that only today's server takes. It reads over what it does not know,
// so that in most of them a user may do everything.
var stricter = []string{
	`{"kind":"Policy","spec":{"user":"a"}}`,
	`{"user":"a","users":"b"}`,
	`{"User":"a"}`,
	`{"user":"a","user":"b"}`,
	`{"user":"a","nonResourcePath":"/x"}`,
	`user: a`,
	`null`,
	`{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"a","verb":"get"}}`,
	`{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","metadata":{},"spec":{"user":"a"}}`,
}

// older has the line that only a server of 2014 takes.
var older = []string{`{"user":"a","kind":"pods"}`}

func TestK36ALineIsBadAsInTodaysServerAndIfAFieldIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, line := range authorizertest.Load(t, "testdata/decisions.json").Lines {
		_, err := read(line.Line)
		switch {
		case slices.Contains(stricter, line.Line):
			assert.True(t, line.Starts, line.Line)
			assert.Error(t, err, line.Line)
		case slices.Contains(older, line.Line):
			assert.False(t, line.Starts, line.Line)
			assert.NoError(t, err, line.Line)
		default:
			assert.Equal(t, line.Starts, err == nil, "%s: %v", line.Line, err)
		}
	}
}

func TestABadLineIsToldWithItsNumberAndTheField(t *testing.T) {
	t.Parallel()
	const version = `"apiVersion":"abac.authorization.kubernetes.io/v1beta1"`
	for line, want := range map[string]string{
		`{"user":"secret"`:                                           "line 3: is no JSON at byte 16",
		`secret`:                                                     "line 3: must be a JSON object",
		`["secret"]`:                                                 "line 3: must be a JSON object",
		`{"user":"a"} secret`:                                        "line 3: is no JSON at byte 14",
		`{"user":7}`:                                                 "line 3: user: must be a JSON string",
		`{"readonly":"secret"}`:                                      "line 3: readonly: must be a JSON boolean",
		`{"apiVersion":1}`:                                           "line 3: apiVersion: must be a JSON string",
		`{"verb":"secret","user":"secret"}`:                          `line 3: unknown field "verb"`,
		`{"user":"secret","user":"b"}`:                               `line 3: duplicate field "user"`,
		`{"user":"a","nonResourcePath":"/secret"}`:                   `line 3: unknown field "nonResourcePath"`,
		`{"resource":"pods","kind":"secret"}`:                        "line 3: kind: means the resource, which stands there too",
		`{"namespace":"a","ns":"secret"}`:                            "line 3: ns: means the namespace, which stands there too",
		`{"apiVersion":"secret","kind":"Policy"}`:                    "line 3: apiVersion: must be abac.authorization.kubernetes.io/v1beta1",
		`{"apiVersion":"abac.authorization.kubernetes.io/v0"}`:       "line 3: kind: must be Policy",
		`{` + version + `,"kind":"secret"}`:                          "line 3: kind: must be Policy",
		`{` + version + `,"kind":"Policy","spec":"secret"}`:          "line 3: spec: must be a JSON object",
		`{` + version + `,"kind":"Policy","spec":{"readonly":1}}`:    "line 3: spec.readonly: must be a JSON boolean",
		`{` + version + `,"kind":"Policy","spec":{"verb":"secret"}}`: `line 3: unknown field "spec.verb"`,
		`{"user":"` + strings.Repeat("secret", 11000) + `"}`:         "line 3: is longer than 65535 bytes",
	} {
		policy, err := read("# first", `{"user":"a"}`, line)
		assert.EqualError(t, err, want, "%.60s", line)
		assert.Nil(t, policy)
	}
}

func TestTheFirstNamesOfResourceAndNamespaceMeanThem(t *testing.T) {
	t.Parallel()
	policy, err := read(`{"user":"kubelet","kind":"events","ns":"a"}`)
	require.NoError(t, err)
	for resource, want := range map[string]authorizer.Decision{"events": authorizer.Allow, "pods": authorizer.NoOpinion} {
		a := authorizer.Attributes{User: &user.Info{Name: "kubelet"}, Verb: "create", IsResource: true, Resource: resource, Namespace: "a"}
		decision, _, _ := policy.Authorize(t.Context(), a)
		assert.Equal(t, want, decision)
		a.Namespace = "b"
		decision, _, _ = policy.Authorize(t.Context(), a)
		assert.Equal(t, authorizer.NoOpinion, decision)
	}
}

func TestAnEmptyPolicyAllowsNothing(t *testing.T) {
	t.Parallel()
	policy, err := read("", "# nothing")
	require.NoError(t, err)
	decision, reason, err := policy.Authorize(t.Context(), authorizer.Attributes{User: &user.Info{Name: "a"}, Verb: "get", Path: "/"})
	require.NoError(t, err)
	assert.Equal(t, authorizer.NoOpinion, decision)
	assert.Equal(t, "No policy matched.", reason)
}

func TestABrokenEditKeepsTheOldPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "policy.jsonl")
		write := func(line string) {
			require.NoError(t, os.WriteFile(file, []byte(line+"\n"), 0o600))
			require.NoError(t, os.Chtimes(file, time.Now(), time.Now())) // that of the test
		}
		write(`{"user":"alice"}`)
		policy, err := abac.FromFile(file)
		require.NoError(t, err)
		may := func(name string) bool {
			time.Sleep(2 * time.Second) // so that the file is looked at again; the clock is the test's
			who := &user.Info{Name: name, Groups: []string{user.AllAuthenticated}}
			decision, _, err := policy.Authorize(t.Context(), authorizer.Attributes{User: who, Verb: "get", Path: "/"})
			require.NoError(t, err)
			rules, _, err := policy.RulesFor(t.Context(), who, "default")
			require.NoError(t, err)
			assert.Equal(t, decision == authorizer.Allow, len(rules) > 0)
			return decision == authorizer.Allow
		}
		assert.True(t, may("alice"))
		write(`{"user":"bob"`)
		assert.True(t, may("alice"))
		assert.False(t, may("bob"))
		write(`{"user":"bob"}`)
		assert.False(t, may("alice"))
		assert.True(t, may("bob"))
	})
}

func TestAPolicyFileIsNeededAtStart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.jsonl")
	_, err := abac.FromFile(file)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte(`{"users":"a"}`), 0o600))
	_, err = abac.FromFile(file)
	assert.EqualError(t, err, file+`: line 1: unknown field "users"`)
}

func BenchmarkTheLastOfThousandRules(b *testing.B) {
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf(`{"user":"u%d","resource":"pods"}`, i))
	}
	policy, err := read(lines...)
	require.NoError(b, err)
	a := authorizer.Attributes{User: &user.Info{Name: "u999"}, Verb: "get", IsResource: true, Resource: "pods", Namespace: "a"}
	b.ReportAllocs()
	for b.Loop() {
		if decision, _, _ := policy.Authorize(b.Context(), a); decision != authorizer.Allow {
			b.Fatal("not allowed")
		}
	}
}
