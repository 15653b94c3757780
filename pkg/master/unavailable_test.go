package master

import (
	"bufio"
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/etcd"
	"kube2014/pkg/options"
	genericoptions "kube2014/pkg/server/options"
)

// hangs is how long nothing happens until it is taken for an error.
const hangs = 5 * time.Minute

// soon returns what another goroutine sends.
func soon[T any](t *testing.T, from <-chan T, what string) (sent T) {
	t.Helper()
	select {
	case sent = <-from:
	case <-time.After(hangs):
		require.FailNow(t, what)
	}
	return sent
}

// hangingEtcd accepts connections, and answers nothing until the test ends. It tells the
// first word of what each is asked.
func hangingEtcd(t *testing.T) (url string, asked <-chan string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	words := make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(t.Context(), func() { _ = conn.Close() }) // nobody waits for it any more
			go func() {
				if word, err := bufio.NewReader(conn).ReadString(' '); err == nil {
					words <- word
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String(), words
}

// The calls of this test would wait longer than the test does.
func TestAnEtcdThatHangsHoldsUpNeitherTheStartNorTheEnd(t *testing.T) {
	t.Parallel()
	url, asked := hangingEtcd(t)
	o := options.New()
	o.Etcd.Servers = []string{url}
	v2, err := etcd.NewClient(o.Etcd.Config)
	require.NoError(t, err)
	v2.SetTimeout(10 * hangs)
	v3, err := etcd.NewV3(o.Etcd.Config)
	require.NoError(t, err)
	v3.SetTimeout(10 * hangs)
	config := NewConfig("")
	stores := onEtcd{config, o, New(config, o, nil).Decorators(), v2, v3}.late("")
	words := []string{soon(t, asked, "it is asked"), soon(t, asked, "both APIs are asked at once")}
	slices.Sort(words)
	assert.Equal(t, []string{"GET ", "PRI "}, words)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		stores.Close()
	}()
	soon(t, closed, "the end waits for the etcd")
	_, err = v3.Do(t.Context(), clientv3.OpGet("/registry"))
	assert.ErrorContains(t, err, "closed")
}

func TestAnEtcdIsAskedAgainUntilItIsClearWhichAPIToUse(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"it does not answer":        errors.New("refused"),
		"it refuses the user":       &etcd.UnusableError{URL: "http://x:1", Why: "does not know the user"},
		"both of its APIs are used": inDoubt("the etcd holds objects for etcd2 and for etcd3"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start, asked := time.Now(), 0
				opened := await(t.Context(), "", func(context.Context) (string, error) {
					if asked++; asked < 4 {
						return "", err
					}
					return genericoptions.Etcd2, nil
				}, func(backend string) Registries { return Registries{Name: backend} })
				assert.Equal(t, 3*syncPause, time.Since(start))
				assert.Equal(t, genericoptions.Etcd2, opened.Name)
			})
		})
	}
}

func TestNothingIsChosenAfterTheEnd(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"while it is asked": nil, "between two questions": inDoubt("it holds objects for both")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				awaited := make(chan *Registries)
				go func() {
					awaited <- await(ctx, "", func(ctx context.Context) (string, error) {
						if err != nil {
							return "", err
						}
						<-ctx.Done()
						return "", ctx.Err()
					}, func(string) Registries { panic("nothing is opened") })
				}()
				synctest.Wait()
				start := time.Now()
				end()
				assert.Nil(t, <-awaited)
				assert.Equal(t, start, time.Now())
			})
		})
	}
}
