package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// Network opens and dials the ports of a process.
type Network struct {
	Listen func(network, address string) (net.Listener, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
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
