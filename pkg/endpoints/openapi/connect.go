package openapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// connect adds the operations of a subresource by which a client connects with another process, for each method: with a web server also those
// of the paths below it. Kind is that of the options.
func (b *builder) connect(r metav1.APIResource, kind groupKind, path, id string) {
	name, sub, _ := strings.Cut(r.Name, "/")
	methods, suffixes := []string{"get", "post"}, map[string]string{"": ""}
	if slices.Contains(r.Verbs, "delete") {
		methods, suffixes = append(methods, "delete", "head", "options", "patch", "put"), map[string]string{"": "", "/{path}": "WithPath"}
	}
	for below, suffix := range suffixes {
		parameters := inPath(path+below, kind.Kind)
		if options := b.types[kind]; options != nil {
			parameters = append(parameters, inQuery(options)...)
		}
		for _, method := range methods {
			b.put(method, path+below, "connect", title(method)+id+suffix, operation{
				Description: fmt.Sprintf("connect %s requests to %s of %s", strings.ToUpper(method), sub, b.kindOf[name]),
				Parameters:  sorted(parameters),
				Responses: map[string]response{
					"200": {http.StatusText(http.StatusOK), typed(object{Type: "string"}, "*/*")},
					"401": {Description: http.StatusText(http.StatusUnauthorized)},
				},
				Action: "connect",
				Kind:   kind,
			})
		}
	}
}
