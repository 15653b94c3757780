// Package standin is an etcd with nothing behind it. A program that starts an etcd and then a kube-apiserver on it, as envtest
// does, starts this one under the name etcd. The server asks it, and keeps its objects in memory.
package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"kube2014/pkg/util"
)

// Usage is what etcd --help prints.
const Usage = `etcd is kube2014 under the name of etcd: it answers GET /health, and has nothing behind it.
The kube-apiserver beside it finds that out, and keeps its objects in memory. A real etcd in
its place keeps them on disk.

usage: etcd [flags]

  --listen-client-urls LIST  where it answers, as URLs like http://127.0.0.1:2379
                             (default http://localhost:2379); http only
  --data-dir DIR             the folder of the program that starts it; nothing is written there
  --version                  print the version and exit

All other flags are ignored.
`

// defaultURLs is etcd's own default of --listen-client-urls.
const defaultURLs = "http://localhost:2379"

// health is the answer of GET /health. Etcd's has no storage.
type health struct {
	Health  string `json:"health"`
	Reason  string `json:"reason"`
	Storage string `json:"storage"`
}

const nothing = "none"

// Handler answers as an etcd that is well. It logs that somebody asks for more, once.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(health{Health: "true", Storage: nothing}) // a client that has gone away needs no answer
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "nothing is behind this etcd: kube2014 keeps its objects in memory", http.StatusNotFound)
	})
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.ProtoMajor > 1 { // how the v3 API begins
			once.Do(func() {
				log.Print("nothing is behind this etcd: its clients, such as today's kube-apiserver, need a real one")
			})
		}
		mux.ServeHTTP(w, req)
	})
}

// Listen opens the ports of --listen-client-urls, "" for the default. The error names the URL.
func Listen(urls string) (listeners []net.Listener, err error) {
	if urls == "" {
		urls = defaultURLs
	}
	defer func() {
		if err != nil {
			for _, open := range listeners {
				_ = open.Close() // the program ends
			}
		}
	}()
	for text := range strings.SplitSeq(urls, ",") {
		parsed, err := url.Parse(text)
		if err != nil || parsed.Scheme != "http" || parsed.Host == "" {
			return listeners, fmt.Errorf("--listen-client-urls: %q is not a URL like http://127.0.0.1:2379", text)
		}
		listener, err := net.Listen("tcp", parsed.Host)
		if err != nil {
			return listeners, fmt.Errorf("--listen-client-urls: cannot listen on %s: %w", parsed.Host, util.SystemError(err))
		}
		listeners = append(listeners, listener)
	}
	return listeners, nil
}

// maxAnswer bounds the answer that is read, in bytes.
const maxAnswer = 4 << 10

// patience bounds the question: an etcd that does not answer in time may be a real one.
const patience = time.Second

// Answers reports whether the only member of an etcd is a stand-in. It asks members with http URLs only.
func Answers(ctx context.Context, members []string) bool {
	if len(members) != 1 || !strings.HasPrefix(members[0], "http://") {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(members[0], "/")+"/health", nil)
	if err != nil {
		return false
	}
	connection := &http.Transport{DisableKeepAlives: true} // without the proxies of the environment
	response, err := connection.RoundTrip(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var answer health
	return json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer) == nil && answer.Storage == nothing
}
