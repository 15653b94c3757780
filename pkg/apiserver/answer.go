package apiserver

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"kube2014/pkg/api"
)

const plainText = "text/plain; charset=utf-8"

// answer writes the object, or the error if there is one.
func (server *ApiServer) answer(w http.ResponseWriter, req *http.Request, object interface{}, err error) {
	if err != nil {
		server.error(w, req, err)
		return
	}
	body, ok := object.(Encoded)
	if !ok {
		// The status is written after encoding, so that a failure has its own.
		if body, err = Encode(object); err != nil {
			server.error(w, req, err)
			return
		}
	}
	server.write(w, http.StatusOK, "application/json", body) // D17
}

// error writes an error as one line of text. What is the server's fault is
// logged with its cause.
func (server *ApiServer) error(w http.ResponseWriter, req *http.Request, err error) {
	status, line := statusLine(err)
	if status >= http.StatusInternalServerError {
		log.Printf("%s %s: %s", req.Method, loggable(req.RequestURI), oneLine(api.InFull(err)))
	}
	server.write(w, status, plainText, EncodedBytes([]byte(line)))
}

// served is the method that a request is served by: HEAD is GET without the body,
// so its answer, and the size of it, are GET's.
func served(req *http.Request) string {
	if req.Method == http.MethodHead {
		return http.MethodGet
	}
	return req.Method
}

// allow tells whether the request's method is among those that its path
// serves, and answers 405 when it is not (D16).
func (server *ApiServer) allow(w http.ResponseWriter, req *http.Request, methods ...string) bool {
	if slices.Contains(methods, served(req)) {
		return true
	}
	allowed := strings.ReplaceAll(strings.Join(methods, ", "), http.MethodGet, http.MethodGet+", "+http.MethodHead)
	w.Header().Set("Allow", allowed)
	server.error(w, req, &api.Error{Kind: api.MethodNotAllowed,
		Message: fmt.Sprintf("%s is not allowed at %s; allowed: %s", req.Method, loggable(req.URL.EscapedPath()), allowed)})
	return false
}

func (server *ApiServer) notFound(w http.ResponseWriter, req *http.Request) {
	server.error(w, req, &api.Error{Kind: api.NotFound, Message: served(req) + " " + loggable(req.URL.EscapedPath())}) // D1
}

// write is the one place that writes an answer.
func (server *ApiServer) write(w http.ResponseWriter, status int, contentType string, body Encoded) {
	header := w.Header()
	header["Content-Type"] = []string{contentType}
	header["Content-Length"] = []string{strconv.Itoa(body.Size)}
	w.WriteHeader(status)
	for piece := range body.Pieces {
		if _, err := w.Write(piece); err != nil {
			return // the client has gone: there is nobody left to tell
		}
	}
}

// statuses gives each kind of error its status and the words that begin its
// line.
var statuses = map[api.ErrorKind]struct {
	code int
	text string
}{
	api.Invalid:          {http.StatusBadRequest, "Bad Request"},
	api.Forbidden:        {http.StatusForbidden, "Forbidden"},
	api.NotFound:         {http.StatusNotFound, "Not Found"},
	api.MethodNotAllowed: {http.StatusMethodNotAllowed, "Method Not Allowed"},
	api.AlreadyExists:    {http.StatusConflict, "Conflict"},
	api.Conflict:         {http.StatusConflict, "Conflict"},
	api.HostPortTaken:    {http.StatusConflict, "Conflict"},
	api.TooLarge:         {http.StatusRequestEntityTooLarge, "Request Entity Too Large"},
	api.Internal:         {http.StatusInternalServerError, "Internal Error"},
	api.Unavailable:      {http.StatusServiceUnavailable, "Service Unavailable"},
}

// statusLine turns an error into a status and a line of text. What an untyped
// error says is for the log only.
func statusLine(err error) (status int, line string) {
	var typed *api.Error
	text := "the request failed; the server's log has the reason"
	if errors.As(err, &typed) {
		text = err.Error()
	}
	known, ok := statuses[api.KindOf(err)]
	if !ok {
		known = statuses[api.Internal]
	}
	return known.code, known.text + ": " + oneLine(text)
}

// maxLine bounds a line of text, in bytes, whatever went into it.
const maxLine = 1024

// oneLine makes a text fit to be an answer of one line.
func oneLine(text string) string {
	if len(text) > maxLine {
		text = text[:maxLine] + "..."
	}
	return api.Printable(strings.ToValidUTF8(text, "?"), ' ')
}
