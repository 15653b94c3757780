package server_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPortForward passes on bytes from a port, in pieces of 64 KiB.
func BenchmarkPortForward(b *testing.B) {
	for name := range protocols {
		b.Run(name, func(b *testing.B) {
			const piece = 64 << 10
			text := make([]byte, piece)
			address := listen(b, func(conn net.Conn) {
				defer conn.Close()
				for {
					if _, err := conn.Write(text); err != nil {
						return
					}
				}
			})
			data, _ := open(b, dial(b, serve(b, &fakePod{address: address}), name), "1", "80")
			b.SetBytes(piece)
			for b.Loop() {
				_, err := io.ReadFull(data, text)
				require.NoError(b, err)
			}
		})
	}
}
