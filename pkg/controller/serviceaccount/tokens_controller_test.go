package serviceaccount

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// sign is a Signer. Each call returns another token.
func sign(namespace, account string, uid types.UID, secret string) (string, error) {
	return fmt.Sprintf("of %s/%s %s in %s at %v", namespace, account, uid, secret, time.Now().UnixNano()), nil
}

func (b *bench) createAccount(name string) *corev1.ServiceAccount {
	account, err := b.client.In("before").ServiceAccounts().Create(b.t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}})
	require.NoError(b.t, err)
	return account
}

// createSecret creates a secret for a token of an account, and waits for the controllers.
func (b *bench) createSecret(name, account string, data map[string][]byte) {
	_, err := b.client.In("before").Secrets().Create(b.t.Context(), &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken, Data: data,
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: account}}})
	require.NoError(b.t, err)
	b.settle()
}

func (b *bench) secret(name string) *corev1.Secret {
	b.t.Helper()
	secret, err := b.client.In("before").Secrets().Get(b.t.Context(), name)
	require.NoError(b.t, err)
	return secret
}

func (b *bench) hasNoSecret(name string) {
	b.t.Helper()
	_, err := b.client.In("before").Secrets().Get(b.t.Context(), name)
	assert.True(b.t, apierrors.IsNotFound(err), err)
}

func TestASecretGetsATokenOfItsAccount(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		account := b.createAccount("robot")
		b.createSecret("key", "robot", map[string][]byte{"mine": []byte("x")})
		secret := b.secret("key")
		assert.Contains(t, string(secret.Data["token"]), fmt.Sprintf("of before/robot %s in key at ", account.UID))
		token := secret.Data["token"]
		delete(secret.Data, "token")
		assert.Equal(t, map[string][]byte{"mine": []byte("x"), "namespace": []byte("before"), "ca.crt": []byte("the certificate")}, secret.Data)
		assert.Equal(t, string(account.UID), secret.Annotations[corev1.ServiceAccountUIDKey])

		_, err := b.client.In("before").Secrets().Patch(t.Context(), "key", types.MergePatchType, []byte(`{"data":{"ca.crt":"eA==","namespace":null}}`))
		require.NoError(t, err)
		b.settle()
		assert.Equal(t, "the certificate", string(b.secret("key").Data["ca.crt"]))
		assert.Equal(t, "before", string(b.secret("key").Data["namespace"]))
		assert.Equal(t, token, b.secret("key").Data["token"], "it stays")
		_, err = b.client.In("before").Secrets().Patch(t.Context(), "key", types.MergePatchType, []byte(`{"data":{"token":null}}`))
		require.NoError(t, err)
		b.settle()
		assert.NotEqual(t, token, b.secret("key").Data["token"], "it is a new one")
	})
}

func TestTheSecretOfATokenGoesWithItsAccount(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		for _, nobody := range []string{"nobody", "..", "a/b"} {
			b.createSecret("key", nobody, nil)
			b.hasNoSecret("key")
		}
		for range 2 {
			b.createAccount("robot")
			b.createSecret("key", "robot", nil)
			require.NoError(t, b.client.In("before").ServiceAccounts().Delete(t.Context(), "robot", metav1.DeleteOptions{}))
			b.settle()
			b.hasNoSecret("key")
		}
	})
}

func TestTheSecretOfAnEarlierAccountOfTheNameGoes(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.createAccount("robot")
		_, err := b.client.In("before").Secrets().Create(t.Context(), &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken,
			ObjectMeta: metav1.ObjectMeta{Name: "key", Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot", corev1.ServiceAccountUIDKey: "other"}}})
		require.NoError(t, err)
		b.settle()
		b.hasNoSecret("key")
	})
}

func TestAnAccountForgetsTheSecretThatIsGone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.createAccount("robot")
		b.createSecret("key", "robot", nil)
		_, err := b.client.In("before").ServiceAccounts().Patch(t.Context(), "robot", types.MergePatchType, []byte(`{"secrets":[{"name":"key"},{"name":"other"}]}`))
		require.NoError(t, err)
		require.NoError(t, b.client.In("before").Secrets().Delete(t.Context(), "key", metav1.DeleteOptions{}))
		b.settle()
		account, err := b.client.In("before").ServiceAccounts().Get(t.Context(), "robot")
		require.NoError(t, err)
		assert.Equal(t, []corev1.ObjectReference{{Name: "other"}}, account.Secrets)
	})
}

func TestAnImmutableSecretAndOneOfAnotherTypeStayAsTheyAre(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.createAccount("robot")
		yes, meta := true, metav1.ObjectMeta{Name: "key", Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot"}}
		for _, secret := range []*corev1.Secret{{ObjectMeta: meta, Type: corev1.SecretTypeServiceAccountToken, Immutable: &yes}, {ObjectMeta: meta, Type: corev1.SecretTypeOpaque}} {
			_, err := b.client.In("before").Secrets().Create(t.Context(), secret)
			require.NoError(t, err)
			b.settle()
			assert.Empty(t, b.secret("key").Data)
			require.NoError(t, b.client.In("before").Secrets().Delete(t.Context(), "key", metav1.DeleteOptions{}))
		}
	})
}

func TestASecretWhoseAccountGoesWhileItIsFilledGoesToo(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.createAccount("robot")
		gone := make(chan struct{}, 10)
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "/secrets/key") && len(gone) == 0 {
				next.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(req.Context(), http.MethodDelete, "/api/v1/namespaces/before/serviceaccounts/robot", nil))
				gone <- struct{}{}
			}
			next.ServeHTTP(w, req)
		})
		b.createSecret("key", "robot", nil)
		assert.NotEmpty(t, gone)
		b.hasNoSecret("key")
	})
}
