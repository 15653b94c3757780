package server_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/server"
	"kube2014/pkg/server/certs"
	"kube2014/pkg/util/certtest"
	"kube2014/pkg/util/loopback"
)

// While a request waits for its seats, neither the time to read it nor that to answer it runs out.
func TestTheConnectionOfARequestThatWaitsStays(t *testing.T) {
	t.Parallel()
	certificate := certtest.Authority(t, "authority").Server(t, "127.0.0.1").Certificate
	for _, isHTTP2 := range []bool{false, true} {
		t.Run(fmt.Sprint("HTTP/2: ", isHTTP2), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release, body := make(chan struct{}), strings.Repeat("bear ", 100_000)
				a := toys{"/slow": func(w http.ResponseWriter, _ *http.Request) {
					<-release
					w.WriteHeader(http.StatusOK)
				}, "/bear": func(w http.ResponseWriter, req *http.Request) {
					text, err := io.ReadAll(req.Body)
					assert.NoError(t, err)
					_, _ = fmt.Fprint(w, len(text))
				}}
				listener := loopback.Listen()
				const short = 2 * time.Second
				s, control := fairly(a, 1, 50, server.Config{ReadTimeout: short, WriteTimeout: short, DrainTimeout: time.Minute,
					Secure: &server.Serving{TLS: certs.TLSConfig(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }, false)},
					Listen: func(string, string) (net.Listener, error) { return listener, nil }})
				ctx, end := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- s.PrepareRun().Run(ctx) }()
				transport := &http.Transport{DialContext: listener.DialContext, ForceAttemptHTTP2: isHTTP2, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
				if !isHTTP2 {
					transport.Protocols = new(http.Protocols)
					transport.Protocols.SetHTTP1(true)
				}
				answers := make(chan string)
				send := func(method, path, body string) {
					go func() {
						req, err := http.NewRequestWithContext(t.Context(), method, "https://127.0.0.1"+path, strings.NewReader(body))
						if !assert.NoError(t, err) {
							return
						}
						req.Header.Set("Authorization", "ann")
						resp, err := (&http.Client{Transport: transport}).Do(req)
						if err != nil {
							answers <- err.Error()
							return
						}
						defer resp.Body.Close()
						text, err := io.ReadAll(resp.Body)
						assert.NoError(t, err)
						assert.Equal(t, isHTTP2, resp.ProtoMajor == 2)
						answers <- fmt.Sprint(method, " ", resp.StatusCode, " ", string(text))
					}()
					synctest.Wait()
				}
				send("POST", "/slow", "")
				send("GET", "/bear", "")
				send("POST", "/bear", body)
				require.Len(t, control.Details()[2].Waiting, 2)
				time.Sleep(5 * short)
				assert.Len(t, control.Details()[2].Waiting, 2)
				close(release)
				assert.ElementsMatch(t, []string{"POST 200 ", "GET 200 0", fmt.Sprint("POST 200 ", len(body))}, []string{<-answers, <-answers, <-answers})
				transport.CloseIdleConnections()
				end()
				assert.NoError(t, <-ended)
				time.Sleep(time.Minute) // both sides may say at once that they close, which takes seconds over a pipe
			})
		})
	}
}
