package filters

import (
	"log"
	"net/http"
	"strconv"
	"time"

	"kube2014/pkg/util"
)

// WithLogging logs the method and the URI of each request, as the original does, then the
// status and the time taken (D47). A silent one logs nothing.
func WithLogging(next http.Handler, silent bool) http.Handler {
	if silent {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		answer := recorded(w)
		defer logRequest(req, answer)
		next.ServeHTTP(answer, req)
	})
}

func logRequest(req *http.Request, answer *response) {
	line := make([]byte, 0, 128)                      // fmt would be slower: a GET spends a tenth of its time here
	line = append(line, util.Loggable(req.Method)...) // in HTTP/2 a method may be any text
	line = append(line, ' ')
	line = append(line, util.Loggable(req.RequestURI)...)
	line = append(line, ' ')
	line = strconv.AppendInt(line, int64(answer.status), 10)
	line = append(line, ' ')
	line = append(line, answer.took().Round(time.Microsecond).String()...)
	_ = log.Output(1, string(line)) // if the log cannot be written, nothing can report it
}
