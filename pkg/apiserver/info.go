package apiserver

import (
	"net/http"
	"strings"

	"kube2014/pkg/server/request"
)

// Serves implements request.Server. It serves every request: an unknown path is a 404.
func (server *ApiServer) Serves(req *http.Request, record *request.Record) bool {
	info := request.RequestInfo{}
	if below, ok := server.below(req); ok {
		resource, id, _ := strings.Cut(below, "/")
		if known, ok := server.KnownAs[resource]; ok && server.storage[resource] != nil {
			info = known
			info.IsResource, info.IsServed, info.Name = true, true, id
			info.Verb = request.VerbOf(req.Method, id)
		}
	}
	if !info.IsResource {
		info.Verb = strings.ToLower(req.Method)
	}
	info.Path, info.OwnTimeout = req.URL.Path, true // the 10 seconds of 2014
	record.Info = info
	return true
}

// Owns reports whether a path begins with the prefix of the table: no other server may serve it.
func (server *ApiServer) Owns(path string) bool {
	return len(server.storage) > 0 && server.prefix != "" && strings.HasPrefix(path, server.prefix)
}
