package openapi

import (
	"net/http"
	"strings"
)

// Empty serves /openapi/v2 with an empty description. Clients request it for kinds that version 3
// lacks, and fail without it.
func Empty() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		contentType, body := "application/json", `{"swagger":"2.0","info":{"title":"Kubernetes","version":"v1"},"paths":{}}`
		if strings.Contains(req.Header.Get("Accept"), "protobuf") {
			contentType, body = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", "\x0a\x032.0" // its first field: swagger
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(body)) // it fails only if the client is gone
	})
}
