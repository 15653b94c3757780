package serviceaccount

import (
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/apimachinery/pkg/util/uuid"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/util/pems"
)

// Issuer signs tokens. It is safe for concurrent use.
type Issuer struct {
	Name   string // of the issuer, which is also the audience by default
	signer jose.Signer
}

// NewIssuer returns an issuer that signs with the private key in a file. The error names the file, but not its content.
func NewIssuer(file, name string) (*Issuer, error) {
	text, err := pems.Read(file)
	if err != nil {
		return nil, err
	}
	private, err := pems.PrivateKey(file, text)
	if err != nil {
		return nil, err
	}
	public, err := newKey(private)
	if err != nil {
		return nil, fmt.Errorf("%s %w", file, err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: public.algorithms[0], Key: jose.JSONWebKey{Key: private, KeyID: public.id}}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s has a key that cannot sign", file)
	}
	return &Issuer{name, signer}, nil
}

// Issue returns a token for audiences that ends some time after now, and its id.
func (i *Issuer) Issue(bound Bound, audiences []string, now time.Time, lasts time.Duration) (token, id string, err error) {
	id = string(uuid.NewUUID())
	registered := jwt.Claims{Issuer: i.Name, Subject: user.ServiceAccount(bound.Namespace, bound.ServiceAccount.Name),
		IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(lasts)), ID: id}
	token, err = jwt.Signed(i.signer).Claims(registered).Claims(map[string]any{"aud": audiences, "kubernetes.io": bound}).Serialize()
	return token, id, err
}

// IssueForSecret returns a token that is valid as long as the secret that it is bound to holds it.
func (i *Issuer) IssueForSecret(bound Bound) (string, error) {
	registered := jwt.Claims{Issuer: legacyIssuer, Subject: user.ServiceAccount(bound.Namespace, bound.ServiceAccount.Name)}
	return jwt.Signed(i.signer).Claims(registered).Claims(map[string]any{
		legacyClaim + "namespace": bound.Namespace, legacyClaim + "secret.name": bound.Secret.Name,
		legacyClaim + "service-account.name": bound.ServiceAccount.Name, legacyClaim + "service-account.uid": bound.ServiceAccount.UID,
	}).Serialize()
}
