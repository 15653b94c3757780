package serviceaccount

import (
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
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

const issuerName = "https://kubernetes.default.svc"

func privateKey(key any) string {
	return block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))
}

func TestATokenOfAnyKeyIsKnownByItsPublicKey(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]any{"RSA": rsaKey(), "P-256": p256Key(), "P-384": p384Key(), "P-521": p521Key()} {
		issuer, err := NewIssuer(write(t, privateKey(key)), issuerName)
		require.NoError(t, err, name)
		token, id, err := issuer.Issue(Bound{Namespace: "dev", ServiceAccount: Ref{"robot", "1"}}, []string{issuerName}, time.Now(), time.Hour)
		require.NoError(t, err, name)
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
		require.NoError(t, err)
		assert.Contains(t, string(payload), `"aud":["`+issuerName+`"]`, "always a list")
		public := map[bool]func() any{true: func() any { return &key.(*rsa.PrivateKey).PublicKey }, false: func() any { return &key.(*ecdsa.PrivateKey).PublicKey }}[name == "RSA"]()
		for of, want := range map[string]bool{issuerName: true, "": true, "https://other": false} {
			a, err := New([]string{write(t, publicText(public))}, of)
			require.NoError(t, err)
			who, ok, err := a.AuthenticateToken(t.Context(), token)
			assert.Equal(t, want, ok, "%s %s: %v", name, of, err)
			if want {
				assert.Equal(t, "system:serviceaccount:dev:robot", who.Name)
				assert.Equal(t, "1", who.UID)
				assert.Equal(t, map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=" + id}}, who.Extra)
			}
		}
	}
	_, err := NewIssuer(write(t, public(&p256Key().PublicKey)), issuerName)
	assert.ErrorContains(t, err, "has no private key")
}

func publicText(key any) string { return public(key) }

// there are the objects that a lookup finds.
type there map[string]metav1.Object

func (o there) lookup(_ context.Context, resource, namespace, name string) (metav1.Object, error) {
	if object := o[resource+" "+namespace+"/"+name]; object != nil {
		return object, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource(resource), name)
}

func objectOf(uid types.UID, deleted ...time.Time) metav1.Object {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: uid}}
	if len(deleted) > 0 {
		object.DeletionTimestamp = &metav1.Time{Time: deleted[0]}
	}
	return object
}

func TestATokenEndsWithTheObjectsThatItIsBoundTo(t *testing.T) {
	t.Parallel()
	issuer, err := NewIssuer(write(t, privateKey(p256Key())), issuerName)
	require.NoError(t, err)
	a, err := New([]string{write(t, public(&p256Key().PublicKey))}, issuerName)
	require.NoError(t, err)
	account := Bound{Namespace: "dev", ServiceAccount: Ref{"robot", "1"}}
	ofPod, ofSecret, ofNode := account, account, account
	ofPod.Pod, ofPod.Node = &Ref{"web", "2"}, &Ref{"gone", "9"}
	ofSecret.Secret, ofNode.Node = &Ref{"key", "3"}, &Ref{"n", "4"}
	for name, row := range map[string]struct {
		bound Bound
		there there
		want  string
	}{
		"the account is there":            {account, there{"serviceaccounts dev/robot": objectOf("1")}, ""},
		"the account is missing":          {account, there{}, noAccount},
		"the account is another one":      {account, there{"serviceaccounts dev/robot": objectOf("7")}, noAccount},
		"the account is about to end":     {account, there{"serviceaccounts dev/robot": objectOf("1", time.Now())}, ""},
		"the account has ended":           {account, there{"serviceaccounts dev/robot": objectOf("1", time.Now().Add(-time.Hour))}, noAccount},
		"the pod is there, on any node":   {ofPod, there{"serviceaccounts dev/robot": objectOf("1"), "pods dev/web": objectOf("2")}, ""},
		"the pod is gone":                 {ofPod, there{"serviceaccounts dev/robot": objectOf("1")}, invalidated},
		"the pod has been created again":  {ofPod, there{"serviceaccounts dev/robot": objectOf("1"), "pods dev/web": objectOf("8")}, invalidated},
		"the secret is there":             {ofSecret, there{"serviceaccounts dev/robot": objectOf("1"), "secrets dev/key": objectOf("3")}, ""},
		"the secret is gone":              {ofSecret, there{"serviceaccounts dev/robot": objectOf("1")}, invalidated},
		"the node is there":               {ofNode, there{"serviceaccounts dev/robot": objectOf("1"), "nodes /n": objectOf("4")}, ""},
		"the node is gone":                {ofNode, there{"serviceaccounts dev/robot": objectOf("1")}, invalidated},
		"the account of others is no use": {account, there{"serviceaccounts default/robot": objectOf("1")}, noAccount},
	} {
		token, _, err := issuer.Issue(row.bound, []string{issuerName}, time.Now(), time.Hour)
		require.NoError(t, err)
		own := *a
		own.Lookup = row.there.lookup
		who, ok, err := own.AuthenticateToken(t.Context(), token)
		assert.Equal(t, row.want == "", ok, name)
		if row.want != "" {
			assert.EqualError(t, err, row.want, name)
			assert.Nil(t, who, name)
		}
	}
	down := *a
	down.Lookup = func(context.Context, string, string, string) (metav1.Object, error) {
		return nil, errors.New("it is down")
	}
	token, _, err := issuer.Issue(account, []string{issuerName}, time.Now(), time.Hour)
	require.NoError(t, err)
	_, ok, err := down.AuthenticateToken(t.Context(), token)
	assert.False(t, ok)
	assert.EqualError(t, err, "it is down")
}

