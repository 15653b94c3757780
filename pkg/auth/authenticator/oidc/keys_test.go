package oidc

import (
	"bytes"
	"context"
	"errors"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/authenticator/authenticatortest"
)

const issuerURL = "https://issuer.example.com"

// directly returns a fetch that asks a handler without a network.
func directly(handler http.Handler) fetch {
	return func(ctx context.Context, url string) ([]byte, error) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, url, nil))
		if answer.Code != http.StatusOK {
			return nil, errors.New("it answered otherwise")
		}
		return answer.Body.Bytes(), nil
	}
}

// newAuthenticator returns an authenticator that has asked nobody yet, and its issuer.
func newAuthenticator(t *testing.T) (*Authenticator, *authenticatortest.Issuer) {
	issuer, err := authenticatortest.New(issuerURL)
	require.NoError(t, err)
	a := New(Config{Issuer: issuerURL, ClientID: "kube", UsernameClaim: "sub", GroupsClaim: "groups", Algorithms: []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384}})
	a.keys.fetch = directly(issuer)
	return a, issuer
}

// show shows an authenticator a token. Its error is "" for none.
func show(t *testing.T, a *Authenticator, issuer *authenticatortest.Issuer, shown authenticatortest.Token) (name, failed string) {
	text, err := issuer.Make(shown, time.Now())
	require.NoError(t, err)
	who, ok, err := a.AuthenticateToken(t.Context(), text)
	assert.Equal(t, ok, who != nil)
	if err != nil {
		return "", err.Error()
	}
	if !ok {
		return "", "unknown"
	}
	return who.Name, ""
}

const unknownKey = "oidc: the token is signed by an unknown key"

func TestAKeyThatIsNewIsFetchedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, issuer := newAuthenticator(t)
		issuer.Publish("rsa")
		a.Run(t.Context())
		assert.Equal(t, 1, issuer.Fetches())
		for range 3 {
			name, failed := show(t, a, issuer, authenticatortest.Token{})
			assert.Equal(t, "ann", name, failed)
		}
		assert.Equal(t, 1, issuer.Fetches(), "known keys are not fetched")

		issuer.Publish("p256")
		time.Sleep(time.Hour)
		for range 3 {
			name, failed := show(t, a, issuer, authenticatortest.Token{Key: "p256"})
			assert.Equal(t, "ann", name, failed)
		}
		assert.Equal(t, 2, issuer.Fetches())
		time.Sleep(time.Hour)
		_, failed := show(t, a, issuer, authenticatortest.Token{})
		assert.Equal(t, unknownKey, failed, "the old one is gone")
	})
}

func TestK121AFloodOfForgedTokensLeadsToOneFetchASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, issuer := newAuthenticator(t)
		a.Run(t.Context())
		time.Sleep(time.Minute)
		for range 10 {
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					_, failed := show(t, a, issuer, authenticatortest.Token{Key: "other"})
					assert.Equal(t, unknownKey, failed)
				})
			}
			all.Wait()
			time.Sleep(keysPause)
		}
		assert.Equal(t, 1+10, issuer.Fetches())

		issuer.Publish("rsa", "other")
		name, failed := show(t, a, issuer, authenticatortest.Token{Key: "other"})
		assert.Equal(t, "ann", name, failed)
	})
}

func TestWhoShowsForgedTokensAndLeavesLeadsToNoMoreFetches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, issuer := newAuthenticator(t)
		a.Run(t.Context())
		there := a.keys.fetch
		a.keys.fetch = func(ctx context.Context, url string) ([]byte, error) {
			time.Sleep(2 * time.Second)
			assert.NoError(t, ctx.Err(), "it goes on")
			return there(ctx, url)
		}
		text, err := issuer.Make(authenticatortest.Token{Key: "other"}, time.Now())
		require.NoError(t, err)
		time.Sleep(time.Minute)
		for range 100 {
			ctx, leave := context.WithTimeout(t.Context(), time.Millisecond)
			_, _, err := a.AuthenticateToken(ctx, text)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			leave()
		}
		_, failed := show(t, a, issuer, authenticatortest.Token{Key: "other"})
		assert.Equal(t, unknownKey, failed)
		assert.Equal(t, 2, issuer.Fetches())
	})
}

// It replaces the process's log, so it is not parallel.
func TestAnIssuerThatIsAwayIsAskedAgain(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	synctest.Test(t, func(t *testing.T) {
		a, issuer := newAuthenticator(t)
		there := a.keys.fetch
		var tries atomic.Int32
		var away atomic.Bool
		away.Store(true)
		a.keys.fetch = func(ctx context.Context, url string) ([]byte, error) {
			tries.Add(1)
			if away.Load() {
				return nil, errors.New("nobody is there")
			}
			return there(ctx, url)
		}
		var running sync.WaitGroup
		running.Go(func() { a.Run(t.Context()) })
		time.Sleep(3*pause - time.Second)
		assert.EqualValues(t, 3, tries.Load())
		_, failed := show(t, a, issuer, authenticatortest.Token{})
		assert.Equal(t, "oidc: the issuer has not been asked for its keys yet", failed)
		away.Store(false)
		running.Wait()
		name, failed := show(t, a, issuer, authenticatortest.Token{})
		assert.Equal(t, "ann", name, failed)
	})
	assert.Equal(t, 1, strings.Count(logged.String(), "warning: tokens of the OIDC issuer https://issuer.example.com are refused until it can be asked for its keys: nobody is there"))

	synctest.Test(t, func(t *testing.T) { // or it ends with its context
		a, _ := newAuthenticator(t)
		a.keys.fetch = func(context.Context, string) ([]byte, error) { return nil, errors.New("nobody is there") }
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		a.Run(ctx)
	})
}

func TestWhileKeysCannotBeFetchedTheOldOnesStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, issuer := newAuthenticator(t)
		a.Run(t.Context())
		tries := 0
		a.keys.fetch = func(context.Context, string) ([]byte, error) {
			tries++
			return nil, errors.New("it answered 500")
		}
		time.Sleep(time.Minute)
		for range 10 {
			_, failed := show(t, a, issuer, authenticatortest.Token{Key: "other"})
			assert.Equal(t, "oidc: the keys of the issuer cannot be fetched: it answered 500", failed)
		}
		assert.Equal(t, 1, tries)
		name, failed := show(t, a, issuer, authenticatortest.Token{})
		assert.Equal(t, "ann", name, failed)
	})
}

func TestAnIssuerThatHangsHoldsUpNobodyWhoseKeyIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, issuer := newAuthenticator(t)
		a.Run(t.Context())
		a.keys.fetch = func(ctx context.Context, _ string) ([]byte, error) {
			ctx, cancel := context.WithTimeout(ctx, FetchTimeout)
			defer cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}
		time.Sleep(time.Minute)
		var waiting sync.WaitGroup
		begun := time.Now()
		waiting.Go(func() {
			_, failed := show(t, a, issuer, authenticatortest.Token{Key: "other"})
			assert.Contains(t, failed, "the keys of the issuer cannot be fetched")
			assert.Equal(t, FetchTimeout, time.Since(begun))
		})
		waiting.Go(func() { // who leaves does not end the fetch for others
			text, err := issuer.Make(authenticatortest.Token{Key: "other"}, time.Now())
			assert.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, _, err = a.AuthenticateToken(ctx, text)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		})
		synctest.Wait()
		name, failed := show(t, a, issuer, authenticatortest.Token{})
		assert.Equal(t, "ann", name, failed)
		assert.Zero(t, time.Since(begun))
		waiting.Wait()
	})
}
