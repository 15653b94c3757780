package etcd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"kube2014/pkg/etcd/etcdtest"
)

func TestWhichAPIsAnEtcdServesIsFound(t *testing.T) {
	t.Parallel()
	onlyV2 := func(version string) string {
		return server(t, func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/version" {
				answer(w, 200, version)
				return
			}
			answer(w, 404, `{"errorCode":100,"message":"Key not found"}`)
		})
	}
	etcd23 := onlyV2(`{"etcdserver":"2.3.8","etcdcluster":"2.3.0"}`)
	type row struct {
		url    string
		v2, v3 bool
	}
	rows := map[string]row{
		"0.4": {onlyV2("etcd 0.4.6\n"), true, false},
		"2.0": {onlyV2(`{"releaseVersion":"2.0.13","internalVersion":"2"}`), true, false},
		"2.3": {etcd23, true, false},
	}
	for _, version := range etcdtest.Versions() {
		rows[version] = row{started(t, etcdtest.Setup{Version: version}).URL, version != "3.6", true}
		rows[version+" without v2"] = row{started(t, etcdtest.Setup{Version: version, NoV2: true}).URL, false, true}
	}
	for name, row := range rows {
		for _, servers := range [][]string{{row.url}, {downURL(t), row.url}, {row.url, downURL(t)}} {
			v2, v3 := bothClients(t, Config{Servers: servers})
			hasV2, hasV3, err := Served(t.Context(), v2, v3, "/registry/")
			require.NoError(t, err, name)
			assert.Equal(t, row.v2, hasV2.Served, name)
			assert.Equal(t, row.v3, hasV3.Served, name)
			assert.Equal(t, row.v2, v2.CheckKey("/registry/") == nil, name)
			assert.Equal(t, row.v3, v3.Check(t.Context(), "/registry/") == nil, name)
		}
	}
	var unusable *UnusableError
	require.ErrorAs(t, newV3(t, Config{Servers: []string{etcd23}}).Check(t.Context(), "/registry/"), &unusable)
	assert.Equal(t, "is etcd 2.3.8, which has no v3 API: use -storage_backend etcd2", unusable.Why)
}

func TestWhetherEachAPIHoldsSomethingIsFound(t *testing.T) {
	t.Parallel()
	v2, v3 := bothClients(t, Config{Servers: []string{realEtcd(t).URL}})
	holds := func() [2]bool {
		in2, in3, err := Served(t.Context(), v2, v3, "/registry/")
		require.NoError(t, err)
		return [2]bool{in2.Holds, in3.Holds}
	}
	_, err := v2.Set("/other/x", "1", 0)
	require.NoError(t, err)
	put(t, v3, "/registry-2/x", "1")
	assert.Equal(t, [2]bool{false, false}, holds(), "other keys")
	_, err = v2.Set("/registry/hosts/x", "1", 0)
	require.NoError(t, err)
	assert.Equal(t, [2]bool{true, false}, holds())
	put(t, v3, "/registry/pods/default/x", "1")
	assert.Equal(t, [2]bool{true, true}, holds())
}

// Over TLS, for users only, while one of three members is dead.
func TestWhichAPIsAGuardedClusterServesIsFound(t *testing.T) {
	t.Parallel()
	ours := etcdtest.MakeTLS(t)
	for _, version := range etcdtest.Versions() {
		for _, noV2 := range []bool{false, true} {
			t.Run(fmt.Sprint(version, ", without v2: ", noV2), func(t *testing.T) {
				t.Parallel()
				setup := etcdtest.Setup{Version: version, Members: 3, NoV2: noV2, TLS: ours, ClientCerts: true, Flags: []string{"--bcrypt-cost", "4"}}
				members, err := setup.Start(t.TempDir())
				require.NoError(t, err)
				var urls []string
				for _, member := range members {
					t.Cleanup(func() { assert.NoError(t, member.Kill()) })
					urls = append(urls, member.URL)
				}
				require.NoError(t, members[0].AddUser("someone", "else", "/registry/"))
				require.NoError(t, members[0].EnableAuth("secret"))
				require.NoError(t, members[1].Kill())
				for first := range urls {
					v2, v3 := bothClients(t, Config{Servers: slices.Concat(urls[first:], urls[:first]),
						CAFile: ours.CAFile, CertFile: ours.CertFile, KeyFile: ours.KeyFile, Username: "someone", Password: "else"})
					hasV2, hasV3, err := Served(t.Context(), v2, v3, "/registry/")
					for late := time.Now().Add(time.Minute); err != nil && time.Now().Before(late); { // the others elect a leader
						hasV2, hasV3, err = Served(t.Context(), v2, v3, "/registry/")
					}
					require.NoError(t, err)
					assert.Equal(t, !noV2 && version != "3.6", hasV2.Served)
					assert.True(t, hasV3.Served)
				}
			})
		}
	}
}

