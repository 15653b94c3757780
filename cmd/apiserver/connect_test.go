package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// behind is a cluster with a node, whose kubelet and web server are functions, and the pod web on it.
type behind struct {
	*bubbleCluster
	servers []*http.Server
}

// at serves an address of the cluster's network.
func (b *behind) at(address string, handler http.HandlerFunc) {
	listener, err := b.network.Listen("tcp", address)
	require.NoError(b.t, err)
	server := &http.Server{Handler: handler}
	b.servers = append(b.servers, server)
	go func() { _ = server.Serve(listener) }()
}

// inFront runs a test with a cluster. The kubelet may be nil: nobody listens.
func inFront(t *testing.T, kubelet http.HandlerFunc, test func(t *testing.T, b *behind)) {
	synctest.Test(t, func(t *testing.T) {
		b := &behind{bubbleCluster: startCluster(t, "-run apiserver,kubelet -machines 127.0.0.1 -scheduler none")}
		t.Cleanup(func() {
			for _, server := range b.servers {
				assert.NoError(t, server.Close())
			}
		})
		if kubelet != nil {
			b.at("127.0.0.9:7", kubelet)
		}
		for _, made := range [][3]string{
			{"POST", "/api/v1/nodes", `{"metadata":{"name":"m"}}`},
			{"PATCH", "/api/v1/nodes/m/status", `{"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.9"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":7}}}}`},
			{"POST", todaysPods, `{"metadata":{"name":"web"},"spec":{"nodeName":"m","containers":[{"name":"c","image":"i"}]}}`},
			{"PATCH", todaysPods + "/web/status", `{"status":{"podIP":"127.0.0.9","podIPs":[{"ip":"127.0.0.9"}]}}`},
		} {
			c := b.ask(made[0], made[1], made[2], "Content-Type: "+map[string]string{"POST": "application/json", "PATCH": mergePatch}[made[0]])
			require.Less(t, c.StatusCode, 300, c.text())
		}
		test(t, b)
	})
}

// spoken is a connection on which a request has been answered.
type spoken struct {
	*http.Response
	conn net.Conn
	from *bufio.Reader
	t    *testing.T
}

// ask sends a request on a connection of its own.
func (b *behind) ask(method, path, body string, headers ...string) *spoken {
	conn, err := b.network.DialContext(b.t.Context(), "tcp", "127.0.0.1:8080")
	require.NoError(b.t, err)
	b.t.Cleanup(func() { _ = conn.Close() })
	req, err := http.NewRequest(method, "http://front:8080"+path, strings.NewReader(body))
	require.NoError(b.t, err)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Add(name, value)
	}
	go func() { _ = req.Write(conn) }() // the answer may come before
	from := bufio.NewReader(conn)
	answer, err := http.ReadResponse(from, req)
	require.NoError(b.t, err)
	return &spoken{answer, conn, from, b.t}
}

var toSPDY = []string{"Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v5.channel.k8s.io", "X-Stream-Protocol-Version: v4.channel.k8s.io"}

// exec begins a command in the pod.
func (b *behind) exec() *spoken {
	return b.ask("POST", todaysPods+"/web/exec?command=cat&stdin=true&stdout=true", "", toSPDY...)
}

func (s *spoken) text() string {
	text, err := io.ReadAll(s.Body)
	require.NoError(s.t, err)
	return string(text)
}

// hears says something, and requires that it comes back.
func (s *spoken) hears(what string) {
	s.t.Helper()
	_, err := io.WriteString(s.conn, what)
	require.NoError(s.t, err)
	heard := make([]byte, len(what))
	_, err = io.ReadFull(s.from, heard)
	require.NoError(s.t, err)
	assert.Equal(s.t, what, string(heard))
}

