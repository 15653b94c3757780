package etcd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/etcd/etcdtest"
)

var _ etcdtest.Client = (*Client)(nil)

func realEtcd(t *testing.T, flags ...string) *etcdtest.Server {
	server, err := etcdtest.Start(t.TempDir(), flags...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Kill()) })
	return server
}

func newClient(t *testing.T, servers ...string) *Client {
	client, err := New(servers)
	require.NoError(t, err)
	t.Cleanup(client.Close)
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

// A password in a URL is not shown, wherever in the list it is, and not even the
// part of it that looks like a URL of its own because of a comma.
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

// The fake answers as the real one does: what is tested on it holds.
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
	assert.NoError(t, client.Check())
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

// What goes wrong on the way does not send a write twice; a read goes on to the
// next member.
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
	down, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	down.Close()
	client := newClient(t, "http://"+down.Addr().String(), server(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, aNode) }))
	for range 3 {
		client.current.Store(0)
		_, err := client.Set("/x", "1", 0)
		require.NoError(t, err, "it cannot have seen the write")
	}
	assert.NoError(t, client.Check())
	alone := newClient(t, "http://"+down.Addr().String())
	_, err = alone.Set("/x", "1", 0)
	assert.ErrorContains(t, err, "connection refused")
	assert.Error(t, alone.Check())
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

// An etcd that hangs costs a call at most 3 seconds, read or write, one member or
// three.
func TestD45AnEtcdThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	hanging := func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPut { // drips: the head comes, the body does not
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush()
		}
		<-release
	}
	one := newClient(t, server(t, hanging))
	three := newClient(t, server(t, hanging), server(t, hanging), server(t, hanging))
	t.Cleanup(func() { close(release) }) // before the servers close
	var group sync.WaitGroup
	for name, client := range map[string]*Client{"one member": one, "three members": three} {
		for range 8 {
			for _, call := range []func() (*etcd.Response, error){
				func() (*etcd.Response, error) { return client.Get("/x", false, false) },
				func() (*etcd.Response, error) { return client.Set("/x", "1", 0) },
				func() (*etcd.Response, error) { return client.Delete("/x", false) },
			} {
				group.Go(func() {
					start := time.Now()
					_, err := call()
					assert.Error(t, err, name)
					assert.False(t, decided(err), name)
					assert.Less(t, time.Since(start), 3*time.Second, name)
				})
			}
		}
	}
	group.Wait()
}

func TestTheClientKeepsConnectionsForManyRequestsAtOnce(t *testing.T) {
	t.Parallel()
	const clients = 64
	var opened atomic.Int32
	arrived := make(chan struct{}, clients)
	release := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		answer(w, 200, aNode)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	client := newClient(t, s.URL)
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
	assert.LessOrEqual(t, opened.Load(), int32(clients+clients/4), "connections are used again")
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
