package proxy

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/master/servertest"
)

// K71.
func TestConnectionsGoToTheEndpointsInTurnWhicheverMachineIsAsked(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		p.serve("web", 80)
		p.behind("web", "10.1.0.2:8080", "10.1.0.1:8080", "10.1.0.3:8081")
		p.backends("10.1.0.1:8080", "10.1.0.2:8080", "10.1.0.3:8081")
		synctest.Wait()
		assert.Equal(t, []string{"10.1.0.1:8080", "10.1.0.2:8080", "10.1.0.3:8081", "10.1.0.1:8080"},
			p.asks("10.0.0.1:80", "10.0.0.2:80", "10.0.0.2:80", "10.0.0.1:80"))
		assert.Empty(t, p.events.taken())
	})
}

func TestAnEndpointThatRefusesIsPassedOver(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		p.serve("web", 80)
		p.behind("web", "10.1.0.1:80", "10.1.0.2:80", "10.1.0.3:80")
		p.backends("10.1.0.2:80", "10.1.0.3:80")
		synctest.Wait()
		assert.Equal(t, []string{"10.1.0.2:80", "10.1.0.3:80", "10.1.0.2:80"}, p.asks("10.0.0.1:80", "10.0.0.1:80", "10.0.0.1:80"), "the others share what is to do")
	})
}

func TestAnEndpointThatIsSilentIsPassedOverAfterTheDialTimeout(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		p.serve("web", 80)
		p.behind("web", "10.1.0.1:80", "10.1.0.2:80")
		silent, err := p.Listen("tcp", "10.1.0.1:80")
		require.NoError(t, err)
		defer silent.Close()
		p.backends("10.1.0.2:80")
		synctest.Wait()
		began := time.Now()
		assert.Equal(t, []string{"10.1.0.2:80"}, p.asks("10.0.0.1:80"))
		assert.Equal(t, 2*time.Second, time.Since(began))
	}, func(config *Config) { config.DialTimeout = 2 * time.Second })
}

func TestEachEndpointIsDialedOnceAtMost(t *testing.T) {
	t.Parallel()
	var dialed atomic.Int64
	inBubble(t, func(t *testing.T, p *proxied) {
		p.serve("web", 80)
		p.behind("web", "10.1.0.1:80", "10.1.0.2:80")
		synctest.Wait()
		answer, err := p.ask("10.0.0.1:80")
		assert.NoError(t, err, "in memory nothing is reset")
		assert.Empty(t, answer)
		assert.EqualValues(t, 2, dialed.Load())
	}, func(config *Config) {
		dial := config.Dial
		config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			dialed.Add(1)
			return dial(ctx, network, address)
		}
	})
}

func TestAConnectionIsNotSentAroundInCircles(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		p.serve("web", 80)
		p.behind("web", "10.0.0.1:80", "10.0.0.2:80", "10.1.0.1:80")
		p.backends("10.1.0.1:80")
		synctest.Wait()
		assert.Equal(t, []string{"10.1.0.1:80", "10.1.0.1:80"}, p.asks("10.0.0.1:80", "10.0.0.2:80"))
	})
}

func TestListenersComeAndGoWithTheirServices(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		p.serve("web", 80, 443)
		synctest.Wait()
		assert.True(t, p.listens("10.0.0.1:80") && p.listens("10.0.0.2:80") && p.listens("10.0.0.2:443"))

		_, err := p.client.Services().Change(t.Context(), "web", func(service *corev1.Service) error {
			service.Spec.Ports[0].Port = 81
			return nil
		})
		require.NoError(t, err)
		synctest.Wait()
		assert.False(t, p.listens("10.0.0.1:80") || p.listens("10.0.0.2:80"))
		assert.True(t, p.listens("10.0.0.1:81") && p.listens("10.0.0.2:81") && p.listens("10.0.0.1:443"))

		require.NoError(t, p.client.Services().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		synctest.Wait()
		assert.Empty(t, p.dials)
	})
}

// echo answers what it is asked.
func echo(conn net.Conn) { _, _ = io.Copy(conn, conn) }

