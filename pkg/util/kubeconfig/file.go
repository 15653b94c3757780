package kubeconfig

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"sigs.k8s.io/json"

	"kube2014/pkg/util"
	"kube2014/pkg/util/yamls"
)

// kubeconfig has the fields of a kubeconfig. Unknown fields are errors, because their author expects
// an effect.
type kubeconfig struct {
	APIVersion     string         `json:"apiVersion"`
	Kind           string         `json:"kind"`
	CurrentContext string         `json:"current-context"`
	Preferences    any            `json:"preferences"`
	Extensions     any            `json:"extensions"`
	Clusters       []namedCluster `json:"clusters"`
	Users          []namedUser    `json:"users"`
	Contexts       []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster    string `json:"cluster"`
			User       string `json:"user"`
			Namespace  string `json:"namespace"`
			Extensions any    `json:"extensions"`
		} `json:"context"`
	} `json:"contexts"`
}

type namedCluster struct {
	Name    string  `json:"name"`
	Cluster cluster `json:"cluster"`
}

type cluster struct {
	Server     string `json:"server"`
	CA         string `json:"certificate-authority"`
	CAData     []byte `json:"certificate-authority-data"`
	Insecure   bool   `json:"insecure-skip-tls-verify"`
	ServerName string `json:"tls-server-name"`
	Extensions any    `json:"extensions"`
}

type namedUser struct {
	Name string   `json:"name"`
	User userInfo `json:"user"`
}

type userInfo struct {
	Certificate     string `json:"client-certificate"`
	CertificateData []byte `json:"client-certificate-data"`
	Key             string `json:"client-key"`
	KeyData         []byte `json:"client-key-data"`
	Token           string `json:"token"`
	TokenFile       string `json:"tokenFile"`
	Extensions      any    `json:"extensions"`
}

// target is the server of the current context, checked.
type target struct {
	file string
	url  *url.URL
	at   cluster
	as   userInfo
}

// wrong returns the error of a field. Err must not contain the value.
func wrong(field string, err error) error { return fmt.Errorf("%s: %w", field, err) }

func readTarget(file string) (*target, error) {
	t, err := util.ParseFile(file, parseTarget)
	if err != nil {
		return nil, err
	}
	t.file = file
	for _, path := range []*string{&t.at.CA, &t.as.Certificate, &t.as.Key, &t.as.TokenFile} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(file), *path)
		}
	}
	return t, nil
}

func parseTarget(text []byte) (*target, error) {
	data, err := yamls.ToJSON(text)
	if err != nil {
		return nil, err
	}
	var config kubeconfig
	strict, err := json.UnmarshalStrict(data, &config)
	var mistyped *stdjson.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return nil, wrong(mistyped.Field, errors.New("has a value of another type"))
	case err != nil:
		return nil, errors.New("no kubeconfig, or one with data that is not of the base64 format")
	case len(strict) > 0 && config.Kind != "Config": // the names may be secrets: a line of a token file can look like a field
		return nil, errors.New("no kubeconfig: it has unknown fields, and no kind Config")
	case len(strict) > 0:
		return nil, strict[0]
	}
	t, err := config.current()
	if err == nil {
		err = t.check()
	}
	return t, err
}

// current returns the server and the user of the current context.
func (c *kubeconfig) current() (*target, error) {
	t := &target{}
	switch {
	case c.APIVersion != "" && c.APIVersion != "v1":
		return nil, wrong("apiVersion", errors.New("is not v1"))
	case c.Kind != "" && c.Kind != "Config":
		return nil, wrong("kind", errors.New("is not Config"))
	case c.CurrentContext == "":
		return nil, wrong("current-context", errors.New("is missing"))
	}
	context, err := named("contexts", c.Contexts, func(i int) bool { return c.Contexts[i].Name == c.CurrentContext })
	if err != nil {
		return nil, wrong("current-context", err)
	}
	cluster, err := named("clusters", c.Clusters, func(i int) bool { return c.Clusters[i].Name == context.Context.Cluster })
	if err != nil {
		return nil, wrong("contexts.context.cluster", err)
	}
	t.at = cluster.Cluster
	if context.Context.User == "" {
		return t, nil
	}
	user, err := named("users", c.Users, func(i int) bool { return c.Users[i].Name == context.Context.User })
	if err != nil {
		return nil, wrong("contexts.context.user", err)
	}
	t.as = user.User
	return t, nil
}

func named[T any](list string, all []T, wanted func(i int) bool) (found T, err error) {
	count := 0
	for i, one := range all {
		if wanted(i) {
			found, count = one, count+1
		}
	}
	if count != 1 {
		return found, fmt.Errorf("names %d of the %s, not one", count, list)
	}
	return found, nil
}

// check returns an error if a field is invalid, or if two fields contradict each other.
func (t *target) check() error {
	parsed, err := url.Parse(t.at.Server)
	switch {
	case err != nil, parsed.Host == "", parsed.Scheme != "http" && parsed.Scheme != "https":
		return wrong("server", errors.New("is no URL of http or https"))
	case parsed.User != nil:
		return wrong("server", errors.New("has a user in its URL"))
	case parsed.Fragment != "":
		return wrong("server", errors.New("has a fragment in its URL"))
	}
	t.url = parsed
	for _, pair := range []struct {
		field, other string
		both         bool
	}{
		{"certificate-authority", "certificate-authority-data", t.at.CA != "" && t.at.CAData != nil},
		{"client-certificate", "client-certificate-data", t.as.Certificate != "" && t.as.CertificateData != nil},
		{"client-key", "client-key-data", t.as.Key != "" && t.as.KeyData != nil},
		{"token", "tokenFile", t.as.Token != "" && t.as.TokenFile != ""},
		{"insecure-skip-tls-verify", "certificate-authority", t.at.Insecure && t.hasCA()},
	} {
		if pair.both {
			return wrong(pair.field, errors.New("contradicts "+pair.other))
		}
	}
	if t.hasCertificate() != (t.as.Key != "" || t.as.KeyData != nil) {
		return wrong("client-certificate", errors.New("a certificate needs its key, and a key its certificate"))
	}
	if parsed.Scheme == "http" && (t.hasCA() || t.hasCertificate() || t.at.Insecure || t.at.ServerName != "") {
		return wrong("server", errors.New("is no URL of https, so its certificates would not be used"))
	}
	return checkToken(t.as.Token)
}

func (t *target) hasCA() bool { return t.at.CA != "" || t.at.CAData != nil }

func (t *target) hasCertificate() bool { return t.as.Certificate != "" || t.as.CertificateData != nil }

// checkToken checks that a token is valid in a header.
func checkToken(token string) error {
	if strings.ContainsFunc(token, func(char rune) bool { return char <= ' ' || char > '~' }) {
		return wrong("token", errors.New("has a character that no token has"))
	}
	return nil
}
