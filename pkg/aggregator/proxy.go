package aggregator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/endpoints/proxy"
	"kube2014/pkg/server/request"
)

// checkPause is the time from a request that has failed to the check of its server: many may fail at once.
const checkPause = time.Second / 4

// maxHops bounds how many servers a request passes: the last one may be this one again. It has passed as many as X-Forwarded-For names (K105).
const maxHops = 16

// unavailable answers a request for a server that is away, in the words of today's server.
func unavailable(w http.ResponseWriter) {
	http.Error(w, "service unavailable", http.StatusServiceUnavailable)
}

// proxyTo sends a request to the server of the version, as its user.
func (s *Server) proxyTo(w http.ResponseWriter, req *http.Request, v *remoteAPI) {
	if !v.isAvailable {
		unavailable(w)
		return
	}
	if 1+strings.Count(strings.Join(req.Header["X-Forwarded-For"], ","), ",") >= maxHops {
		http.Error(w, "the request goes round in circles", http.StatusLoopDetected)
		return
	}
	if v.broken != nil {
		http.Error(w, v.broken.Error(), http.StatusInternalServerError)
		return
	}
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	if strings.TrimSuffix(req.URL.Path, "/") == v.path() {
		ctx, cancel = context.WithTimeout(ctx, s.Timeout)
		defer cancel()
	}
	address, err := v.address(ctx)
	if err != nil {
		log.Printf("the server of %s is not reached: %s", v.name(), api.Printable(err.Error(), ' '))
		unavailable(w)
		return
	}
	who := request.UserFrom(ctx)
	if request.RecordOf(ctx).Info.NoTimeout {
		defer context.AfterFunc(s.Serving, cancel)()
		proxy.Unlimit(w)
		if !proxy.IsUpgrade(req) {
			request.Begun(ctx) // the other server knows when it has
		}
	}
	sender := httputil.ReverseProxy{
		Transport: v.remote.http,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "https", address, address
			r.Out.URL.RawPath = "" // the path is the one that the user may have
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
			r.Out.Header["X-Forwarded-Host"], r.Out.Header["X-Forwarded-Uri"] = []string{address}, []string{r.Out.URL.EscapedPath()} // as of today's server
			identify(r.Out, who)
		},
		ModifyResponse: func(answer *http.Response) error {
			request.Begun(ctx) // a connection has its seat until it is upgraded
			return checkAnswer(answer)
		},
		ErrorHandler: func(w http.ResponseWriter, req *http.Request, err error) {
			if !errors.Is(req.Context().Err(), context.Canceled) { // it may be away
				s.queue.AddAfter(v.name(), checkPause)
			}
			http.Error(w, fmt.Sprintf("error trying to reach service: %v", err), http.StatusServiceUnavailable)
		},
		ErrorLog: proxy.Quiet,
	}
	if proxy.IsUpgrade(req) {
		sender.Transport = v.remote.upgrading
	}
	sender.ServeHTTP(w, req.WithContext(ctx))
}

// checkAnswer removes what this server decides. It replaces an answer that sends the client elsewhere, and returns an error if the status is none.
func checkAnswer(answer *http.Response) error {
	proxy.RemoveOwn(answer.Header)
	if answer.StatusCode < 200 && answer.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("it answers with the status %d", answer.StatusCode)
	}
	if answer.StatusCode < 300 || answer.StatusCode > 399 || answer.Header.Get("Location") == "" {
		return nil
	}
	const why = "the backend attempted to redirect this request, which is not permitted"
	_ = answer.Body.Close() // nobody reads it
	answer.StatusCode, answer.Header, answer.Trailer = http.StatusBadGateway, http.Header{}, nil
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewBufferString(why)), int64(len(why))
	return nil
}
