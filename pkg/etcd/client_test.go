package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/util/loopback"
)

var _ etcdtest.Client = (*Client)(nil)

func realEtcd(t *testing.T, flags ...string) *etcdtest.Server {
	server, err := etcdtest.Start(t.TempDir(), flags...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Kill()) })
	return server
}

// newClient is a client of members that answer.
func newClient(t *testing.T, servers ...string) *Client {
	client, err := New(servers)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	client.SetTimeout(10 * time.Minute) // nobody hangs here, however slow the machine is
	return client
}

func requireCode(t *testing.T, code int, err error) {
	t.Helper()
	var refused *etcd.EtcdError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.ErrorCode)
}

func TestServersAreURLs(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"http://127.0.0.1:4001":     "http://127.0.0.1:4001",
		"http://127.0.0.1:4001/":    "http://127.0.0.1:4001",
		"https://etcd.example:2379": "https://etcd.example:2379",
		"http://[::1]:4001":         "http://[::1]:4001",
	} {
		got, err := parseServer(given)
		require.NoError(t, err, given)
		assert.Equal(t, want, got)
	}
	for _, bad := range []string{"", "127.0.0.1:4001", "http://", "ftp://x:1", "http://x:1/v2/keys", "http://x:y", "http://x:1?a=b", "http://x:99999", "http://x\n:1"} {
		_, err := New([]string{"http://127.0.0.1:4001", bad})
		assert.ErrorContains(t, err, "is not a URL like http://127.0.0.1:4001", bad)
	}
	_, err := New(nil)
	assert.Error(t, err)
}

// A password in a URL is not shown, wherever in the list it is. A comma in it must
// not show a part of it.
func TestAPasswordInAURLIsNotShown(t *testing.T) {
	t.Parallel()
	for _, servers := range [][]string{
		{"http://u:secret@x:1"}, {"http://x:1", "http://u:secret@x:1"}, {"http://u:secret", "comma@x:1"}, {"u:secret@x"}, {"http://u:secret@%zz"},
		{"http://u:secret%40x:1"},
	} {
		_, err := New(servers)
		assert.ErrorContains(t, err, "a user or a password in a URL is not supported")
		assert.NotContains(t, err.Error(), "secret")
	}
}

func TestAKeyEndsInTheFakeAsInARealEtcd(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, client etcdtest.Client, wait func()) {
		first, err := client.Create("/x", "1", 3600)
		require.NoError(t, err)
		_, err = client.CompareAndSwap("/x", "2", 1, "", first.Node.ModifiedIndex)
		require.NoError(t, err)
		_, err = client.Set("/y", "1", 1)
		require.NoError(t, err)
		last, err := client.Set("/y", "1", 0)
		require.NoError(t, err)
		wait()
		index := last.Node.ModifiedIndex + 1
		ended, err := client.Watch("/", index, true, nil, nil)
		require.NoError(t, err)
		assert.Equal(t, []any{"expire", "/x", index, first.Node.CreatedIndex, "2"},
			[]any{ended.Action, ended.Node.Key, ended.Node.ModifiedIndex, ended.Node.CreatedIndex, ended.PrevNode.Value})
		resp, err := client.Get("/", true, true)
		require.NoError(t, err)
		require.Len(t, resp.Node.Nodes, 1)
		assert.Equal(t, "/y", resp.Node.Nodes[0].Key)
	}
	check(t, newClient(t, realEtcd(t).URL), func() {})
	synctest.Test(t, func(t *testing.T) {
		fake := etcdtest.NewFake()
		check(t, fake, func() {
			time.Sleep(time.Second)
			_, err := fake.Get("/x", false, false)
			assert.Error(t, err)
		})
	})
}

