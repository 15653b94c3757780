package kubeconfig

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// current returns what the current context names.
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

// named returns the one element of a list that is the wanted one.
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

// check returns an error if a field is wrong, or if two contradict each other.
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

// checkToken checks that a token can stand in a header.
func checkToken(token string) error {
	if strings.ContainsFunc(token, func(char rune) bool { return char <= ' ' || char > '~' }) {
		return wrong("token", errors.New("has a character that no token has"))
	}
	return nil
}
