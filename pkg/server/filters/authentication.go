package filters

import (
	"errors"
	"log"
	"net/http"

	"kube2014/pkg/api"
	"kube2014/pkg/audit"
	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util"
)

// errUnauthorized has no details: only the log has the reason.
var errUnauthorized = &api.Error{Kind: api.Unauthorized, Message: "Unauthorized"}

// WithAuthentication authenticates the user of a request, and answers 401 if that fails. The
// handlers after it do not see the credentials.
func WithAuthentication(next http.Handler, users authenticator.Request, auditor *audit.Auditor) http.Handler {
	if users == nil {
		return next
	}
	refuse := WithFailedAuthenticationAudit(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fail(w, req, errUnauthorized)
	}), auditor)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		who, ok, err := users.AuthenticateRequest(req)
		if err == nil && (!ok || who == nil) { // a request without a user would count as one of the insecure port
			err = errors.New("there are no credentials")
		}
		if err != nil {
			log.Printf("%s %s: not authenticated: %s", util.Loggable(req.Method), util.Loggable(req.RequestURI), api.Line(err.Error()))
			refuse.ServeHTTP(w, req)
			return
		}
		req.Header.Del("Authorization")
		request.RecordOf(req.Context()).User = who
		next.ServeHTTP(w, req)
	})
}