// The fake answers like a real etcd, so tests can use it instead.
func TestTheFakeEtcdAgreesWithARealOne(t *testing.T) {
	t.Parallel()
	clients := map[string]etcdtest.Client{"fake": etcdtest.NewFake(), "real": newClient(t, realEtcd(t).URL)}
	told := map[string][]string{}
	for name, client := range clients {
		var index uint64 // of the last write
		tell := func(resp *etcd.Response, err error) {
			var refused *etcd.EtcdError
			switch {
			case errors.As(err, &refused):
				told[name] = append(told[name], fmt.Sprint(refused.ErrorCode, " ", refused.Message))
			case err != nil:
				told[name] = append(told[name], err.Error())
			default:
				if resp.Action != "get" {
					index = resp.Node.ModifiedIndex
				}
				line := resp.Action
				var walk func(node *etcd.Node)
				walk = func(node *etcd.Node) {
					if len(node.Nodes) > 0 || !node.Dir { // a real one keeps empty directories
						line += fmt.Sprintf(" %s=%q", node.Key, node.Value)
					}
					for _, below := range node.Nodes {
						walk(below)
					}
				}
				walk(resp.Node)
				if resp.PrevNode != nil && resp.Action != "compareAndSwap" { // the real one is asked to leave it out
					line += " was " + resp.PrevNode.Value
				}
				told[name] = append(told[name], line)
			}
		}
		tell(client.Get("/a/nope", true, true))
		tell(client.Create("/a/z", "1", 0))
		tell(client.Create("/a/z", "2", 0))
		tell(client.Create("/a", "2", 0))
		tell(client.Set("/a/b/c", "<&>", 0))
		tell(client.Set("/a/b", "dir", 0))
		tell(client.Set("/a/z/below", "file", 0))
		tell(client.Set("/a/_hidden/x", "h", 0))
		tell(client.Get("/a", true, true))
		tell(client.Get("/a", true, false))
		tell(client.Get("/a/_hidden", true, true))
		tell(client.Get("/a/z", false, false))
		tell(client.Set("/a/z", "3", 0))
		tell(client.Get("/a/z/below", false, false))
		tell(client.Set("/a/z/below", "1", 0))
		tell(client.CompareAndSwap("/a/z/below", "1", 0, "2", 0))
		tell(client.CompareAndDelete("/a/z/below", "2", 0))
		tell(client.Delete("/a/z/below", true))
		tell(client.CompareAndSwap("/a/z", "4", 0, "", index))
		tell(client.CompareAndSwap("/a/z", "5", 0, "", index-1))
		tell(client.CompareAndSwap("/a/z", "6", 0, "4", 0))
		tell(client.CompareAndSwap("/a/z", "7", 0, "4", 0))
		tell(client.CompareAndSwap("/a/nope", "7", 0, "4", 0))
		tell(client.CompareAndSwap("/a/b", "7", 0, "4", 0))
		tell(client.CompareAndSwap("/a/z", "7", 0, "", 0))
		tell(client.CompareAndDelete("/a/z", "", index-1))
		tell(client.CompareAndDelete("/a/z", "x", 0))
		tell(client.CompareAndDelete("/a/z", "6", index))
		tell(client.CompareAndDelete("/a/z", "6", 0))
		tell(client.CompareAndDelete("/a/z", "", 0))
		tell(client.Delete("/a/z", false))
		tell(client.Delete("/a/b", false))
		tell(client.Delete("/a/b", true))
		tell(client.Get("/a/b", true, true))
		tell(client.Delete("/a/_hidden/x", false))
		tell(client.Set("/a/empty", "", 0))
	}
	require.NotEmpty(t, told["real"])
	assert.Equal(t, told["real"], told["fake"])
	_, err := clients["fake"].AddChild("/a", "x", 0)
	assert.Error(t, err)
	_, err = clients["fake"].Watch("/a", 0, true, nil, nil)
	assert.Error(t, err)
}

func TestChildrenAndWatchesOfARealEtcd(t *testing.T) {
	t.Parallel()
	client := newClient(t, realEtcd(t).URL)
	added, err := client.AddChild("/dir", "first", 0)
	require.NoError(t, err)
	seen, err := client.Watch("/dir", added.Node.ModifiedIndex, true, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "first", seen.Node.Value)
	assert.NoError(t, client.CheckKey("/"))
}

// downURL is a URL that refuses connections.
func downURL(t *testing.T) string {
	address, free, err := etcdtest.Refusing()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, free()) })
	return "http://" + address
}

