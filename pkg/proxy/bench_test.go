package proxy

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkProxy measures the proxy beside a relay that does nothing else: requests of 100 bytes
// with answers of 1,000 over connections that stay, and over new ones; and bytes.
func BenchmarkProxy(b *testing.B) {
	p := start(b, onLoopback(), func(config *Config) { config.Listen, config.Dial = unwrapped(config) })
	p.serve("web", 80)
	p.backend("10.1.0.1:80", answers)
	p.behind("web", "10.1.0.1:80")
	p.awaitEndpoint()
	bare := relayTo(b, p.network, "10.1.0.1:80")
	through := map[string]func() net.Conn{
		"direct": func() net.Conn { return p.wire("10.1.0.1:80") },
		"bare":   func() net.Conn { return dialReal(b, bare) },
		"proxy":  func() net.Conn { return p.wire("10.0.0.1:80") },
	}
	for _, name := range []string{"direct", "bare", "proxy"} {
		dial := through[name]
		b.Run("requests/"+name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				conn := dial()
				defer conn.Close()
				for pb.Next() {
					request(b, conn)
				}
			})
		})
		b.Run("connections/"+name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					conn := dial()
					request(b, conn)
					_ = conn.Close()
				}
			})
		})
		b.Run("bytes/"+name, func(b *testing.B) {
			conn := dial()
			defer conn.Close()
			chunk, answer := make([]byte, 10*1000), make([]byte, 100*1000)
			b.SetBytes(int64(len(answer)))
			for b.Loop() {
				_, err := conn.Write(chunk)
				require.NoError(b, err)
				_, err = io.ReadFull(conn, answer)
				require.NoError(b, err)
			}
		})
	}
}

// unwrapped returns what listens and dials without counting: the kernel can pass the bytes on.
func unwrapped(config *Config) (func(network, address string) (net.Listener, error), func(ctx context.Context, network, address string) (net.Conn, error)) {
	listen, dial := config.Listen, config.Dial
	return func(network, address string) (net.Listener, error) {
			listener, err := listen(network, address)
			if err != nil {
				return nil, err
			}
			return bareListener{listener.(*listenerOf)}, nil
		}, func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			counted := conn.(*tcpEnd)
			counted.closed()
			return counted.TCPConn, nil
		}
}

type bareListener struct{ *listenerOf }

func (l bareListener) Accept() (net.Conn, error) { return l.Listener.Accept() }

// answers answers each 100 bytes with 1,000.
func answers(conn net.Conn) {
	asked, answer := make([]byte, 100), make([]byte, 1000)
	for {
		if _, err := io.ReadFull(conn, asked); err != nil {
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

func request(b *testing.B, conn net.Conn) {
	_, err := conn.Write(make([]byte, 100))
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 1000))
	}
	if err != nil {
		b.Error(err)
	}
}

// relayTo returns the address of a relay to an address of a network.
func relayTo(b *testing.B, n *network, address string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				conn, err := n.Dial(b.Context(), "tcp", address)
				if err != nil {
					b.Error(err)
					return
				}
				out := conn.(*tcpEnd)
				defer out.Close()
				running.Go(func() {
					_, _ = io.Copy(in, out.TCPConn)
					_ = in.Close()
				})
				_, _ = io.Copy(out.TCPConn, in)
			})
		}
	})
	b.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

func dialReal(b *testing.B, address string) net.Conn {
	conn, err := net.Dial("tcp", address)
	require.NoError(b, err)
	return conn
}
