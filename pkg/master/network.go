package master

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"
)

// Network opens and dials the ports of a process.
type Network struct {
	Listen func(network, address string) (net.Listener, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// proxied returns the transport of requests that are sent on to pods, services and nodes. As in today's server, certificates are not checked:
// whoever may send such a request chooses where it goes.
func (n Network) proxied() *http.Transport {
	protocols := &http.Protocols{} // those that can be upgraded
	protocols.SetHTTP1(true)
	return &http.Transport{DialContext: n.Dial, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}, Protocols: protocols,
		DisableCompression: true, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 1 << 20}
}

var hostNetwork = Network{listen, new(net.Dialer).DialContext}

// listen is net.Listen with advice in its errors.
func listen(network, address string) (net.Listener, error) {
	listener, err := net.Listen(network, address)
	return listener, advised(address, err)
}

// advised adds advice for the user to the system's error for an address.
func advised(address string, err error) error {
	var refused *os.SyscallError
	if !errors.As(err, &refused) {
		return err
	}
	switch host, _, _ := net.SplitHostPort(address); refused.Err {
	case syscall.EADDRNOTAVAIL:
		refused.Err = fmt.Errorf("%w: this system has no such address; add it (macOS: sudo ifconfig lo0 alias %s), "+
			"or choose others with -machines (make: MACHINES=127.0.0.1), -cluster_cidr or -address", refused.Err, host)
	case syscall.EACCES:
		refused.Err = fmt.Errorf("%w: a port below 1024 needs root or, on Linux, the capability CAP_NET_BIND_SERVICE", refused.Err)
	}
	return err
}
