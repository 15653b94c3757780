package authenticator

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/auth/user"
)

// counted counts the checks of each token. A check takes a second.
type counted struct{ checks map[string]int }

func (c *counted) AuthenticateToken(ctx context.Context, token string) (*user.Info, bool, error) {
	c.checks[token]++
	select {
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case <-time.After(time.Second):
		return secret(ctx, token)
	}
}

func TestTheOwnerOfATokenIsKnownForTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{map[string]int{}}
		all := Cached(c, DefaultCacheTTL)
		ask := func() {
			who, ok, err := all.AuthenticateToken(t.Context(), "s3cret")
			assert.NoError(t, err)
			assert.True(t, ok)
			assert.Equal(t, "ann", who.Name)
		}
		ask()
		time.Sleep(10*time.Second - time.Nanosecond)
		ask()
		assert.Equal(t, 1, c.checks["s3cret"])
		time.Sleep(time.Nanosecond)
		ask()
		assert.Equal(t, 2, c.checks["s3cret"])
	})
}

func TestATokenThatDoesNotGetInIsCheckedEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{map[string]int{}}
		all := Cached(c, DefaultCacheTTL)
		for range 2 {
			who, ok, err := all.AuthenticateToken(t.Context(), "secret")
			assert.Nil(t, who)
			assert.False(t, ok)
			assert.NoError(t, err)
			_, ok, err = all.AuthenticateToken(t.Context(), "late")
			assert.False(t, ok)
			assert.ErrorIs(t, err, errOne)
		}
		assert.Equal(t, map[string]int{"secret": 2, "late": 2}, c.checks)
	})
}

func TestManyWhoShowATokenShareOneCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counted{map[string]int{}}
		all := Cached(c, DefaultCacheTTL)
		var asking sync.WaitGroup
		for range 50 {
			asking.Go(func() {
				_, ok, err := all.AuthenticateToken(t.Context(), "s3cret")
				assert.True(t, ok)
				assert.NoError(t, err)
			})
		}
		asking.Wait()
		assert.Equal(t, map[string]int{"s3cret": 1}, c.checks)
	})
}

func TestWhoHasNoTimeLeftDoesNotWaitForTheCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := Cached(&counted{map[string]int{}}, DefaultCacheTTL)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		begun := time.Now()
		_, ok, err := all.AuthenticateToken(ctx, "s3cret")
		assert.False(t, ok)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Millisecond, time.Since(begun))
	})
}

func TestWithoutATimeNothingIsCached(t *testing.T) {
	t.Parallel()
	known := 0
	all := Cached(TokenFunc(func(context.Context, string) (*user.Info, bool, error) {
		known++
		return &user.Info{}, true, nil
	}), 0)
	for range 2 {
		_, ok, _ := all.AuthenticateToken(t.Context(), "x")
		assert.True(t, ok)
	}
	assert.Equal(t, 2, known)
}

func BenchmarkCachedTokenOf1kB(b *testing.B) {
	all := Cached(TokenFunc(func(context.Context, string) (*user.Info, bool, error) { return &user.Info{}, true, nil }), time.Hour)
	token := strings.Repeat("x", 1024)
	for b.Loop() {
		_, _, _ = all.AuthenticateToken(b.Context(), token)
	}
}
