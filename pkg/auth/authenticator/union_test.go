package authenticator

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/auth/user"
)

var (
	errOne = errors.New("one is away")
	errTwo = errors.New("two is away")
)

func knows(name string) Request {
	return RequestFunc(func(*http.Request) (*user.Info, bool, error) { return &user.Info{Name: name}, true, nil })
}

func fails(err error) Request {
	return RequestFunc(func(*http.Request) (*user.Info, bool, error) { return nil, false, err })
}

var knowsNobody = fails(nil)

func request() *http.Request { return httptest.NewRequest("GET", "/", nil) }

func TestTheFirstOfAUnionThatKnowsTheUserWins(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		all  []Request
		user string
		err  string
	}{
		{"none", nil, "", ""},
		{"nobody knows", []Request{knowsNobody, knowsNobody}, "", ""},
		{"the first of two", []Request{knowsNobody, knows("ann"), knows("bob")}, "ann", ""},
		{"after an error", []Request{fails(errOne), knows("ann"), fails(errTwo)}, "ann", ""},
		{"one error", []Request{knowsNobody, fails(errOne), knowsNobody}, "", "one is away"},
		{"all errors, in one line", []Request{fails(errOne), fails(errTwo)}, "", "one is away; two is away"},
	} {
		tokens := make([]Token, len(row.all))
		for i, one := range row.all {
			tokens[i] = TokenFunc(func(_ context.Context, token string) (*user.Info, bool, error) {
				assert.Equal(t, "secret", token)
				return one.AuthenticateRequest(nil)
			})
		}
		check := func(who *user.Info, ok bool, err error) {
			assert.Equal(t, row.user != "", ok, row.name)
			if ok {
				assert.Equal(t, row.user, who.Name, row.name)
			}
			if row.err == "" {
				assert.NoError(t, err, row.name)
			} else {
				assert.EqualError(t, err, row.err, row.name)
				assert.ErrorIs(t, err, errOne)
			}
		}
		check(Union(row.all...).AuthenticateRequest(request()))
		check(UnionOfTokens(tokens...).AuthenticateToken(t.Context(), "secret"))
	}
}

func TestWhoIsKnownIsInTheGroupOfAll(t *testing.T) {
	t.Parallel()
	shared := &user.Info{Name: "ann", UID: "1", Groups: make([]string, 1, 10), Extra: map[string][]string{"a": {"b"}}}
	shared.Groups[0] = "dev"
	next := func(who *user.Info) Request {
		return RequestFunc(func(*http.Request) (*user.Info, bool, error) { return who, true, nil })
	}
	who, ok, err := Groups(next(shared)).AuthenticateRequest(request())
	assert.True(t, ok)
	assert.NoError(t, err)
	assert.Equal(t, &user.Info{Name: "ann", UID: "1", Groups: []string{"dev", user.AllAuthenticated}, Extra: shared.Extra}, who)
	assert.Equal(t, []string{"dev"}, shared.Groups)
	assert.Empty(t, shared.Groups[:2][1], "nor what is behind it")

	for _, same := range []*user.Info{
		{Name: user.Anonymous}, // as a front proxy may say
		{Name: "ann", Groups: []string{user.AllAuthenticated, "dev"}},
		{Name: "ann", Groups: []string{user.AllUnauthenticated}},
	} {
		who, _, _ := Groups(next(same)).AuthenticateRequest(request())
		assert.Same(t, same, who)
	}
	_, ok, err = Groups(fails(errOne)).AuthenticateRequest(request())
	assert.False(t, ok)
	assert.ErrorIs(t, err, errOne)
	_, ok, err = Groups(knowsNobody).AuthenticateRequest(request())
	assert.False(t, ok)
	assert.NoError(t, err)
}