func TestWhatServesNoneOfTheTwoIsNamed(t *testing.T) {
	t.Parallel()
	real := realEtcd(t)
	page := server(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>hello</html>") })
	for given, says := range map[string]string{
		page:             "is no etcd: it answers 200 to GET /v2/keys/",
		peerURL(t, real): "is a peer port of etcd, for its members only: name a client port",
		strings.Replace(real.URL, "http:", "https:", 1): "serves http, not https",
	} {
		v2, v3 := bothClients(t, Config{Servers: []string{downURL(t), given}})
		_, _, err := Served(t.Context(), v2, v3, "/registry/")
		want := &UnusableError{URL: given, Why: says}
		assert.Equal(t, want, err)
		if !strings.Contains(says, "peer port") { // that serves the v3 API too
			assert.Equal(t, want, v3.Check(t.Context(), "/registry/"))
		}
	}
}

// withV3 is a member whose v3 API answers. The handler answers all else.
func withV3(t *testing.T, handler http.HandlerFunc) (url string) {
	member := grpc.NewServer()
	etcdserverpb.RegisterKVServer(member, &playedMember{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ProtoMajor == 2 {
			member.ServeHTTP(w, req)
			return
		}
		handler(w, req)
	}))
	s.Config.Protocols = &http.Protocols{}
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	return s.URL
}

// at answers at a path, and elsewhere with the page of what is not found.
func at(path string, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasPrefix(req.URL.Path, path) {
			http.NotFound(w, req)
			return
		}
		handler(w, req)
	}
}

func breaksOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func keyNotFound(w http.ResponseWriter, _ *http.Request) {
	answer(w, 404, `{"errorCode":100,"message":"Key not found"}`)
}

func requireUndecided(t *testing.T, v2 *Client, v3 *V3) error {
	t.Helper()
	hasV2, hasV3, err := Served(t.Context(), v2, v3, "/registry/")
	var unusable *UnusableError
	require.Error(t, err)
	require.NotErrorAs(t, err, &unusable)
	require.False(t, hasV2.Served || hasV3.Served)
	return err
}

// The other API may only be slower to begin, or not be reached just now.
func TestAnEtcdOfWhichOneAPIAnswersIsNotTakenForOneThatLacksTheOther(t *testing.T) {
	t.Parallel()
	version := func(handler http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/version" {
				handler(w, req)
				return
			}
			keyNotFound(w, req)
		}
	}
	sends := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, text)
		}
	}
	for name, row := range map[string]struct {
		url, uncertain string
	}{
		"v2 breaks off": {withV3(t, at("/v2/keys/", breaksOff)), "v2"},
		"v2 is reset": {withV3(t, at("/v2/keys/", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if assert.NoError(t, err) {
				assert.NoError(t, conn.(*net.TCPConn).SetLinger(0))
				assert.NoError(t, conn.Close())
			}
		})), "v2"},
		"v2 is a page of a proxy":    {withV3(t, at("/v2/keys/", sends(502, "<html>Bad Gateway</html>"))), "v2"},
		"v2 is what a proxy forbids": {withV3(t, at("/v2/keys/", sends(403, ""))), "v2"},
		"v2 answers a moment later": {withV3(t, func(w http.ResponseWriter, req *http.Request) {
			if strings.HasPrefix(req.URL.Path, "/v2/keys/registry") { // the call; the next question is not about this key
				breaksOff(w, req)
			}
			keyNotFound(w, req)
		}), "v2"},
		"v3 does not answer yet":         {server(t, version(sends(200, `{"etcdserver":"3.5.35","etcdcluster":"3.5.0"}`))), "v3"},
		"v3 does not, and no version":    {server(t, version(sends(503, "Service Unavailable"))), "v3"},
		"v3 does not, and half of one":   {server(t, version(sends(200, `{"etcdserver":"2.`))), "v3"},
		"v3 does not, and what breaks":   {server(t, version(breaksOff)), "v3"},
		"v3 does not, and a page for it": {server(t, version(sends(200, "<html>hello</html>"))), "v3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, servers := range [][]string{{row.url}, {downURL(t), row.url}, {row.url, downURL(t)}} {
				v2, v3 := bothClients(t, Config{Servers: servers})
				err := requireUndecided(t, v2, v3)
				assert.ErrorContains(t, err, "it is not certain whether the "+row.uncertain+" API is served (-storage_backend says which one to use): ")
			}
		})
	}
	v2, v3 := bothClients(t, Config{Servers: []string{downURL(t)}})
	requireUndecided(t, v2, v3)
	hangs := func(http.ResponseWriter, *http.Request) { <-t.Context().Done() }
	v2, v3 = bothClients(t, Config{Servers: []string{server(t, version(hangs))}})
	v3.SetTimeout(time.Millisecond) // it would not answer, the version neither
	requireUndecided(t, v2, v3)
}