// echo is a kubelet that switches protocols, and repeats what it hears until it hears "bye". Ended is closed then, or when its client goes.
func echo(t *testing.T, ended chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", req.Header.Get("Upgrade"))
		w.Header().Set("X-Stream-Protocol-Version", req.Header.Get("X-Stream-Protocol-Version"))
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, from, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer close(ended)
		defer conn.Close()
		for heard := make([]byte, 100); ; {
			n, err := from.Read(heard)
			if err != nil || string(heard[:n]) == "bye" {
				return
			}
			if _, err := conn.Write(heard[:n]); err != nil {
				return
			}
		}
	}
}

func TestAStreamFlowsBothWaysForAsLongAsBothWant(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *behind, s *spoken){
		"the client goes": func(_ *behind, s *spoken) { _ = s.conn.Close() },
		"the kubelet ends it": func(_ *behind, s *spoken) {
			_, err := io.WriteString(s.conn, "bye")
			require.NoError(s.t, err)
			_, err = s.from.ReadByte()
			assert.ErrorIs(s.t, err, io.EOF)
		},
		"the server ends": func(b *behind, s *spoken) {
			begin := time.Now()
			b.stop()
			assert.Less(s.t, time.Since(begin), 10*time.Second, "it does not wait for the client")
			_, err := s.from.ReadByte()
			assert.ErrorIs(s.t, err, io.EOF)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			var asked *http.Request
			kubelet := func(w http.ResponseWriter, req *http.Request) {
				asked = req
				echo(t, ended)(w, req)
			}
			inFront(t, kubelet, func(t *testing.T, b *behind) {
				s := b.exec()
				require.Equal(t, http.StatusSwitchingProtocols, s.StatusCode)
				assert.Equal(t, "SPDY/3.1", s.Header.Get("Upgrade"))
				assert.Equal(t, "v5.channel.k8s.io", s.Header.Get("X-Stream-Protocol-Version"))
				assert.Equal(t, "POST /exec/default/web/c?command=cat&input=1&output=1", asked.Method+" "+asked.RequestURI)
				assert.Equal(t, []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}, asked.Header["X-Stream-Protocol-Version"])
				s.hears("hello")
				time.Sleep(time.Minute) // requests have ten seconds
				s.hears("still here")
				end(b, s)
				<-ended
			})
		})
	}
}

// K112.
func TestAKubeletThatBeginsNoStreamIsTold(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		kubelet http.HandlerFunc
		status  int
		text    string
	}{
		"it is gone":  {nil, 500, `error dialing backend: dial loopback: connection refused`},
		"it hangs":    {func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, 500, "error dialing backend: no answer within a minute"},
		"it hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 500, "error dialing backend: EOF"},
		"it refuses":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "container not found", 404) }, 404, "container not found\n"},
		"it answers":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hi") }, 500, "invalid upgrade response: status code 200"},
		"it sends elsewhere": {func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "http://127.0.0.1/", http.StatusFound)
		}, 500, "invalid upgrade response: status code 302"},
		"it speaks something else": {func(w http.ResponseWriter, req *http.Request) { upgradeTo(w, "other") }, 500, "backend tried to switch protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFront(t, row.kubelet, func(t *testing.T, b *behind) {
				s := b.exec()
				assert.Equal(t, row.status, s.StatusCode)
				text := s.text()
				assert.Contains(t, text, row.text)
				if row.status == 500 {
					assert.Equal(t, metav1.StatusFailure, fromYAML[metav1.Status](t, text).Status)
				}
			})
		})
	}
}

func upgradeTo(w http.ResponseWriter, protocol string) {
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", protocol)
	w.WriteHeader(http.StatusSwitchingProtocols)
}

func TestAKubeletIsNotAskedAnyMoreForAClientThatHasGone(t *testing.T) {
	t.Parallel()
	asked, given := make(chan struct{}), make(chan struct{})
	inFront(t, func(_ http.ResponseWriter, req *http.Request) {
		close(asked)
		<-req.Context().Done()
		close(given)
	}, func(t *testing.T, b *behind) {
		conn, err := b.network.DialContext(t.Context(), "tcp", "127.0.0.1:8080")
		require.NoError(t, err)
		_, err = io.WriteString(conn, "GET "+todaysPods+"/web/attach HTTP/1.1\r\nHost: x\r\n"+strings.Join(toSPDY, "\r\n")+"\r\n\r\n")
		require.NoError(t, err)
		<-asked
		begin := time.Now()
		require.NoError(t, conn.Close())
		<-given
		assert.Less(t, time.Since(begin), time.Second)
	})
}

