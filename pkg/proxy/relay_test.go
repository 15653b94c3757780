package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// patience is how long a real network may take.
const patience = time.Minute

// onWire runs a proxy in a real network. It serves a service with one backend.
func onWire(t testing.TB, answer func(conn net.Conn), change ...func(*Config)) *proxied {
	p := start(t, onLoopback(), change...)
	p.serve("web", 80)
	if answer != nil {
		p.backend("10.1.0.1:80", answer)
		p.behind("web", "10.1.0.1:80")
		p.awaitEndpoint()
	}
	return p
}

// await waits until a condition holds.
func (p *proxied) await(holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); <-time.After(10 * time.Millisecond) {
		require.True(p.t, time.Now().Before(deadline), "it does not hold")
	}
}

// awaitEndpoint waits until the proxy listens and knows an endpoint. Until then connections are reset.
func (p *proxied) awaitEndpoint() {
	p.t.Helper()
	p.await(func() bool {
		if !p.listens("10.0.0.2:80") {
			return false
		}
		conn, err := p.Dial(p.t.Context(), "tcp", "10.0.0.1:80")
		if err != nil {
			return false
		}
		defer conn.Close()
		_ = conn.(*tcpEnd).CloseWrite()
		_, err = io.Copy(io.Discard, conn)
		return err == nil
	})
}

// wire dials a connection with a deadline.
func (p *proxied) wire(address string) *tcpEnd {
	p.t.Helper()
	conn := p.dial(address).(*tcpEnd)
	require.NoError(p.t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

// bytesOf returns bytes by chance, but always the same ones.
func bytesOf(seed uint64, size int) []byte {
	all := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = r.Read(all)
	return all
}

func sum(data []byte) string {
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}

func TestAClientThatHasSaidAllGetsItsAnswer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"copied":                  func(*Config) {},
		"passed on by the kernel": func(config *Config) { config.Listen, config.Dial = unwrapped(config) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := onWire(t, func(conn net.Conn) {
				all, err := io.ReadAll(conn)
				if err == nil {
					_, _ = io.WriteString(conn, sum(all))
				}
			}, change)
			for size := range 3 {
				asked := bytesOf(1, size*1_500_000)
				conn := p.wire("10.0.0.1:80")
				_, err := conn.Write(asked)
				require.NoError(t, err)
				require.NoError(t, conn.CloseWrite())
				answer, err := io.ReadAll(conn)
				require.NoError(t, err)
				assert.Equal(t, sum(asked), string(answer))
				require.NoError(t, conn.Close())
			}
		})
	}
}

func TestAClientMayGoOnAfterAServerHasSaidAll(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 1)
	p := onWire(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "done")
		_ = conn.(*tcpEnd).CloseWrite()
		if all, err := io.ReadAll(conn); err == nil && len(all) > 0 {
			heard <- sum(all)
		}
	})
	conn := p.wire("10.0.0.1:80")
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Equal(t, "done", string(answer))
	asked := bytesOf(2, 1_000_000)
	_, err = conn.Write(asked)
	require.NoError(t, err)
	require.NoError(t, conn.CloseWrite())
	assert.Equal(t, sum(asked), <-heard)
}

func TestAnAnswerThatIsCutDoesNotLookWhole(t *testing.T) {
	t.Parallel()
	p := onWire(t, func(conn net.Conn) {
		word := make([]byte, 1)
		if _, err := io.ReadFull(conn, word); err != nil {
			return
		}
		_, _ = io.WriteString(conn, "half of ")
		_, _ = io.ReadFull(conn, word) // the client has read it
		_ = conn.(*tcpEnd).SetLinger(0)
	})
	conn := p.wire("10.0.0.1:80")
	_, err := io.WriteString(conn, "?")
	require.NoError(t, err)
	answer := make([]byte, len("half of "))
	_, err = io.ReadFull(conn, answer)
	require.NoError(t, err)
	_, err = io.WriteString(conn, "?")
	require.NoError(t, err)
	_, err = conn.Read(answer)
	assert.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestAServerIsToldThatItsClientFailed(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	p := onWire(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "!")
		if _, err := io.Copy(io.Discard, conn); err != nil {
			failed <- err
		}
	})
	conn := p.wire("10.0.0.1:80")
	_, err := io.ReadFull(conn, make([]byte, 1)) // it has come to the server
	require.NoError(t, err)
	_, err = conn.Write(bytesOf(3, 100_000))
	require.NoError(t, err)
	require.NoError(t, conn.SetLinger(0))
	require.NoError(t, conn.Close())
	assert.ErrorIs(t, <-failed, syscall.ECONNRESET)
}

func TestAClientWithoutEndpointsIsReset(t *testing.T) {
	t.Parallel()
	p := onWire(t, nil)
	p.await(func() bool { return p.listens("10.0.0.1:80") })
	conn, err := p.Dial(t.Context(), "tcp", "10.0.0.1:80")
	if err == nil { // else it was reset while it was made
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	assert.ErrorIs(t, err, syscall.ECONNRESET)
}

// Two proxies that send each other a connection, because none knows where the other one listens, would
// else do so for ever.
func TestAClientThatIsGoneIsNotPassedOn(t *testing.T) {
	t.Parallel()
	var dials atomic.Int64
	p := onWire(t, echo, func(config *Config) {
		config.MaxConnections = 1
		dial := config.Dial
		config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return dial(ctx, network, address)
		}
	})
	p.await(func() bool { return p.left() == 0 })
	before := dials.Load()
	first := p.wire("10.0.0.1:80")
	say(t, first, "first")
	gone := p.wire("10.0.0.1:80")
	require.NoError(t, gone.SetLinger(0))
	require.NoError(t, gone.Close())
	say(t, first, "again")
	require.NoError(t, first.Close())
	third := p.wire("10.0.0.1:80")
	say(t, third, "third")
	require.NoError(t, third.Close())
	p.stop()
	assert.Equal(t, before+2, dials.Load())
}

