package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
)

// review returns what a server says about a token.
func review(t *testing.T, url, token string) authenticationv1.TokenReviewStatus {
	t.Helper()
	body := encodeAll(t, authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}})
	resp, err := patient.Post(url+"/apis/authentication.k8s.io/v1/tokenreviews", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, resp.StatusCode, string(text))
	var answer authenticationv1.TokenReview
	require.NoError(t, json.Unmarshal(text, &answer))
	return answer.Status
}

// K90: the use of the token leaves no label.
func TestASecretForATokenIsFilledAndEndsWithItsAccount(t *testing.T) {
	t.Parallel()
	_, _, address := unhurriedProgram(t, filesOf(t).signingFlags()...)
	url := "http://" + address
	client := clientv1.New(url)
	ask := func(name, account string) *corev1.Secret {
		return &corev1.Secret{Type: corev1.SecretTypeServiceAccountToken, ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{corev1.ServiceAccountNameKey: account}}}
	}
	_, err := client.Secrets().Create(t.Context(), ask("key", ""))
	assert.ErrorContains(t, err, `Secret "key" is invalid: metadata.annotations[kubernetes.io/service-account.name]: Required value`)

	robot, err := client.ServiceAccounts().Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}})
	require.NoError(t, err)
	_, err = client.Secrets().Create(t.Context(), ask("key", "robot"))
	require.NoError(t, err)
	var secret *corev1.Secret
	eventually(t, func() bool {
		secret, err = client.Secrets().Get(t.Context(), "key")
		require.NoError(t, err)
		return len(secret.Data["token"]) > 0
	}, "it is filled")
	assert.Equal(t, "default", string(secret.Data["namespace"]))
	assert.Equal(t, string(robot.UID), secret.Annotations[corev1.ServiceAccountUIDKey])
	status := review(t, url, string(secret.Data["token"]))
	assert.True(t, status.Authenticated, status.Error)
	assert.Equal(t, "system:serviceaccount:default:robot", status.User.Username)
	used, err := client.Secrets().Get(t.Context(), "key")
	require.NoError(t, err)
	assert.Empty(t, used.Labels)

	require.NoError(t, client.ServiceAccounts().Delete(t.Context(), "robot", metav1.DeleteOptions{}))
	assert.False(t, review(t, url, string(secret.Data["token"])).Authenticated)
	eventually(t, func() bool {
		_, err := client.Secrets().Get(t.Context(), "key")
		return apierrors.IsNotFound(err)
	}, "the secret goes with the account")
}
