// Package proxy has what requests have in common that other servers answer.
package proxy

import (
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"time"

	"kube2014/pkg/auth/authenticator"
)

// IsUpgrade reports whether a request wants to speak another protocol.
func IsUpgrade(req *http.Request) bool {
	tokens := strings.Split(strings.Join(req.Header["Connection"], ","), ",")
	return req.Header.Get("Upgrade") != "" && slices.ContainsFunc(tokens, func(token string) bool { return strings.EqualFold(strings.TrimSpace(token), "upgrade") })
}

// RemoveIdentity removes from a request what names or authenticates its user.
func RemoveIdentity(header http.Header) {
	for name := range header {
		switch spelled := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")); { // some servers read _ as -
		case strings.HasPrefix(spelled, "X-Remote-"), strings.HasPrefix(spelled, "Impersonate-"), spelled == "Authorization":
			delete(header, name)
		}
	}
	authenticator.RemoveTokens(header)
}

// RemoveOwn removes from an answer the audit id, and what pages of other origins may do: about these, this server decides.
func RemoveOwn(header http.Header) {
	for name := range header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Audit-Id" {
			header.Del(name)
		}
	}
}

// Unlimit lets the connection of a request take as long as it takes.
func Unlimit(w http.ResponseWriter) {
	control := http.NewResponseController(w)
	_, _ = control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{}) // a connection without deadlines needs none
}

// Quiet is the log of a reverse proxy, whose client sees that an answer ends.
var Quiet = log.New(io.Discard, "", 0)
