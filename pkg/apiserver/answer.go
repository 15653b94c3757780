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
	"kube2014/pkg/api/conversion"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/util"
)

const plainText = "text/plain; charset=utf-8"

// answer writes the object, or the error if there is one.
func (server *ApiServer) answer(w http.ResponseWriter, req *http.Request, object interface{}, err error) {
	if err != nil {
		server.error(w, req, err)
		return
	}
	body, ok := object.(conversion.Encoded)
	if !ok {
		// Encode before writing the status: a failure changes it.
		if body, err = v1beta1.Codec.Encode(object); err != nil {
			server.error(w, req, err)
			return
		}
	}
	server.write(w, http.StatusOK, "application/json", body) // D17
}

// error writes an error as one line of text. A 5xx is logged with its cause.
func (server *ApiServer) error(w http.ResponseWriter, req *http.Request, err error) {
	status, line := statusLine(err)
	if status >= http.StatusInternalServerError {
		log.Printf("%s %s: %s", util.Loggable(req.Method), util.Loggable(req.RequestURI), api.Line(api.InFull(err)))
	}
	server.write(w, status, plainText, conversion.EncodedBytes([]byte(line)))
}

// Fail implements request.Server.
func (server *ApiServer) Fail(w http.ResponseWriter, req *http.Request, err error) {
	server.error(w, req, err)
}

// served returns the method that serves a request. HEAD is served like GET, so it
// has the same headers; net/http omits the body.
func served(req *http.Request) string {
	if req.Method == http.MethodHead {
		return http.MethodGet
	}
	return req.Method
}

// allow reports whether the path serves the request's method, and answers 405 if
// not (D16).
func (server *ApiServer) allow(w http.ResponseWriter, req *http.Request, methods ...string) bool {
	if slices.Contains(methods, served(req)) {
		return true
	}
	allowed := strings.ReplaceAll(strings.Join(methods, ", "), http.MethodGet, http.MethodGet+", "+http.MethodHead)
	w.Header().Set("Allow", allowed)
	server.error(w, req, &api.Error{Kind: api.MethodNotAllowed,
		Message: fmt.Sprintf("%s is not allowed at %s; allowed: %s", req.Method, util.Loggable(req.URL.EscapedPath()), allowed)})
	return false
}

func (server *ApiServer) notFound(w http.ResponseWriter, req *http.Request) {
	server.error(w, req, &api.Error{Kind: api.NotFound, Message: served(req) + " " + util.Loggable(req.URL.EscapedPath())}) // D1
}

func (server *ApiServer) write(w http.ResponseWriter, status int, contentType string, body conversion.Encoded) {
	header := w.Header()
	header["Content-Type"] = []string{contentType}
	header["Content-Length"] = []string{strconv.Itoa(body.Size)}
	w.WriteHeader(status)
	for piece := range body.Pieces {
		if _, err := w.Write(piece); err != nil {
			return // the client is gone
		}
	}
}

// statuses maps each kind of error to its status and to the first words of its
// line.
var statuses = map[api.ErrorKind]struct {
	code int
	text string
}{
	api.Invalid:          {http.StatusBadRequest, "Bad Request"},
	api.Unauthorized:     {http.StatusUnauthorized, "Unauthorized"},
	api.Forbidden:        {http.StatusForbidden, "Forbidden"},
	api.NotFound:         {http.StatusNotFound, "Not Found"},
	api.MethodNotAllowed: {http.StatusMethodNotAllowed, "Method Not Allowed"},
	api.AlreadyExists:    {http.StatusConflict, "Conflict"},
	api.Conflict:         {http.StatusConflict, "Conflict"},
	api.HostPortTaken:    {http.StatusConflict, "Conflict"},
	api.Expired:          {http.StatusGone, "Gone"},
	api.TooManyRequests:  {http.StatusTooManyRequests, "Too Many Requests"},
	api.TooLarge:         {http.StatusRequestEntityTooLarge, "Request Entity Too Large"},
	api.Internal:         {http.StatusInternalServerError, "Internal Error"},
	api.Unavailable:      {http.StatusServiceUnavailable, "Service Unavailable"},
	api.Timeout:          {http.StatusGatewayTimeout, "Gateway Timeout"},
}

// statusLine turns an error into a status and a line of text. The text of an
// error that is not an *api.Error is only logged.
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
	if text == known.text { // nothing to add
		return known.code, text
	}
	return known.code, known.text + ": " + api.Line(text)
}
