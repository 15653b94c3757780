package kubeletclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"kube2014/pkg/util/pems"
)

// DefaultPort is where kubelets listen.
const DefaultPort = 10250

// Config is how kubelets are reached.
type Config struct {
	Port     uint
	HTTPS    bool
	CAFile   string // who signs the certificates of kubelets; without it, they are not checked
	CertFile string // our certificate for them, with
	KeyFile  string // its key
	Timeout  time.Duration
	// Dial opens connections. If it is not set, they are opened directly.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// ConfigError is the error of a field of a Config.
type ConfigError struct {
	Field string // CAFile, CertFile or KeyFile
	Err   error
}

// Error returns the field and what is wrong with it.
func (e *ConfigError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// New returns a client of the kubelets. It ignores proxies of the environment. It accepts
// 8 KiB of headers (D35): parsed, small headers take some twenty times their size, and those
// of each redirect are kept. An error is a *ConfigError.
func (c Config) New() (*HTTPContainerInfo, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxResponseHeaderBytes = 8 << 10
	if c.Dial != nil {
		transport.DialContext = c.Dial
	}
	info := &HTTPContainerInfo{Client: &http.Client{Transport: transport}, Port: c.Port, Timeout: c.Timeout}
	if c.HTTPS {
		info.Scheme = "https"
		var err error
		if transport.TLSClientConfig, err = c.tls(); err != nil {
			return nil, err
		}
	}
	through := transport.Clone()
	through.MaxResponseHeaderBytes, through.DisableCompression = 1<<20, true
	through.Protocols = new(http.Protocols) // those that can be upgraded
	through.Protocols.SetHTTP1(true)
	info.Through = through
	return info, nil
}

func (c Config) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.CAFile == ""}
	if c.CAFile != "" {
		var err error
		if config.RootCAs, err = pems.ReadPool(c.CAFile); err != nil {
			return nil, &ConfigError{"CAFile", err}
		}
	}
	switch {
	case c.CertFile == "" && c.KeyFile == "":
		return config, nil
	case c.CertFile == "":
		return nil, &ConfigError{"CertFile", errors.New("a key needs its certificate")}
	case c.KeyFile == "":
		return nil, &ConfigError{"KeyFile", errors.New("a certificate needs its key")}
	}
	pair, err := pems.ReadPair(c.CertFile, c.KeyFile)
	if err != nil {
		return nil, &ConfigError{"CertFile", err}
	}
	config.Certificates = []tls.Certificate{*pair}
	return config, nil
}
