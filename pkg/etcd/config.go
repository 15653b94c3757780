package etcd

import (
	"crypto/tls"
	"errors"
	"slices"
	"strings"

	"kube2014/pkg/util/pems"
)

// Config has the URLs and the credentials of an etcd. The files are in PEM format.
type Config struct {
	Servers  []string // URLs of the members
	CAFile   string   // the authorities of etcd's certificates; empty means those of the system
	CertFile string   // our certificate; requires KeyFile, and vice versa
	KeyFile  string
	Username string // requires Password, and vice versa
	Password string
}

// ConfigError reports which field of a Config, or which file that it names, is wrong.
type ConfigError struct {
	Field string // as in Config
	Err   error
}

// Error returns the field and what is wrong with it, but never a password.
func (e *ConfigError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

func configError(field string, err error) error { return &ConfigError{Field: field, Err: err} }

// read checks the configuration and reads its files. An error is a *ConfigError.
func (c Config) read() (urls []string, security *tls.Config, err error) {
	if len(c.Servers) == 0 {
		return nil, nil, configError("Servers", errors.New("there is no etcd server"))
	}
	if urls, err = ParseServers(c.Servers); err != nil {
		return nil, nil, configError("Servers", err)
	}
	if !slices.ContainsFunc(urls, func(url string) bool { return strings.HasPrefix(url, "https:") }) {
		for _, file := range []struct{ field, name string }{{"CAFile", c.CAFile}, {"CertFile", c.CertFile}, {"KeyFile", c.KeyFile}} {
			if file.name != "" {
				return nil, nil, configError(file.field, errors.New("no server has an https URL, so it would not be used"))
			}
		}
	}
	switch {
	case c.Username == "" && c.Password != "":
		return nil, nil, configError("Username", errors.New("a password needs its user"))
	case c.Username != "" && c.Password == "":
		return nil, nil, configError("Password", errors.New("a user needs a password"))
	case c.CertFile == "" && c.KeyFile != "":
		return nil, nil, configError("CertFile", errors.New("a key needs its certificate"))
	case c.CertFile != "" && c.KeyFile == "":
		return nil, nil, configError("KeyFile", errors.New("a certificate needs its key"))
	}
	security = &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		if security.RootCAs, err = pems.ReadPool(c.CAFile); err != nil {
			return nil, nil, configError("CAFile", err)
		}
	}
	if c.CertFile != "" {
		if _, err := pems.ReadCertificates(c.CertFile); err != nil {
			return nil, nil, configError("CertFile", err)
		}
		pair, err := pems.ReadPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, nil, configError("KeyFile", err)
		}
		security.Certificates = []tls.Certificate{*pair}
	}
	return urls, security, nil
}
