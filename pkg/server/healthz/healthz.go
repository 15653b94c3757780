// Package healthz serves the health of a server: the results of named checks.
package healthz

import (
	"fmt"
	"log"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"kube2014/pkg/api"
)

// Check is a named health check.
type Check struct {
	Name  string
	Check func() error
}

// Ping is a check that always succeeds.
var Ping = Check{"ping", func() error { return nil }}

// Handler runs all checks that the query does not exclude. It answers "ok", or a line for each check if one
// fails or the query has verbose. Only the log has the reason of a failure.
func Handler(name string, checks func() []Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var lines strings.Builder
		status, outcome := http.StatusOK, "passed"
		excluded := req.URL.Query()["exclude"]
		isUnknown := map[string]bool{}
		for _, name := range excluded {
			isUnknown[strconv.Quote(name)] = true
		}
		for _, check := range checks() {
			if slices.Contains(excluded, check.Name) {
				delete(isUnknown, strconv.Quote(check.Name))
				fmt.Fprintf(&lines, "[+]%s excluded: ok\n", check.Name)
				continue
			}
			if err := check.Check(); err != nil {
				log.Printf("%s check %s failed: %s", name, check.Name, api.Printable(api.InFull(err), ' '))
				fmt.Fprintf(&lines, "[-]%s failed: reason withheld\n", check.Name)
				status, outcome = http.StatusInternalServerError, "failed"
				continue
			}
			fmt.Fprintf(&lines, "[+]%s ok\n", check.Name)
		}
		if len(isUnknown) > 0 {
			fmt.Fprintf(&lines, "warn: some health checks cannot be excluded: no matches for %s\n", strings.Join(slices.Sorted(maps.Keys(isUnknown)), ","))
		}
		fmt.Fprintf(&lines, "%s check %s\n", name, outcome)
		text := "ok"
		if status != http.StatusOK || req.URL.Query().Has("verbose") {
			text = lines.String()
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text)) // it fails only if the client is gone
	})
}

// Mux serves paths.
type Mux interface {
	Handle(path string, handler http.Handler)
}

// Install serves the present checks at the path of a name, and each of some checks at a path of its own.
func Install(mux Mux, name string, checks func() []Check, each ...Check) {
	mux.Handle("/"+name, Handler(name, checks))
	for _, check := range each {
		mux.Handle("/"+name+"/"+check.Name, Handler(name, func() []Check { return []Check{check} }))
	}
}
