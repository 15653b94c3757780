package endpoints

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"kube2014/pkg/admission"
	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/endpoints/proxy"
	"kube2014/pkg/endpoints/stream"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// streamTimeout is how long the other process may take to begin a stream.
const streamTimeout = time.Minute

// errStreamTimeout is what a client is told then.
var errStreamTimeout = errors.New("no answer within a minute")

// connect sends the request on to the process behind an object, and its answer back, until one of them ends it or the server ends.
func (r *call) connect(storage rest.Connecter) error {
	switch {
	case !slices.Contains(rest.ConnectMethods(storage), r.Method):
		return notAllowed()
	case len(r.URL.Query()["dryRun"]) > 0:
		return apierrors.NewBadRequest("dryRun is not supported")
	}
	options, err := storage.ConnectOptions(r.URL.Query(), r.info.Subpath)
	if err != nil {
		return err
	}
	if err := r.admitConnect(options); err != nil {
		return err
	}
	if err := r.mayConnect(storage); err != nil {
		return err
	}
	to, err := storage.Connect(r.Context(), r.key(), options)
	isUpgrade := proxy.IsUpgrade(r.Request)
	switch {
	case err != nil:
		return err
	case storage.IsStream() && !isUpgrade:
		return apierrors.NewBadRequest("Upgrade request required")
	case to.URL.Path == "" && !isUpgrade && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		below := url.URL{Path: r.URL.Path + "/", RawQuery: r.URL.RawQuery} // where the links of a page are right
		r.W.Header().Set("Location", below.String())
		r.W.WriteHeader(http.StatusMovedPermanently)
		return nil
	}
	release, err := r.server.openStream()
	if err != nil {
		return err
	}
	defer release()
	r.send(to, storage.IsStream())
	return nil
}

// admitConnect lets the admission plugins decide.
func (r *call) admitConnect(options runtime.Object) error {
	return r.admit(admission.Connect, false, nil, func(admit rest.Admission) error {
		if admit == nil {
			return nil
		}
		_, err := rest.WriteOptions{Admission: admit}.Admit(&admission.ConnectOptions{Object: options}, nil)
		return err
	})
}

// mayConnect returns an error unless the user may create a stream, by whatever method.
func (r *call) mayConnect(storage rest.Connecter) error {
	authorize := request.RecordOf(r.Context()).Authorize
	if !storage.IsStream() || r.info.Verb == "create" || authorize == nil {
		return nil
	}
	return forbidden(authorize("create"))
}

// send sends the request on to a location, and the answer back.
func (r *call) send(to *rest.Location, isStream bool) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(r.server.watches.serving, func() { cancel(nil) })()
	proxy.Unlimit(r.W)
	answered := func() bool { return true }
	if isStream {
		answered = time.AfterFunc(streamTimeout, func() { cancel(errStreamTimeout) }).Stop
	} else {
		to.URL.RawQuery = r.URL.RawQuery
	}
	defer answered()
	sender := httputil.ReverseProxy{
		Transport:     to.Transport,
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = to.URL
			proxy.RemoveIdentity(p.Out.Header)
			p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
			p.SetXForwarded()
			for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto"} { // as in today's server, those of proxies before it
				p.Out.Header[name] = p.In.Header[name]
			}
			if !isStream {
				p.Out.Header.Set("X-Forwarded-Uri", r.URL.EscapedPath())
			}
		},
		ModifyResponse: func(answer *http.Response) error {
			answered()
			if isStream && answer.StatusCode != http.StatusSwitchingProtocols && answer.StatusCode < http.StatusBadRequest {
				return fmt.Errorf("invalid upgrade response: status code %d", answer.StatusCode)
			}
			proxy.RemoveOwn(answer.Header)
			r.redirectBelow(answer, to.URL)
			r.WriteWarnings()
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(context.Cause(ctx), errStreamTimeout) {
				err = errStreamTimeout
			}
			r.Error(notReached(err, isStream))
		},
		ErrorLog: proxy.Quiet,
	}
	sender.ServeHTTP(r.W, r.Request.WithContext(ctx))
}

// redirectBelow lets an answer that sends the client to a path of the same web server send it there through this one.
func (r *call) redirectBelow(answer *http.Response, at *url.URL) {
	to, err := url.Parse(answer.Header.Get("Location"))
	if err != nil || !strings.HasPrefix(to.Path, "/") || to.Host != "" && to.Host != at.Host && to.Host != r.Host {
		return
	}
	prefix := strings.TrimSuffix(r.URL.Path, r.info.Subpath)
	if !strings.HasPrefix(to.Path, prefix) {
		to.Path, to.RawPath = utilnet.JoinPreservingTrailingSlash(prefix, to.Path), ""
	}
	to.Scheme, to.Host = "", ""
	answer.Header.Set("Location", to.String())
}

// notReached returns the error of a process that has not answered, in the words of today's server.
func notReached(err error, isStream bool) error {
	if !isStream {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", err))
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: fmt.Sprintf("error dialing backend: %v", err)}}
}

// stream sends a text as it arrives, until the text ends, the client goes or stops reading, or the server
// ends.
func (r *call) stream(storage rest.Streamer) error {
	if _, err := bodies.Read(r.W, r.Request); err != nil { // as for a watch
		return err
	}
	release, err := r.server.openStream()
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	control := http.NewResponseController(r.W)
	limit := func() { _ = control.SetWriteDeadline(time.Now().Add(r.server.watchTimeout())) } // a connection without deadlines needs none
	defer context.AfterFunc(r.server.watches.serving, func() {
		cancel()
		limit()
	})()
	text, err := storage.Stream(ctx, r.key(), r.URL.Query())
	if err != nil {
		return err
	}
	defer text.Close()
	_ = control.SetReadDeadline(time.Time{}) // the deadline was for the request; a connection without one needs none
	r.W.Header().Set("Content-Type", "text/plain")
	r.W.WriteHeader(http.StatusOK)
	for piece := make([]byte, textPiece); ; {
		stream.Rest(control, r.Request)
		n, ended := text.Read(piece)
		limit()
		if n > 0 {
			if _, err := r.W.Write(piece[:n]); err != nil {
				return nil // the client has gone
			}
			_ = control.Flush() // the next write fails if the client has gone
		}
		if ended != nil {
			return nil // the answer has begun: an error cannot be sent any more
		}
	}
}

// textPiece is the maximum size of the pieces of a text, in bytes.
const textPiece = 32 << 10
