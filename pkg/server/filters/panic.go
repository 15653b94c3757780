package filters

import (
	"log"
	"net/http"
	"runtime/debug"

	"kube2014/pkg/api"
	"kube2014/pkg/util"
)

// WithPanicRecovery logs a panic with its stack, and answers 500 (D48). If the answer has
// begun, it closes the connection.
func WithPanicRecovery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		answer := recorded(w)
		defer func() {
			reason := recover()
			switch reason {
			case nil:
				return
			case http.ErrAbortHandler:
				panic(reason)
			}
			failed, ok := reason.(panicked)
			if !ok {
				failed = panicked{reason, debug.Stack()}
			}
			failed.log(req)
			if answer.status != 0 {
				panic(http.ErrAbortHandler)
			}
			fail(answer, req, &api.Error{Kind: api.Internal, Message: "the request failed; the server's log has the reason"})
		}()
		next.ServeHTTP(answer, req)
	})
}

// panicked is a panic, possibly of another goroutine.
type panicked struct {
	reason interface{}
	stack  []byte
}

func (p panicked) log(req *http.Request) {
	log.Printf("panic in %s %s: %v\n%s", util.Loggable(req.Method), util.Loggable(req.RequestURI), p.reason, p.stack)
}
