package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
)

func (server *ApiServer) handleHealthz(w http.ResponseWriter, req *http.Request) {
	if !server.allow(w, req, http.MethodGet) {
		return
	}
	text := "ok"
	if server.Healthz != nil {
		warnings, err := server.Healthz()
		if err != nil {
			server.error(w, req, &api.Error{Kind: api.Unavailable, Message: err.Error(), Err: errors.Unwrap(err)})
			return
		}
		text += warningLines(warnings)
	}
	server.write(w, http.StatusOK, plainText, conversion.EncodedBytes([]byte(text)))
}

// maxWarnings bounds the answer of /healthz.
const maxWarnings = 10

// warningLines returns each warning after a line break.
func warningLines(warnings []string) string {
	var lines strings.Builder
	for i, warning := range warnings {
		if i == maxWarnings {
			fmt.Fprintf(&lines, "\nwarning: and %d more", len(warnings)-i)
			break
		}
		lines.WriteString("\nwarning: " + api.Printable(warning, '?'))
	}
	return lines.String()
}
