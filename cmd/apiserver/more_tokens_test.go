package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/auth/authenticator/authenticatortest"
)

const joinSecrets = "/api/v1/namespaces/kube-system/secrets"

const secretOfJoinToken = `{"metadata": {"name": "bootstrap-token-abcdef"}, "type": "bootstrap.kubernetes.io/token",
"stringData": {"token-id": "abcdef", "token-secret": "0123456789ab5d9e", "usage-bootstrap-authentication": "true"}}`

// join creates the secret of joinToken.
func (s *secured) join() {
	s.t.Helper()
	s.send(http.StatusCreated, "POST", joinSecrets, secretOfJoinToken)
}

// isTakenFor returns whom the server takes somebody for, and its status.
func (s *secured) isTakenFor(shows credentials) (status int, name string) {
	s.t.Helper()
	status, text := s.ask(s.t, shows, "POST", reviewOfOneself, aSelfSubjectReview)
	if status != http.StatusCreated {
		return status, ""
	}
	return status, userOf(s.t, text)
}

func TestABootstrapTokenEndsWithItsSecret(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			own := flags(t)
			s := openSecureWith(t, revokesAtOnce(), append(own, "-enable_bootstrap_token_auth", "-authorization_mode", "RBAC")...)
			if s.Stores.Follow != nil { // no loop runs
				go s.Stores.Follow(t.Context())
			}
			is := func(wanted int) {
				t.Helper()
				status, _ := s.isTakenFor(bearer(joinToken))
				assert.Equal(t, wanted, status)
			}
			is(http.StatusUnauthorized)
			s.join()
			is(http.StatusCreated)
			assert.Equal(t, "system:bootstrap:abcdef", review(t, s.insecure, joinToken).User.Username)
			s.sendAs(http.StatusOK, "PATCH", joinSecrets+"/bootstrap-token-abcdef", mergePatch, `{"stringData": {"expiration": "2014-06-06T00:00:00Z"}}`)
			is(http.StatusUnauthorized)
			s.sendAs(http.StatusOK, "PATCH", joinSecrets+"/bootstrap-token-abcdef", mergePatch, `{"stringData": {"expiration": "2999-06-06T00:00:00Z"}}`)
			is(http.StatusCreated)
			if len(own) > 0 { // another apiserver of the same etcd deletes it
				s = &secured{openDoors(t, own...), s.insecure, s.url, s.trusted}
			}
			s.send(http.StatusOK, "DELETE", joinSecrets+"/bootstrap-token-abcdef", "")
			eventually(t, func() bool {
				status, _ := s.isTakenFor(bearer(joinToken))
				return status == http.StatusUnauthorized
			}, "the cache knows that the secret is gone")
			assert.False(t, review(t, s.insecure, joinToken).Authenticated)
		})
	}
}

func TestAnIDTokenEndsWithItsKey(t *testing.T) {
	t.Parallel()
	w := everyWay(t)
	w.issuer.Publish("rsa")
	s := openSecureWith(t, revokesAtOnce(), append(w.flags, "-authorization_mode", "RBAC")...)
	old, rotated := w.idToken(authenticatortest.Token{}), w.idToken(authenticatortest.Token{Key: "p256", Claims: map[string]any{"groups": "dev"}})
	status, name := s.isTakenFor(old)
	assert.Equal(t, http.StatusCreated, status)
	assert.Equal(t, w.issuer.URL+"#ann in system:authenticated", name)
	status, _ = s.isTakenFor(rotated)
	assert.Equal(t, http.StatusUnauthorized, status)

	w.issuer.Publish("p256")
	eventually(t, func() bool {
		status, name = s.isTakenFor(rotated)
		return status == http.StatusCreated
	}, "the new key is fetched")
	assert.Equal(t, w.issuer.URL+"#ann in dev system:authenticated", name)
	status, _ = s.isTakenFor(old)
	assert.Equal(t, http.StatusUnauthorized, status)

	w.issuer.Close()
	status, _ = s.isTakenFor(rotated)
	assert.Equal(t, http.StatusCreated, status, "the keys that are known are enough")
	status, _ = s.isTakenFor(w.idToken(authenticatortest.Token{Key: "other"}))
	assert.Equal(t, http.StatusUnauthorized, status)
}

func TestAServerWhoseIssuerIsAwayServesOthers(t *testing.T) {
	t.Parallel()
	w := everyWay(t)
	w.issuer.Close()
	own, authority := w.secureFlags()
	_, log, _, url := secureProgram(t, unhurried, append(own, w.flags...)...)
	log.find("warning: tokens of the OIDC issuer " + w.issuer.URL + " are refused until it can be asked for its keys: ")
	client := clientWith(t, authority.Pool(), nil)
	status, _, _ := askWith(t, client, bearer(rightToken), "GET", url+todaysPods, "")
	assert.Equal(t, http.StatusOK, status)
	status, _, _ = askWith(t, client, w.idToken(authenticatortest.Token{}), "GET", url+todaysPods, "")
	assert.Equal(t, http.StatusUnauthorized, status)
}