func TestATokenInASecretEndsWithThatAndWithItsAccount(t *testing.T) {
	t.Parallel()
	issuer, err := NewIssuer(write(t, privateKey(p256Key())), issuerName)
	require.NoError(t, err)
	account := Bound{Namespace: "dev", ServiceAccount: Ref{"robot", "1"}, Secret: &Ref{Name: "key"}}
	token, err := issuer.IssueForSecret(account)
	require.NoError(t, err)
	later := account
	later.ServiceAccount.UID = "2"
	other, err := issuer.IssueForSecret(later)
	require.NoError(t, err)
	robot := objectOf("1")
	holding := func(text string, change ...func(*corev1.Secret)) metav1.Object {
		secret := &corev1.Secret{Data: map[string][]byte{"token": []byte(text)}}
		for _, change := range change {
			change(secret)
		}
		return secret
	}
	for name, row := range map[string]struct {
		there there
		want  string
	}{
		"both are there":              {there{"serviceaccounts dev/robot": robot, "secrets dev/key": holding(token)}, ""},
		"the secret is gone":          {there{"serviceaccounts dev/robot": robot}, invalidated},
		"the secret is about to end":  {there{"serviceaccounts dev/robot": robot, "secrets dev/key": holding(token, func(s *corev1.Secret) { s.DeletionTimestamp = &metav1.Time{Time: time.Now()} })}, invalidated},
		"the secret has another one":  {there{"serviceaccounts dev/robot": robot, "secrets dev/key": holding(other)}, "the service account token is not the one in its secret"},
		"the secret has none":         {there{"serviceaccounts dev/robot": robot, "secrets dev/key": &corev1.Secret{}}, "the service account token is not the one in its secret"},
		"the account is gone":         {there{"secrets dev/key": holding(token)}, noAccount},
		"the account is another one":  {there{"serviceaccounts dev/robot": objectOf("2"), "secrets dev/key": holding(token)}, noAccount},
		"the secret is marked so":     {there{"serviceaccounts dev/robot": robot, "secrets dev/key": holding(token, func(s *corev1.Secret) { s.Labels = map[string]string{invalidSince: "2026-01-01"} })}, "the secret of the service account token has the label kubernetes.io/legacy-token-invalid-since"},
		"the secret is of other ones": {there{"serviceaccounts dev/robot": robot, "secrets default/key": holding(token)}, invalidated},
	} {
		a, err := New([]string{write(t, public(&p256Key().PublicKey))}, issuerName)
		require.NoError(t, err)
		a.Lookup = row.there.lookup
		who, ok, err := a.AuthenticateToken(t.Context(), token)
		assert.Equal(t, row.want == "", ok, name)
		if row.want == "" {
			assert.Equal(t, "system:serviceaccount:dev:robot", who.Name)
		} else {
			assert.EqualError(t, err, row.want, name)
		}
	}
}
