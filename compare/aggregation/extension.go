package aggregation

import (
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/certtest"
)

const (
	stepHeader = "X-Step" // tells which step a request belongs to; the server's own requests have none
	doHeader   = "X-Do"   // tells the extension server to misbehave
)

// Script is how an extension server answers at a path. Without a status it behaves well again.
type Script struct {
	Server, Path string
	Status       int
	Headers      []string `json:",omitempty"` // lines like "Name: value"
	Body         string   `json:",omitempty"`
	Hangs        bool     `json:",omitempty"` // it does not answer at all
}

// extension is an extension server. It serves things in all groups and versions.
type extension struct {
	*httptest.Server
	name string

	mu      sync.Mutex
	scripts map[string]Script
	seen    map[string]string // what was asked, by step
	own     map[string]bool   // what the main server asked itself
	busy    int
}

// startExtension starts one on an address, which shows a certificate, and asks clients for theirs.
func startExtension(t testing.TB, name, address string, shows *certtest.Pair, proxies *x509.CertPool) *extension {
	e := &extension{name: name, scripts: map[string]Script{}, seen: map[string]string{}, own: map[string]bool{}}
	listener, err := net.Listen("tcp", address+":0")
	require.NoError(t, err)
	e.Server = httptest.NewUnstartedServer(e)
	require.NoError(t, e.Listener.Close())
	e.Listener, e.Config.ErrorLog = listener, log.New(io.Discard, "", 0)
	e.TLS = &tls.Config{Certificates: []tls.Certificate{shows.Certificate}, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: proxies}
	e.EnableHTTP2 = true
	e.StartTLS()
	t.Cleanup(func() {
		e.CloseClientConnections()
		e.Close()
	})
	return e
}

func (e *extension) script(s Script) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.scripts[s.Path] = s
}

// saw returns what the step asked, "" for nothing.
func (e *extension) saw(step string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen[step]
}

// asked returns what the main server asked itself, sorted.
func (e *extension) asked() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(e.own)), "\n")
}

func (e *extension) idle() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.busy == 0
}

// ServeHTTP implements http.Handler.
func (e *extension) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // a client that goes away is no matter
	step := r.Header.Get(stepHeader)
	e.mu.Lock()
	if step != "" {
		e.seen[step] = requestText(r, string(body))
	} else {
		e.own[ownText(r)] = true
	}
	e.busy++
	script := e.scripts[r.URL.Path]
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.busy--
	}()
	switch {
	case script.Hangs:
		<-r.Context().Done()
	case script.Status != 0:
		for _, line := range script.Headers {
			name, value, _ := strings.Cut(line, ": ")
			w.Header().Add(name, value)
		}
		w.WriteHeader(script.Status)
		_, _ = io.WriteString(w, script.Body)
	case misbehaves[r.Header.Get(doHeader)] != nil:
		misbehaves[r.Header.Get(doHeader)](w, r)
	case r.Header.Get("Upgrade") != "":
		upgrade(w, r)
	default:
		e.serve(w, r)
	}
}

// serve answers as a good extension server that knows only the oldest discovery.
func (e *extension) serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Extension", e.name)
	switch {
	case parts[0] == "api" && len(parts) == 2:
		fmt.Fprintf(w, resourceList, parts[1])
	case parts[0] != "apis" || len(parts) < 3:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	case len(parts) == 3:
		fmt.Fprintf(w, resourceList, parts[1]+"/"+parts[2])
	default:
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
		}
		fmt.Fprintf(w, `{"kind":"Thing","apiVersion":"%s/%s","by":"%s"}`, parts[1], parts[2], e.name)
	}
}

const resourceList = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"%s","resources":[` +
	`{"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get","list","watch","create"],"shortNames":["th"],"categories":["all"]},` +
	`{"name":"things/status","singularName":"","namespaced":true,"kind":"Thing","verbs":["get"]}]}`

// misbehaves has what extension servers do wrong on demand.
var misbehaves = map[string]http.HandlerFunc{
	"close": func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
	"close in the middle": func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "the first line")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	},
	"stream": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json;stream=watch")
		fmt.Fprintln(w, `{"type":"ADDED","object":{"kind":"Thing"}}`)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	},
	"endless": func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := fmt.Fprintln(w, strings.Repeat("x", 100)); err != nil {
				return
			}
		}
	},
	"large": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("0123456789", 30_000)) },
	"gzip": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		packed := gzip.NewWriter(w)
		fmt.Fprint(packed, "packed by the extension server")
		_ = packed.Close()
	},
}

// upgrade changes the protocol, and sends each line back.
func upgrade(w http.ResponseWriter, r *http.Request) {
	conn, both, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusHTTPVersionNotSupported)
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nX-Extension: yes\r\n\r\n", r.Header.Get("Upgrade"))
	for {
		line, err := both.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Fprint(conn, "back: ", line)
	}
}

// requestText is what an extension server saw of a request: its headers sorted, and the client's certificate.
func requestText(r *http.Request, body string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\nHost: %s\n", r.Method, r.RequestURI, r.Host)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name != stepHeader {
			for _, value := range r.Header[name] {
				fmt.Fprintf(&text, "%s: %s\n", name, value)
			}
		}
	}
	if body != "" {
		body = "\n\n" + body
	}
	return text.String() + certificateText(r) + body
}

func ownText(r *http.Request) string {
	return fmt.Sprintf("%s %s accept %q, user %q, groups %q, %s", r.Method, r.RequestURI, r.Header.Get("Accept"), r.Header.Get("X-Remote-User"), r.Header["X-Remote-Group"], certificateText(r))
}

func certificateText(r *http.Request) string {
	if len(r.TLS.PeerCertificates) == 0 {
		return "no certificate"
	}
	return "certificate: " + r.TLS.PeerCertificates[0].Subject.CommonName
}
