package filters

import (
	"net/http"

	"kube2014/pkg/server/request"
)

// WithRequestInfo finds out what a request asks for, for all handlers after it. Where there are no
// guards and no audit, the response tells it those who need it: a context costs a GET a fortieth of its time.
func WithRequestInfo(next http.Handler, api API, needed bool) http.Handler {
	if !needed {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		next.ServeHTTP(w, req.WithContext(request.WithInfo(req.Context(), *infoOf(w, req, api))))
	})
}

// infoOf returns what a request asks for. It is found out once for a request, as long as its context
// or its response can keep it. It is only read.
func infoOf(w http.ResponseWriter, req *http.Request, api API) *request.Info {
	if info := request.InfoOf(w, req); info != nil {
		return info
	}
	if answer, ok := w.(*response); ok {
		answer.info, answer.hasInfo = api.RequestInfo(req), true
		return &answer.info
	}
	info := api.RequestInfo(req)
	return &info
}
