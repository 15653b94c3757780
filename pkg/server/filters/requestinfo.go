package filters

import (
	"net/http"
	"time"

	"kube2014/pkg/server/request"
)

// WithRequestInfo finds out what a request asks for, which of some servers it is for, and which resource of
// that server, for all handlers after it. The servers are asked in their order; the last one takes what no
// other does.
func WithRequestInfo(next http.Handler, servers []request.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		e := &exchange{context: request.Context{Context: req.Context()}, response: response{ResponseWriter: w, start: time.Now()}}
		record := &e.context.Record
		record.Received = e.response.start
		for _, record.Server = range servers {
			if record.Server.Serves(req, record) {
				break
			}
		}
		next.ServeHTTP(&e.response, req.WithContext(&e.context))
	})
}

// exchange is what the chain knows of a request and of its answer: one object, as each costs a GET a hundredth.
type exchange struct {
	context  request.Context
	response response
}

// Serve lets the server answer a request that it is for.
func Serve(w http.ResponseWriter, req *http.Request) {
	request.RecordOf(req.Context()).Server.ServeHTTP(w, req)
}
