package bootstrap

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/user"
)

const right = "abcdef.0123456789abcdef"

// newSecret returns the secret of the right token, changed.
func newSecret(change func(*corev1.Secret)) *corev1.Secret {
	secret := &corev1.Secret{Type: SecretType, Data: map[string][]byte{"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef"),
		"usage-bootstrap-authentication": []byte("true")}}
	if change != nil {
		change(secret)
	}
	return secret
}

// with is a change of one value.
func with(key, value string) func(*corev1.Secret) {
	return func(secret *corev1.Secret) { secret.Data[key] = []byte(value) }
}

// over returns an authenticator of the tokens of one secret, nil for none.
func over(t *testing.T, secret *corev1.Secret) *Authenticator {
	return &Authenticator{Secret: func(namespace, name string) (*corev1.Secret, error) {
		assert.Equal(t, "kube-system/bootstrap-token-abcdef", namespace+"/"+name)
		return secret, nil
	}}
}

func TestASecretSaysWhatATokenIsGoodFor(t *testing.T) {
	t.Parallel()
	just := func(groups ...string) *user.Info { return &user.Info{Name: "system:bootstrap:abcdef", Groups: groups} }
	for _, row := range []struct {
		name   string
		secret *corev1.Secret
		want   *user.Info
	}{
		{"good for ever", newSecret(nil), just(Bootstrappers)},
		{"good until tomorrow", newSecret(with("expiration", time.Now().Add(24*time.Hour).Format(time.RFC3339))), just(Bootstrappers)},
		{"extra groups", newSecret(with("auth-extra-groups", "system:bootstrappers:z,system:bootstrappers:a:b-1,system:bootstrappers:z")),
			just(Bootstrappers, "system:bootstrappers:a:b-1", "system:bootstrappers:z")},
		{"missing", nil, nil},
		{"without data", newSecret(func(s *corev1.Secret) { s.Data = nil }), nil},
		{"of another type", newSecret(func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }), nil},
		{"being deleted", newSecret(func(s *corev1.Secret) { s.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(time.Hour)} }), nil},
		{"of another token", newSecret(with("token-secret", "0123456789abcdee")), nil},
		{"of no token", newSecret(with("token-secret", "")), nil},
		{"of a longer token", newSecret(with("token-secret", "0123456789abcdef0")), nil},
		{"of another id", newSecret(with("token-id", "abcdee")), nil},
		{"expired", newSecret(with("expiration", "2014-06-06T00:00:00Z")), nil},
		{"of a time that nobody understands", newSecret(with("expiration", "tomorrow")), nil},
		{"of a date", newSecret(with("expiration", "2999-06-06")), nil},
		{"for other things", newSecret(func(s *corev1.Secret) { delete(s.Data, "usage-bootstrap-authentication") }), nil},
		{"for authentication, in other letters", newSecret(with("usage-bootstrap-authentication", "True")), nil},
		{"a group of others", newSecret(with("auth-extra-groups", "system:bootstrappers:a,system:masters")), nil},
		{"a group and a space", newSecret(with("auth-extra-groups", "system:bootstrappers:a, system:bootstrappers:b")), nil},
		{"a group without an end", newSecret(with("auth-extra-groups", "system:bootstrappers:")), nil},
		{"a comma too many", newSecret(with("auth-extra-groups", "system:bootstrappers:a,")), nil},
	} {
		who, ok, err := over(t, row.secret).AuthenticateToken(t.Context(), right)
		assert.NoError(t, err, row.name)
		assert.Equal(t, row.want, who, row.name)
		assert.Equal(t, row.want != nil, ok, row.name)
	}
}

func TestWhatHasNotTheFormOfATokenIsNotLookedUp(t *testing.T) {
	t.Parallel()
	a := &Authenticator{Secret: func(string, string) (*corev1.Secret, error) {
		t.Error("it was looked up")
		return nil, errors.New("why")
	}}
	for _, token := range []string{"", ".", "abcdef", "abcdef.", right + "0", right + "\n", " " + right, "a" + right, "ABCDEF.0123456789abcdef",
		"abcde/.0123456789abcdef", "abcdef:0123456789abcdef", "abcdef.0123456789abcde.", "../../.0123456789abcdef"} {
		_, ok, err := a.AuthenticateToken(t.Context(), token)
		assert.False(t, ok, token)
		assert.NoError(t, err, token)
	}
}

func TestASecretThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	away := errors.New("etcd is away")
	a := &Authenticator{Secret: func(string, string) (*corev1.Secret, error) { return nil, away }}
	_, ok, err := a.AuthenticateToken(t.Context(), right)
	assert.False(t, ok)
	assert.ErrorIs(t, err, away)
	_, ok, err = (&Authenticator{}).AuthenticateToken(t.Context(), right)
	assert.False(t, ok, "there are no secrets")
	assert.NoError(t, err)
}

func TestATokenEndsAtItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := over(t, newSecret(with("expiration", time.Now().Add(time.Minute).Format(time.RFC3339))))
		time.Sleep(time.Minute - time.Second)
		_, ok, _ := a.AuthenticateToken(t.Context(), right)
		assert.True(t, ok)
		time.Sleep(time.Second)
		_, ok, _ = a.AuthenticateToken(t.Context(), right)
		assert.False(t, ok)
	})
}
