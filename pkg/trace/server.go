package trace

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"kube2014/pkg/admission"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/server"
	"kube2014/pkg/server/request"
)

// Handler traces requests to next, whose records have their servers. It serves one at a time: a slow client
// delays all others. A streamed answer does so only until its first flush; later calls for the stream are
// written when they happen.
func (t *Tracer) Handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		t.turn.Lock()
		release := sync.OnceFunc(t.turn.Unlock)
		defer release()
		text := req.Method + " " + cut(req.RequestURI, maxCall/2)
		if part, ok := strings.CutPrefix(req.UserAgent(), "kube2014-"); ok { // a part of the cluster
			text += " by " + cut(part, maxValue)
		}
		c := t.begin(text + " to " + destination(request.RecordOf(req.Context()).Server))
		result := "panic"
		defer func() { t.end(c, result) }()
		next.ServeHTTP(&response{
			ResponseWriter: w,
			isSecret:       isSecret(req),
			end:            func(result string) { t.end(c, result) },
			release:        release,
		}, req)
		result = "an empty answer"
	})
}

// isSecret reports whether the body of a request may be a secret.
func isSecret(req *http.Request) bool {
	info := request.RecordOf(req.Context()).Info
	return strings.HasPrefix(req.URL.Path, "/apis/authentication.k8s.io/") || info.Resource == "secrets" || info.Subresource == "token"
}

// destination describes the server that a request is for.
func destination(to request.Server) string {
	if delegate, ok := to.(*server.Delegate); ok {
		return destination(delegate.Server) + " of " + delegate.Name
	}
	return called(to, "ServeHTTP")
}

// response ends the trace of its request when the answer is written, so that it
// precedes the server's log line.
type response struct {
	http.ResponseWriter
	isSecret bool // an error may repeat what was sent
	status   int
	end      func(result string)
	release  func() // ends the turn of the request
}

func (r *response) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Write ends the trace with the text of an error, or the size of any other answer.
func (r *response) Write(body []byte) (int, error) {
	n, err := r.ResponseWriter.Write(body)
	if r.status >= http.StatusBadRequest && !r.isSecret {
		r.end(fmt.Sprintf("%d %s", r.status, cut(string(body), maxResult)))
	} else {
		r.end(r.inWords(cmp.Or(r.Header().Get("Content-Length"), fmt.Sprint(len(body))) + " bytes"))
	}
	return n, err
}

// FlushError implements what http.ResponseController looks for: an answer that is flushed is
// a stream, which may take hours.
func (r *response) FlushError() error {
	err := http.NewResponseController(r.ResponseWriter).Flush()
	r.end(r.inWords("a stream"))
	r.release()
	return err
}

// Unwrap lets http.ResponseController reach the connection.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *response) inWords(what string) string {
	status := cmp.Or(r.status, http.StatusOK)
	kind, _, _ := strings.Cut(r.Header().Get("Content-Type"), ";")
	return fmt.Sprintf("%d %s, %s of %s", status, http.StatusText(status), what, kind)
}

// Auth traces authentication, without the credentials, and authorization.
func (t *Tracer) Auth(next server.Auth) server.Auth {
	return orNext[server.Auth](t, next, server.Auth{Authenticator: auth{t, next}, Authorizer: auth{t, next}})
}

type auth struct {
	t    *Tracer
	next server.Auth
}

func (i auth) AuthenticateRequest(req *http.Request) (who *user.Info, ok bool, err error) {
	_, err = traceValue(i.t, "Authenticator.AuthenticateRequest", func() (string, error) {
		if who, ok, err = i.next.Authenticator.AuthenticateRequest(req); who == nil {
			return "nobody", err
		}
		return fmt.Sprintf("user %s in %s", value(who.Name), value(strings.Join(who.Groups, ", "))), err
	})
	return who, ok, err
}

func (i auth) Authorize(ctx context.Context, a authorizer.Attributes) (decision authorizer.Decision, reason string, err error) {
	what := a.Path
	if a.IsResource {
		what = strings.Trim(a.Namespace+"/"+a.Resource+"/"+a.Name+"/"+a.Subresource, "/")
	}
	_, err = traceValue(i.t, "Authorizer.Authorize("+value(a.User.Name)+", "+a.Verb+" "+value(what)+")", func() (string, error) {
		decision, reason, err = i.next.Authorizer.Authorize(ctx, a)
		word := map[authorizer.Decision]string{authorizer.Allow: "allowed", authorizer.Deny: "denied", authorizer.NoOpinion: "no opinion"}[decision]
		return strings.TrimSuffix(word+": "+reason, ": "), err
	})
	return decision, reason, err
}

// Admission traces the calls of a chain's plugins, around an existing decorator.
func (t *Tracer) Admission(next func(admission.Call, func() error) error) func(admission.Call, func() error) error {
	if t == nil {
		return next
	}
	return func(call admission.Call, plugin func() error) error {
		method := map[admission.Step]string{admission.Admit: "Admit", admission.Validate: "Validate"}[call.Step]
		a := call.Attributes
		what := strings.ToLower(string(a.Operation)) + " " + value(elsewhere(a.Namespace)+strings.Trim(a.Resource.Resource+"/"+a.Name+"/"+a.Subresource, "/"))
		return t.traceError(call.Plugin+"."+method+"("+what+")", func() error { return next(call, plugin) })
	}
}
