package serviceaccount

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"kube2014/pkg/auth/user"
)

// legacyIssuer signs the tokens of secrets. They never expire and have no audience.
const legacyIssuer = "kubernetes/serviceaccount"

// legacyClaim is the beginning of the names of their claims.
const legacyClaim = "kubernetes.io/serviceaccount/"

// claims has the claims of both forms of tokens. The issuer tells them apart.
type claims struct {
	jwt.Claims

	Namespace string `json:"kubernetes.io/serviceaccount/namespace"`
	Name      string `json:"kubernetes.io/serviceaccount/service-account.name"`
	UID       string `json:"kubernetes.io/serviceaccount/service-account.uid"`
	Secret    string `json:"kubernetes.io/serviceaccount/secret.name"`

	Bound *Bound `json:"kubernetes.io"`
}

// Bound says to which objects a token is bound: it ends with any of them.
type Bound struct {
	Namespace      string `json:"namespace"`
	ServiceAccount Ref    `json:"serviceaccount"`
	Pod            *Ref   `json:"pod,omitempty"`
	Secret         *Ref   `json:"secret,omitempty"`
	Node           *Ref   `json:"node,omitempty"`
}

// Ref is an object of a token.
type Ref struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// user returns the service account of valid claims. The issuer may be "" for any.
func (c *claims) user(issuer string, audiences []string) (*user.Info, error) {
	switch err := c.Validate(jwt.Expected{Time: time.Now()}); {
	case errors.Is(err, jwt.ErrExpired):
		return nil, errors.New("the service account token is expired")
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return nil, errors.New("the service account token is not valid yet")
	case err != nil:
		return nil, errors.New("the service account token is not valid")
	}
	namespace, name, uid := c.Namespace, c.Name, c.UID
	if c.Issuer == legacyIssuer {
		if c.Secret == "" {
			return nil, missing("secret's name")
		}
	} else {
		switch {
		case c.Issuer == "":
			return nil, missing("iss")
		case issuer != "" && c.Issuer != issuer:
			return nil, errors.New("the service account token is of another issuer")
		case c.Bound == nil:
			return nil, missing("kubernetes.io")
		case c.Expiry == nil:
			return nil, missing("exp")
		}
		namespace, name, uid = c.Bound.Namespace, c.Bound.ServiceAccount.Name, c.Bound.ServiceAccount.UID
	}
	if err := c.isFor(audiences); err != nil {
		return nil, err
	}
	switch {
	case namespace == "":
		return nil, missing("namespace")
	case name == "":
		return nil, missing("service account's name")
	case uid == "":
		return nil, missing("service account's uid")
	case strings.Contains(namespace, ":"), strings.Contains(name, ":"):
		return nil, errors.New("the service account token has a name with a colon")
	}
	full := user.ServiceAccount(namespace, name)
	if c.Subject != full {
		return nil, errors.New("the service account token's subject is another one than its claims tell")
	}
	return &user.Info{Name: full, UID: uid, Groups: user.ServiceAccountGroups(namespace), Extra: c.extra()}, nil
}

// CredentialID returns what names a token, by its id, in the extra data of its user and in the audit.
func CredentialID(id string) string { return "JTI=" + id }

// extra returns what a user is told apart by: the token, and what it is bound to. Tokens of secrets have no id.
func (c *claims) extra() map[string][]string {
	if c.Bound == nil {
		return nil
	}
	extra := map[string][]string{}
	add := func(key, value string) {
		if value != "" {
			extra["authentication.kubernetes.io/"+key] = []string{value}
		}
	}
	if c.ID != "" {
		add("credential-id", CredentialID(c.ID))
	}
	if pod := c.Bound.Pod; pod != nil {
		add("pod-name", pod.Name)
		add("pod-uid", pod.UID)
	}
	if node := c.Bound.Node; node != nil {
		add("node-name", node.Name)
		add("node-uid", node.UID)
	}
	return extra
}

// isFor checks the audience: another server that receives a token must not be able to use it
// here. As in today's server, the default audience is the issuer.
func (c *claims) isFor(audiences []string) error {
	if c.Issuer == legacyIssuer && len(c.Audience) == 0 {
		return nil
	}
	if len(audiences) == 0 {
		audiences = []string{c.Issuer}
	}
	if !slices.ContainsFunc(audiences, c.Audience.Contains) {
		return errors.New("the service account token is for another audience")
	}
	return nil
}

func missing(claim string) error {
	return errors.New("the service account token has no " + claim)
}