// say sends a word and expects it back.
func say(t *testing.T, conn net.Conn, word string) {
	t.Helper()
	_, err := io.WriteString(conn, word)
	require.NoError(t, err)
	answer := make([]byte, len(word))
	_, err = io.ReadFull(conn, answer)
	require.NoError(t, err)
	assert.Equal(t, word, string(answer))
}

func TestAConnectionGoesOnWhenItsServiceIsGone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		p.serve("web", 80)
		p.behind("web", "10.1.0.1:80")
		p.backend("10.1.0.1:80", echo)
		synctest.Wait()
		conn := p.dial("10.0.0.1:80")
		say(t, conn, "before")
		require.NoError(t, p.client.Services().Delete(t.Context(), "web", metav1.DeleteOptions{}))
		synctest.Wait()
		assert.False(t, p.listens("10.0.0.1:80"))
		say(t, conn, "after")
		require.NoError(t, conn.Close())
	})
}

func TestConnectionsAreCutSomeTimeAfterTheProxyIsToEnd(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		p.serve("web", 80)
		p.behind("web", "10.1.0.1:80")
		p.backend("10.1.0.1:80", echo)
		synctest.Wait()
		conn := p.dial("10.0.0.1:80")
		say(t, conn, "before")
		p.end()
		synctest.Wait()
		assert.False(t, p.listens("10.0.0.1:80"))
		say(t, conn, "meanwhile")
		began := time.Now()
		p.stop()
		assert.Equal(t, 4*time.Second, time.Since(began))
		_, err := conn.Read(make([]byte, 1))
		assert.ErrorIs(t, err, io.EOF)
	}, func(config *Config) { config.DrainTimeout = 4 * time.Second })
}

func TestAProxyThatIsToEndWhileItDialsEnds(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		p.serve("web", 80)
		p.behind("web", "10.1.0.1:80")
		silent, err := p.Listen("tcp", "10.1.0.1:80")
		require.NoError(t, err)
		defer silent.Close()
		synctest.Wait()
		p.dial("10.0.0.1:80")
		began := time.Now()
		p.stop()
		assert.Equal(t, defaultDrainTimeout, time.Since(began))
	}, func(config *Config) { config.DialTimeout = time.Hour })
}

// K71.
func TestOfTwoServicesWithOnePortTheOlderOneHasIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		p.backends("10.1.0.1:80", "10.1.0.2:80")
		p.serve("old", 80)
		p.behind("old", "10.1.0.1:80")
		time.Sleep(time.Second)
		p.serve("a-new-one", 80)
		p.behind("a-new-one", "10.1.0.2:80")
		time.Sleep(time.Minute) // resyncs do not tell it again
		assert.Equal(t, []string{"10.1.0.1:80"}, p.asks("10.0.0.1:80"))
		assert.Equal(t, []string{"a-new-one: Warning PortAlreadyAllocated: port 80 is served for the older service default/old"}, p.events.taken())

		require.NoError(t, p.client.Services().Delete(t.Context(), "old", metav1.DeleteOptions{}))
		synctest.Wait()
		assert.Equal(t, []string{"10.1.0.2:80"}, p.asks("10.0.0.1:80"))
		assert.Empty(t, p.events.taken())
	})
}

func TestAPortThatIsTakenIsTriedAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		other, err := p.Listen("tcp", "10.0.0.1:80")
		require.NoError(t, err)
		p.serve("web", 80)
		p.behind("web", "10.1.0.1:80")
		p.backends("10.1.0.1:80")
		time.Sleep(10 * time.Minute)
		assert.Equal(t, []string{"web: Warning FailedToListen: listen 10.0.0.1:80: address already in use"}, p.events.taken())
		assert.Equal(t, []string{"10.1.0.1:80"}, p.asks("10.0.0.2:80"), "the other machine's is free")
		require.NoError(t, other.Close())
		time.Sleep(maxPause)
		assert.Equal(t, []string{"10.1.0.1:80"}, p.asks("10.0.0.1:80"))
	})
}

