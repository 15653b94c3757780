// Package authenticatortest has the tokens that today's server was shown, and whom it took their owners for; and an
// issuer of such tokens.
package authenticatortest

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/authorizer/authorizertest"
	"kube2014/pkg/auth/user"
)

// Recording is what today's server was shown, with its answers. Each list is a member of the file, and each of its
// elements a line. In texts, $issuer stands for the URL of the issuer.
type Recording struct {
	Servers []Server `json:"servers"`
	Secrets []Secret `json:"secrets"` // in kube-system, of all servers
	Tokens  []Token  `json:"tokens"`  // the first one of a server gets in
}

// Server is a server with flags about tokens, beside those of the issuer, the client kube and bootstrap tokens.
type Server struct {
	Name  string   `json:"name"`
	Flags []string `json:"flags"`
}

// Secret is a secret for a bootstrap token.
type Secret struct {
	Name    string            `json:"name"`
	Type    string            `json:"type,omitempty"` // "" for that of bootstrap tokens
	Data    map[string]string `json:"data"`
	Expires int               `json:"expires,omitempty"` // seconds from now, in the data; 0 for what that says
	Deleted bool              `json:"deleted,omitempty"` // it is, but a finalizer keeps it
}

// Object returns the secret as it is now.
func (s *Secret) Object(now time.Time) *corev1.Secret {
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: metav1.NamespaceSystem},
		Type: "bootstrap.kubernetes.io/token", Data: map[string][]byte{}}
	if s.Type != "" {
		object.Type = corev1.SecretType(s.Type)
	}
	for key, value := range s.Data {
		object.Data[key] = []byte(value)
	}
	if s.Expires != 0 {
		object.Data["expiration"] = []byte(now.Add(time.Duration(s.Expires) * time.Second).UTC().Format(time.RFC3339))
	}
	if s.Deleted {
		object.Finalizers = []string{"example.com/keep"}
	}
	return object
}

// Token is one that a server was shown: a text, or else a JWT that is made when it is shown.
type Token struct {
	About  string `json:"about"`
	Server string `json:"server"`
	Text   string `json:"text,omitempty"`

	Key     string         `json:"key,omitempty"`     // that signs it; "" for rsa
	Signs   string         `json:"signs,omitempty"`   // the algorithm of the signature; "" for that of the header
	Header  map[string]any `json:"header,omitempty"`  // changes of it; null takes a member away
	Claims  map[string]any `json:"claims,omitempty"`  // changes of those of a good token
	Times   map[string]int `json:"times,omitempty"`   // claims, in seconds from now
	Without []string       `json:"without,omitempty"` // claims
	Payload string         `json:"payload,omitempty"` // instead of all claims; $exp stands for a time to come
	Becomes string         `json:"becomes,omitempty"` // what becomes of it after it is signed; see Issuer.Make

	Answer
}

// Answer is what a server answered: 200 and a user, or 401.
type Answer struct {
	Code   int                 `json:"code"`
	User   string              `json:"user,omitempty"`
	UID    string              `json:"uid,omitempty"`
	Groups []string            `json:"groups,omitempty"`
	Extra  map[string][]string `json:"extra,omitempty"`
}

// AnswerOf returns the answer to a user, nil for one who does not get in.
func AnswerOf(who *user.Info, issuer *Issuer) Answer {
	if who == nil {
		return Answer{Code: 401}
	}
	return Answer{Code: 200, User: issuer.hide(who.Name), UID: who.UID, Groups: who.Groups, Extra: maps.Clone(who.Extra)}
}

// Read reads a recording.
func Read(file string) (*Recording, error) {
	r := &Recording{}
	return r, authorizertest.ReadLists(file, r)
}

// Text returns a recording as it stands in a file.
func (r *Recording) Text() ([]byte, error) { return authorizertest.TextOf(*r) }