func TestWhoIsSlowToReadHoldsUpWhoWrites(t *testing.T) {
	t.Parallel()
	t.Run("exactly", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T, p *proxied) {
			var written atomic.Int64
			p.serve("web", 80)
			p.behind("web", "10.1.0.1:80")
			p.backend("10.1.0.1:80", func(conn net.Conn) {
				for range 1000 {
					n, err := conn.Write(make([]byte, 1000))
					if written.Add(int64(n)); err != nil {
						return
					}
				}
			})
			synctest.Wait()
			conn := p.dial("10.0.0.1:80")
			time.Sleep(time.Hour)
			assert.LessOrEqual(t, written.Load(), int64(64<<10), "what a buffer has room for")
			answer, err := io.ReadAll(conn)
			assert.NoError(t, err)
			assert.Len(t, answer, 1_000_000)
		})
	})
	t.Run("and nothing is lost", func(t *testing.T) {
		t.Parallel()
		const most = 1 << 28
		said := make(chan int, 1)
		p := onWire(t, func(conn net.Conn) {
			word := make([]byte, 1)
			if _, err := io.ReadFull(conn, word); err != nil {
				return
			}
			all, chunk := 0, bytesOf(4, 1<<16)
			_ = conn.SetWriteDeadline(time.Now().Add(500 * time.Millisecond)) // on a slow machine it has written less
			for all < most {
				n, err := conn.Write(chunk)
				all += n
				if errors.Is(err, os.ErrDeadlineExceeded) {
					break
				}
			}
			said <- all
		})
		conn := p.wire("10.0.0.1:80")
		_, err := io.WriteString(conn, "?")
		require.NoError(t, err)
		all := <-said
		assert.Less(t, all, most, "no more than the kernel keeps for two connections")
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		require.Len(t, answer, all)
		chunk := bytesOf(4, 1<<16)
		for len(answer) > 0 {
			size := min(len(answer), len(chunk))
			require.True(t, bytes.Equal(chunk[:size], answer[:size]))
			answer = answer[size:]
		}
	})
}

func TestManyConnectionsAtOnceGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	p := onWire(t, echo)
	var clients sync.WaitGroup
	for i := range 100 {
		clients.Go(func() {
			asked := bytesOf(uint64(i), 1000*i)
			conn := p.wire([]string{"10.0.0.1:80", "10.0.0.2:80"}[i%2])
			defer conn.Close()
			clients.Go(func() {
				_, _ = conn.Write(asked)
				_ = conn.CloseWrite()
			})
			answer, err := io.ReadAll(conn)
			assert.NoError(t, err)
			assert.Equal(t, sum(asked), sum(answer))
		})
	}
	clients.Wait()
	p.await(func() bool { return p.left() == 0 }) // both ends of all are closed
}

func TestNoRequestIsLostWhileEndpointsChange(t *testing.T) {
	t.Parallel()
	p := onWire(t, echo)
	p.backend("10.1.0.2:80", echo)
	p.backend("10.1.0.3:80", echo)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			for first := true; first || ctx.Err() == nil; first = false {
				conn := p.wire([]string{"10.0.0.1:80", "10.0.0.2:80"}[i%2])
				_, err := io.WriteString(conn, "word")
				assert.NoError(t, err)
				assert.NoError(t, conn.CloseWrite())
				answer, err := io.ReadAll(conn)
				assert.NoError(t, err)
				assert.Equal(t, "word", string(answer))
				assert.NoError(t, conn.Close())
			}
		})
	}
	sets := [][]string{{"10.1.0.1:80", "10.1.0.2:80"}, {"10.1.0.3:80"}, {"10.1.0.2:80", "10.1.0.3:80", "10.1.0.4:80"}, {"10.1.0.1:80"}}
	for i := range 100 {
		p.behind("web", sets[i%len(sets)]...)
		_, err := p.client.Services().Change(t.Context(), "web", func(service *corev1.Service) error {
			service.Spec.SessionAffinity = []corev1.ServiceAffinity{corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP}[i%2]
			return nil
		})
		require.NoError(t, err)
	}
	stop()
	clients.Wait()
}

func TestAClientWithAffinityStaysWithItsEndpoint(t *testing.T) {
	t.Parallel()
	p := onWire(t, named("10.1.0.1:80"))
	p.backends("10.1.0.2:80")
	p.behind("web", "10.1.0.1:80", "10.1.0.2:80")
	p.await(func() bool { // it takes turns
		answers := p.asks("10.0.0.1:80", "10.0.0.1:80")
		return answers[0] != answers[1]
	})
	_, err := p.client.Services().Change(t.Context(), "web", func(service *corev1.Service) error {
		service.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		return nil
	})
	require.NoError(t, err)
	p.await(func() bool {
		answers := p.asks("10.0.0.1:80", "10.0.0.2:80", "10.0.0.1:80", "10.0.0.1:80")
		return answers[0] == answers[1] && answers[1] == answers[2] && answers[2] == answers[3]
	})
}
