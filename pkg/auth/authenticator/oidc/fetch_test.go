package oidc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/util/certtest"
	"kube2014/pkg/util/loopback"
)

func TestOnlyAWholeAnswerOfTheIssuerItselfIsRead(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	issuer := httptest.NewUnstartedServer(mux)
	issuer.Config.ErrorLog = log.New(io.Discard, "", 0)
	issuer.StartTLS()
	t.Cleanup(issuer.Close)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(other.Close)
	mux.HandleFunc("/good", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, other.URL, http.StatusFound) })
	mux.HandleFunc("/here", func(w http.ResponseWriter, req *http.Request) { http.Redirect(w, req, "/good", http.StatusFound) })
	mux.HandleFunc("/huge", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(strings.Repeat(" ", maxBody+1))) })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("{}"))
	})
	pool := x509.NewCertPool()
	pool.AddCert(issuer.Certificate())
	get := fetcher(pool)
	text, err := get(t.Context(), issuer.URL+"/good")
	assert.NoError(t, err)
	assert.Equal(t, "{}", string(text))
	for path, want := range map[string]string{"/none": "it answered 404", "/elsewhere": "it answered 302", "/here": "it answered 302", "/huge": "it answered more than 1048576 bytes", "/cut": ""} {
		_, err := get(t.Context(), issuer.URL+path)
		if assert.Error(t, err, path) && want != "" {
			assert.EqualError(t, err, want, path)
		}
	}
	_, err = fetcher(x509.NewCertPool())(t.Context(), issuer.URL+"/good")
	assert.ErrorContains(t, err, "certificate signed by unknown authority")
	_, err = get(t.Context(), "https://issuer\n")
	assert.EqualError(t, err, "its URL is broken")
}

func TestAFetchEndsAfterItsTime(t *testing.T) {
	t.Parallel()
	ca := certtest.Authority(t, "ca")
	certificate := ca.Server(t, "issuer").Certificate
	for name, handler := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() },
		"half an answer": func(w http.ResponseWriter, req *http.Request) {
			_, _ = w.Write([]byte("{"))
			_ = http.NewResponseController(w).Flush()
			<-req.Context().Done()
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := loopback.Listen()
			server := &http.Server{Handler: handler, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
			go func() { _ = server.ServeTLS(network, "", "") }() // it ends with the test
			connections := &http.Transport{DialContext: network.DialContext, TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}
			begun := time.Now()
			_, err := over(connections)(t.Context(), "https://issuer/")
			assert.ErrorIs(t, err, context.DeadlineExceeded, name)
			assert.Equal(t, FetchTimeout, time.Since(begun), name)
			connections.CloseIdleConnections()
			assert.NoError(t, server.Close())
		})
	}
}
