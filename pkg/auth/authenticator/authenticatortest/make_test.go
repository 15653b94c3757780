package authenticatortest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/authenticator/authenticatortest"
)

func TestATokenThatCannotBeMadeIsAnError(t *testing.T) {
	t.Parallel()
	issuer, err := authenticatortest.New("https://issuer.example.com")
	require.NoError(t, err)
	for want, token := range map[string]authenticatortest.Token{
		`nothing becomes "old"`:          {Becomes: "old"},
		"the key does not sign by RS256": {Key: "p256", Signs: "RS256"},
		"the key does not sign by ES256": {Signs: "ES256"},
		"the algorithm RS1 is not known": {Signs: "RS1"},
		`the key "nope" is not known`:    {Key: "nope"},
	} {
		_, err := issuer.Make(token, time.Now())
		assert.EqualError(t, err, want)
	}
}
