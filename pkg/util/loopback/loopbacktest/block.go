// Package loopbacktest has networks for tests: unused loopback addresses and ports, and a network within a process.
package loopbacktest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// Block is a part of the loopback addresses: those of machines and of pods.
type Block struct {
	Machines []string
	Pods     string // the flag -cluster_cidr
}

// claimPort is the port on which the user of a block listens.
const claimPort = 10249

// Claim returns a block of three machines that no other test, also of another process, has until this
// one ends.
func Claim(t testing.TB) Block {
	for _, number := range rand.Perm(100) {
		machines := 20 + 2*number
		listener, err := net.Listen("tcp", fmt.Sprintf("127.%d.0.254:%d", machines, claimPort))
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = listener.Close() }) // an error means that it is closed
		b := Block{Pods: fmt.Sprintf("127.%d.0.0/16", machines+1)}
		for i := range 3 {
			b.Machines = append(b.Machines, fmt.Sprintf("127.%d.0.%d", machines, i+1))
		}
		return b
	}
	require.Fail(t, "no block of addresses is free")
	return Block{}
}

// FreePort returns an unused port.
func FreePort(t testing.TB) string {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return port
}
