package etcdtest

import (
	"fmt"
	"syscall"
)

// Refusing returns an address of 127.0.0.1 that refuses connections until it is
// freed: a socket has its port, so that no other process gets it, but does not listen.
func Refusing() (address string, free func() error, err error) {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return "", nil, err
	}
	syscall.CloseOnExec(socket)
	free = func() error { return syscall.Close(socket) }
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		_ = free() // the first error is returned
		return "", nil, err
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		_ = free() // as above
		return "", nil, err
	}
	return fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port), free, nil
}