// K112.
func TestAWebServerIsReachedThroughTheServer(t *testing.T) {
	t.Parallel()
	inFront(t, func(w http.ResponseWriter, req *http.Request) { _, _ = io.WriteString(w, "kubelet "+req.RequestURI) }, func(t *testing.T, b *behind) {
		const proxied = todaysPods + "/web:80/proxy"
		assert.Equal(t, "kubelet /healthz?a=b", b.ask("GET", "/api/v1/nodes/m/proxy/healthz?a=b", "").text())
		s := b.ask("GET", proxied+"/", "")
		assert.Equal(t, http.StatusServiceUnavailable, s.StatusCode)
		assert.Contains(t, s.text(), "error trying to reach service: dial loopback: connection refused")
		ended := make(chan struct{})
		b.at("127.0.0.9:80", func(w http.ResponseWriter, req *http.Request) {
			switch req.URL.Path {
			case "/slow":
				time.Sleep(time.Minute)
			case "/elsewhere":
				w.Header().Set("Location", req.URL.Query().Get("to"))
				w.WriteHeader(http.StatusFound)
			case "/pieces":
				for i := range 3 {
					time.Sleep(time.Duration(min(i, 1)) * time.Minute)
					_, _ = io.WriteString(w, "piece\n")
					_ = http.NewResponseController(w).Flush()
				}
				return
			case "/stream":
				assert.Equal(t, "a=b", req.URL.RawQuery)
				echo(t, ended)(w, req)
				return
			}
			w.Header()["X-Saw"] = []string{req.Header.Get("X-Forwarded-Uri"), req.Header.Get("Authorization") + req.Header.Get("X-Remote-User"), req.Host}
			w.Header().Set("Access-Control-Allow-Origin", "*")
			_, _ = io.Copy(w, req.Body)
		})
		s = b.ask("PUT", proxied+"/slow", "what was sent", "Authorization: Basic secret", "X-Remote-User: eve", "Accept: image/png")
		assert.Equal(t, "what was sent", s.text())
		assert.Equal(t, []string{proxied + "/slow", "", "front:8080"}, s.Header["X-Saw"])
		assert.Empty(t, s.Header["Access-Control-Allow-Origin"])
		for to, want := range map[string]string{
			"/a/b/?c=d":                     proxied + "/a/b/?c=d",
			"http://127.0.0.9:80/a":         proxied + "/a",
			"http://127.0.0.9/a":            "http://127.0.0.9/a",
			"http://front:8080/a#b":         proxied + "/a#b",
			"http://front:8080" + proxied:   proxied,
			"a":                             "a",
			"https://example.com/":          "https://example.com/",
			"http://127.0.0.9:80/a%2Fb?c":   proxied + "/a/b?c",
			"":                              "",
			"http://example.com:99999x/a b": "http://example.com:99999x/a b",
		} {
			s := b.ask("GET", proxied+"/elsewhere?to="+url.QueryEscape(to), "")
			assert.Equal(t, want, s.Header.Get("Location"))
		}
		begin := time.Now()
		s = b.ask("GET", proxied+"/pieces", "")
		lines := bufio.NewReader(s.Body)
		for i := range 3 {
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			assert.Equal(t, "piece\n", line)
			assert.Equal(t, time.Duration(i)*time.Minute, time.Since(begin), "each piece comes when it is written")
		}
		s = b.ask("GET", proxied+"/stream?a=b", "", "Connection: Upgrade", "Upgrade: websocket")
		require.Equal(t, http.StatusSwitchingProtocols, s.StatusCode)
		s.hears("hello")
		require.NoError(t, s.conn.Close())
		<-ended
	})
}