// The call through v2 is to where nobody listens: one to the etcd would have been too early.
func TestAnEtcdThatBeginsToListenBetweenTwoCallsIsNotDecided(t *testing.T) {
	t.Parallel()
	url := realEtcd(t).URL
	early, v3 := newClient(t, downURL(t)), newV3(t, Config{Servers: []string{url}})
	requireUndecided(t, early, v3)
	v2 := newClient(t, url)
	hasV2, hasV3, err := Served(t.Context(), v2, v3, "/registry/")
	require.NoError(t, err)
	assert.True(t, hasV2.Served && hasV3.Served)
}

// hanging accepts connections, and answers nothing until the test ends. It tells the first
// line of what each is asked.
func hanging(t *testing.T) (url string, asked <-chan string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	lines := make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(t.Context(), func() { _ = conn.Close() })
			go func() {
				line, _, err := bufio.NewReader(conn).ReadLine()
				if err == nil {
					lines <- string(line)
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String(), lines
}

func TestAnEtcdThatHangsIsAskedForBothAPIsAtOnceUntilNobodyWaits(t *testing.T) {
	t.Parallel()
	url, asked := hanging(t)
	v2, v3 := bothClients(t, Config{Servers: []string{url}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := Served(ctx, v2, v3, "/registry/")
		ended <- err
	}()
	lines := []string{<-asked, <-asked}
	slices.Sort(lines)
	assert.Contains(t, lines[0], "GET /v2/keys/registry")
	assert.Equal(t, "PRI * HTTP/2.0", lines[1])
	cancel()
	assert.ErrorIs(t, <-ended, context.Canceled)
}

// What hangs has had its time when both calls have: it is not asked what it is.
func TestAnEtcdThatHangsIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	url, asked := hanging(t)
	v2, v3 := bothClients(t, Config{Servers: []string{url}})
	v2.SetTimeout(100 * time.Millisecond)
	v3.SetTimeout(time.Millisecond)
	requireUndecided(t, v2, v3)
	var calls int
	for range len(asked) {
		if strings.HasPrefix(<-asked, "GET ") {
			calls++
		}
	}
	assert.LessOrEqual(t, calls, 1)
}

func TestProgressIsAskedForOnlyWhereItsAnswerCanBeTrusted(t *testing.T) {
	t.Parallel()
	for version, trusted := range map[string]bool{
		"3.3.27": false, "3.4.13": false, "3.4.23": false, "3.4.30": false, "3.4.31": true, "3.4.40": true,
		"3.5.0": false, "3.5.12": false, "3.5.13": true, "3.5.35": true, "3.6.0": true, "3.6.0-rc.1": true, "3.7.0": true, "4.0.0": true,
		"2.3.8": false, "": false, "unknown": false, "3.5": false,
	} {
		assert.Equal(t, trusted, progressInOrder(version), version)
	}
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			client := newV3(t, Config{Servers: []string{started(t, etcdtest.Setup{Version: version}).URL}})
			revision := put(t, client, "/dir/a", "1")
			events, progress := client.Watch(t.Context(), "/dir/", 0)
			others, _ := client.Watch(t.Context(), "/dir/", revision)
			err := progress(t.Context())
			if version == "3.4" {
				require.ErrorIs(t, err, ErrEarlyProgress)
				assert.ErrorContains(t, err, `: it is version "3.4.`)
				return
			}
			require.NoError(t, err)
			resp := <-events
			require.NoError(t, resp.Err())
			assert.True(t, resp.IsProgressNotify())
			assert.Equal(t, revision, resp.Header.Revision)
			put(t, client, "/dir/b", "2")
			assert.Equal(t, []string{"/dir/a", "/dir/b"}, keysOf(t, others, 2), "it is not told how far the other is")
		})
	}
}