// K71.
func TestConnectionsBeyondTheLimitWait(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		p.serve("web", 80)
		p.behind("web", "10.1.0.1:80")
		p.backend("10.1.0.1:80", echo)
		synctest.Wait()
		first, second := p.dial("10.0.0.1:80"), p.dial("10.0.0.1:80")
		third := make(chan net.Conn)
		go func() { third <- p.dial("10.0.0.1:80") }()
		say(t, first, "first")
		say(t, second, "second")
		synctest.Wait()
		assert.Empty(t, third)
		say(t, p.dial("10.0.0.2:80"), "each machine has its own limit")
		require.NoError(t, first.Close())
		say(t, <-third, "third")
	}, func(config *Config) { config.MaxConnections = 2 })
}

// failing is a listener of which some calls of Accept fail.
type failing struct {
	net.Listener
	failures *atomic.Int64 // that are left
	err      error
}

func (f failing) Accept() (net.Conn, error) {
	if f.failures.Add(-1) >= 0 {
		return nil, f.err
	}
	return f.Listener.Accept()
}

func TestAListenerThatFailsGoesOnAfterAPause(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"no file descriptors": syscall.EMFILE, "somebody has closed it": net.ErrClosed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failures, listened atomic.Int64
			failures.Store(60)
			inBubble(t, func(t *testing.T, p *proxied) {
				p.serve("web", 80)
				p.behind("web", "10.1.0.1:80")
				p.backends("10.1.0.1:80")
				time.Sleep(time.Second)
				assert.Positive(t, failures.Load(), "it does not ask without a pause")
				time.Sleep(time.Minute)
				assert.Equal(t, []string{"10.1.0.1:80"}, p.asks("10.0.0.1:80"))
				assert.Equal(t, err == net.ErrClosed, listened.Load() > 2)
			}, func(config *Config) {
				listen := config.Listen
				config.Listen = func(network, address string) (net.Listener, error) {
					listened.Add(1)
					listener, listenErr := listen(network, address)
					return failing{listener, &failures, err}, listenErr
				}
			})
		})
	}
}

func TestAProxyServesWhatItKnowsWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, p *proxied) {
		p.backends("10.1.0.1:80", "10.1.0.2:80")
		p.serve("web", 80)
		p.behind("web", "10.1.0.1:80")
		synctest.Wait()
		p.server.Stop()
		time.Sleep(time.Hour)
		assert.Equal(t, []string{"10.1.0.1:80"}, p.asks("10.0.0.1:80"))
		p.server.Restart()
		p.behind("web", "10.1.0.2:80")
		p.serve("other", 81)
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"10.1.0.2:80"}, p.asks("10.0.0.1:80"))
		assert.True(t, p.listens("10.0.0.1:81"))
	})
}

func TestAProxyListensNowhereBeforeTheServerHasAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		client := server.Client(t, "proxy")
		_, err := client.Services().Create(t.Context(), service("web", 80))
		require.NoError(t, err)
		server.Stop()
		n, known := inMemory(), informers.New(client, 0)
		proxy := New(Config{Informers: known, Recorder: &events{}, Addresses: []string{"10.0.0.1"}, Listen: n.Listen, Dial: n.Dial})
		ctx, cancel := context.WithCancel(t.Context())
		known.Run(ctx)
		var running sync.WaitGroup
		running.Go(func() { proxy.Run(ctx) })
		time.Sleep(time.Hour)
		assert.False(t, n.listens("10.0.0.1:80"))
		server.Restart()
		time.Sleep(time.Minute)
		assert.True(t, n.listens("10.0.0.1:80"))
		server.Stop()
		cancel()
		running.Wait()
		assert.False(t, n.listens("10.0.0.1:80"))
	})
}

func TestAProxyThatNeverHearsFromTheServerEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		server.Stop()
		known := informers.New(server.Client(t, "proxy"), 0)
		proxy := New(Config{Informers: known, Recorder: &events{}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		known.Run(ctx)
		proxy.Run(ctx)
		assert.Error(t, ctx.Err())
	})
}
