package authorizertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// Load reads a recording for a test.
func Load(t testing.TB, file string) *Recording {
	t.Helper()
	r, err := Read(file)
	require.NoError(t, err)
	return r
}

// Replay asks an authorizer what today's server was asked: it decides the same for the same
// reasons, and its rules are the same. As in that server, members of system:masters may do
// everything.
func Replay(t *testing.T, r *Recording, one authorizer.Authorizer) {
	t.Helper()
	all := authorizer.Union(authorizer.PrivilegedGroups{user.Masters}, one)
	for _, review := range r.Reviews {
		decision, reason, err := all.Authorize(t.Context(), review.Attributes(review.Who))
		got := review
		got.Allowed, got.Denied, got.Reason, got.Error = decision == authorizer.Allow, decision == authorizer.Deny, reason, text(err)
		assert.Equal(t, review, got)
	}
	for _, request := range r.Requests {
		a := request.Attributes(request.Who)
		decision, reason, err := all.Authorize(t.Context(), a)
		require.NoError(t, err)
		assert.Equal(t, request.Code == 403, decision != authorizer.Allow, "%s %s", request.Method, request.URL)
		if request.Code == 403 {
			denied := &authorizer.Denied{Attributes: a, Reason: reason}
			_, want, _ := strings.Cut(request.Message, "forbidden: ")
			assert.Equal(t, want, denied.Error())
		}
	}
	for _, review := range r.Rules {
		rules, incomplete, err := all.RulesFor(t.Context(), review.Info(), review.Namespace)
		got := review
		got.Rules, got.Incomplete, got.Error = Sorted(rules), incomplete, text(err)
		assert.Equal(t, review, got)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Sorted returns rules in an order: that of the bindings differs from server to server.
func Sorted(rules []authorizer.Rule) []authorizer.Rule {
	sorted := slices.Clone(rules)
	slices.SortFunc(sorted, func(a, b authorizer.Rule) int { return cmp.Compare(fmt.Sprintf("%q", a), fmt.Sprintf("%q", b)) })
	return sorted
}