// server is an etcd member made of a handler.
func server(t *testing.T, handler http.HandlerFunc) string {
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

const aNode = `{"action":"get","node":{"key":"/x","value":"1","modifiedIndex":7,"createdIndex":7}}`

// After a connection error a write is not sent again; a read goes to the next
// member.
func TestD45AWriteIsSentOnceAndAReadUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]http.HandlerFunc{
		"the connection breaks": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"the answer breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "999")
			answer(w, 200, aNode)
		},
		"there is no leader": func(w http.ResponseWriter, _ *http.Request) {
			answer(w, 500, `{"errorCode":300,"message":"Raft Internal Error","cause":"timed out"}`)
		},
		"a proxy answers instead": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) },
		"an error without a code": func(w http.ResponseWriter, _ *http.Request) { answer(w, 503, `{}`) },
		"a redirect to nowhere":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(307) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked, askedNext atomic.Int32
			client := newClient(t, server(t, func(w http.ResponseWriter, req *http.Request) { asked.Add(1); broken(w, req) }),
				server(t, func(w http.ResponseWriter, _ *http.Request) { askedNext.Add(1); answer(w, 200, aNode) }))
			writes := map[string]func() (*etcd.Response, error){
				"set":                func() (*etcd.Response, error) { return client.Set("/x", "1", 0) },
				"create":             func() (*etcd.Response, error) { return client.Create("/x", "1", 0) },
				"delete":             func() (*etcd.Response, error) { return client.Delete("/x", false) },
				"compare and swap":   func() (*etcd.Response, error) { return client.CompareAndSwap("/x", "1", 0, "", 7) },
				"compare and delete": func() (*etcd.Response, error) { return client.CompareAndDelete("/x", "", 7) },
				"add child":          func() (*etcd.Response, error) { return client.AddChild("/x", "1", 0) },
			}
			for name, write := range writes {
				client.current.Store(0)
				asked.Store(0)
				_, err := write()
				require.Error(t, err, name)
				assert.False(t, decided(err), "%s: nobody knows whether it took effect: %v", name, err)
				assert.EqualValues(t, 1, asked.Load(), name)
				assert.Zero(t, askedNext.Load(), name)
			}
			client.current.Store(0)
			resp, err := client.Get("/x", false, false)
			require.NoError(t, err)
			assert.Equal(t, "1", resp.Node.Value)
			assert.EqualValues(t, 1, askedNext.Load())
			_, err = client.Set("/x", "1", 0)
			assert.NoError(t, err, "the member that answered is asked from now on")
		})
	}
}

func TestAMemberThatIsDownIsPassedOver(t *testing.T) {
	t.Parallel()
	down := downURL(t)
	client := newClient(t, down, server(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, aNode) }))
	for range 3 {
		client.current.Store(0)
		_, err := client.Set("/x", "1", 0)
		require.NoError(t, err, "it cannot have seen the write")
	}
	assert.NoError(t, client.CheckKey("/"))
	alone := newClient(t, down)
	_, err := alone.Set("/x", "1", 0)
	assert.ErrorContains(t, err, "connection refused")
	assert.Error(t, alone.CheckKey("/"))
}

func TestEtcdsOwnAnswersAreFinal(t *testing.T) {
	t.Parallel()
	var askedNext atomic.Int32
	client := newClient(t,
		server(t, func(w http.ResponseWriter, req *http.Request) {
			assert.Equal(t, "true", req.URL.Query().Get("quorum"), "reads see all acknowledged writes")
			answer(w, 404, `{"errorCode":100,"message":"Key not found","cause":"/x","index":7}`)
		}),
		server(t, func(w http.ResponseWriter, _ *http.Request) { askedNext.Add(1); answer(w, 200, aNode) }))
	_, err := client.Get("/x", false, false)
	requireCode(t, etcdtest.KeyNotFound, err)
	assert.Zero(t, askedNext.Load())
}

// inMemory is a cluster of so many members, all played by the handler, and its
// client: in a synctest bubble.
func inMemory(t *testing.T, members int, handler http.HandlerFunc) (client *Client, network *loopback.Listener) {
	network = loopback.Listen()
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(network) }()
	t.Cleanup(func() { assert.NoError(t, server.Close()) })
	var urls []string
	for i := range members {
		urls = append(urls, fmt.Sprintf("http://member%d", i))
	}
	client, err := New(urls)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	client.transport.inner.DialContext = network.DialContext
	return client, network
}

