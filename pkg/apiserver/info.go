package apiserver

import (
	"net/http"
	"strings"

	"kube2014/pkg/server/request"
)

// verbs by method, for a collection and for an object in it. PATCH is not served, but a policy may name
// it. Any other method has none, as in today's server.
var verbs = map[string]struct{ collection, object string }{
	http.MethodGet:    {"list", "get"},
	http.MethodHead:   {"list", "get"},
	http.MethodPost:   {"create", "create"},
	http.MethodPut:    {"update", "update"},
	http.MethodPatch:  {"patch", "patch"},
	http.MethodDelete: {"deletecollection", "delete"},
}

// RequestInfo returns what a request asks for.
func (server *ApiServer) RequestInfo(req *http.Request) (info request.Info) {
	if server.isForNext(req) {
		return server.Next.RequestInfo(req)
	}
	if below, ok := server.below(req); ok {
		resource, id, _ := strings.Cut(below, "/")
		if known, ok := server.KnownAs[resource]; ok && server.storage[resource] != nil {
			info = known
			info.IsResource, info.Name = true, id
			info.Verb = verbs[req.Method].collection
			if id != "" {
				info.Verb = verbs[req.Method].object
			}
		}
	}
	if !info.IsResource {
		info.Verb = strings.ToLower(req.Method)
	}
	info.Path = req.URL.Path
	return info
}

// KeepsTime reports whether a request is for the table: it keeps the 10 seconds of 2014.
func (server *ApiServer) KeepsTime(req *http.Request) bool { return !server.isForNext(req) }
