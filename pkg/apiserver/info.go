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

// Serves implements request.Server. It takes every request: what is not in the table is not found.
func (server *ApiServer) Serves(req *http.Request, record *request.Record) bool {
	info := request.Info{}
	if below, ok := server.below(req); ok {
		resource, id, _ := strings.Cut(below, "/")
		if known, ok := server.KnownAs[resource]; ok && server.storage[resource] != nil {
			info = known
			info.IsResource, info.IsServed, info.Name = true, true, id
			info.Verb = verbs[req.Method].collection
			if id != "" {
				info.Verb = verbs[req.Method].object
			}
		}
	}
	if !info.IsResource {
		info.Verb = strings.ToLower(req.Method)
	}
	info.Path, info.KeepsTime = req.URL.Path, true // it keeps the 10 seconds of 2014
	record.Info = info
	return true
}

// Owns reports whether a path begins as those of the table do: no other server may have it.
func (server *ApiServer) Owns(path string) bool {
	return len(server.storage) > 0 && server.prefix != "" && strings.HasPrefix(path, server.prefix)
}