// An etcd that hangs costs a call 2.5 seconds, read or write, one member or three,
// and half a second more if there are members that cannot be connected to.
func TestD45AnEtcdThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	hanging := func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPut { // the head comes, the body does not
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush()
		}
		<-req.Context().Done()
	}
	for name, row := range map[string]struct {
		members, away int
		most          time.Duration
	}{
		"one member":                      {1, 0, 2500 * time.Millisecond},
		"three members":                   {3, 0, 2500 * time.Millisecond},
		"three members, two of them away": {3, 2, 3 * time.Second},
	} {
		for verb, call := range map[string]func(*Client) (*etcd.Response, error){
			"get":    func(client *Client) (*etcd.Response, error) { return client.Get("/x", false, false) },
			"set":    func(client *Client) (*etcd.Response, error) { return client.Set("/x", "1", 0) },
			"delete": func(client *Client) (*etcd.Response, error) { return client.Delete("/x", false) },
		} {
			t.Run(name+", "+verb, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					client, network := inMemory(t, row.members, hanging)
					dials := 0
					client.transport.inner.DialContext = func(context.Context, string, string) (net.Conn, error) {
						if dials++; dials <= row.away {
							time.Sleep(dialTimeout / time.Duration(row.members)) // as net.Dialer would
							return nil, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
						}
						return network.Dial(context.Background())
					}
					start := time.Now()
					_, err := call(client)
					assert.Error(t, err)
					assert.False(t, decided(err))
					assert.LessOrEqual(t, time.Since(start), row.most)
					assert.Greater(t, time.Since(start), row.most/3)
				})
			})
		}
	}
}

// The dialer's timeout is what the test above waits in its stead.
func TestConnectingToAllMembersTakesHalfASecond(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 500*time.Millisecond, dialTimeout)
	assert.Equal(t, dialTimeout/3, newDialer(3).Timeout)
}

func TestTheClientKeepsConnectionsForManyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const clients = 64
		var opened atomic.Int32
		arrived := make(chan struct{}, clients)
		release := make(chan struct{})
		client, network := inMemory(t, 1, func(w http.ResponseWriter, _ *http.Request) {
			arrived <- struct{}{}
			<-release
			answer(w, 200, aNode)
		})
		client.transport.inner.DialContext = func(context.Context, string, string) (net.Conn, error) {
			opened.Add(1)
			return network.Dial(context.Background())
		}
		for range 3 {
			var group sync.WaitGroup
			for range clients {
				group.Go(func() {
					_, err := client.Set("/x", "1", 0)
					assert.NoError(t, err)
				})
			}
			for range clients { // all are in flight at once
				<-arrived
			}
			for range clients {
				release <- struct{}{}
			}
			group.Wait()
		}
		assert.EqualValues(t, clients, opened.Load(), "connections are used again")
	})
}

// docs/etcd.md: a name that begins with _ is hidden from listings, and from a watch
// that waits for what comes; a watch from a past index shows it.
func TestAWatchFromThePastShowsHiddenNames(t *testing.T) {
	t.Parallel()
	client := newClient(t, realEtcd(t).URL)
	first, err := client.Set("/dir/before", "1", 0)
	require.NoError(t, err)
	hidden, err := client.Set("/dir/_hidden/x", "2", 0)
	require.NoError(t, err)
	seen, err := client.Watch("/dir", first.Node.ModifiedIndex+1, true, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "/dir/_hidden/x", seen.Node.Key)
	assert.Equal(t, hidden.Node.ModifiedIndex, seen.Node.ModifiedIndex)

	listed, err := client.Get("/dir", true, true)
	require.NoError(t, err)
	require.Len(t, listed.Node.Nodes, 1)
	assert.Equal(t, "/dir/before", listed.Node.Nodes[0].Key)

	next := make(chan string, 1)
	go func() {
		seen, err := client.Watch("/dir", 0, true, nil, nil)
		if err != nil {
			next <- err.Error()
			return
		}
		next <- seen.Node.Key
	}()
	for { // nobody tells when the watch has begun
		_, err = client.Set("/dir/_hidden/x", "3", 0)
		require.NoError(t, err)
		_, err = client.Set("/dir/shown", "4", 0)
		require.NoError(t, err)
		select {
		case key := <-next:
			assert.Equal(t, "/dir/shown", key)
			return
		default:
		}
	}
}
