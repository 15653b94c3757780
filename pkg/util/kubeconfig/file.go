package kubeconfig

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"sigs.k8s.io/json"

	"kube2014/pkg/util/yamls"
)

// kubeconfig is what a kubeconfig may say. Any other field is an error: who
// writes it expects something of it.
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

// wrong returns the error of a field. Err must not contain its value.
func wrong(field string, err error) error { return fmt.Errorf("%s: %w", field, err) }

func readTarget(file string) (*target, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t, err := parseTarget(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
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
	case len(strict) > 0 && config.Kind != "Config": // its fields may be secrets: a line of a token file can look like one
		return nil, errors.New("no kubeconfig: it has unknown fields, and no kind Config")
	case len(strict) > 0:
		return nil, strict[0]
	}
	t, err := config.current()
	if err != nil {
		return nil, err
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	return t, nil
}
