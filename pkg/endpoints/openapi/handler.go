// Package openapi describes the API in OpenAPI 3.0, from the Go types and their own
// documentation, for kubectl explain and for kubectl's own validation.
package openapi

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/endpoints/accept"
	"kube2014/pkg/endpoints/discovery"
)

const root = "/openapi/v3"

// Documents serves /openapi/v3, an index, and the documents below it, one for each
// version of a group. All are created on the first request.
type Documents struct {
	all func() map[string]encoded // by path; the index is at root
}

type encoded struct {
	body []byte
	hash string
}

// New returns the documents of versions of groups. The types have a value, or a pointer to one,
// for each kind and each list of a kind; a kind without a type is described as any object. The
// caller must not change the versions and types afterwards.
func New(versions []discovery.Version, types map[schema.GroupVersionKind]any) *Documents {
	return &Documents{sync.OnceValue(func() map[string]encoded {
		return makeAll(versions, newKindTypes(types))
	})}
}

func makeAll(versions []discovery.Version, types kindTypes) map[string]encoded {
	type location struct {
		URL string `json:"serverRelativeURL"`
	}
	all, index := map[string]encoded{}, map[string]location{}
	for _, version := range versions {
		path, document := root+version.Path(), encode(newDocument(version, types))
		all[path] = document
		index[strings.TrimPrefix(version.Path(), "/")] = location{document.url(path)}
	}
	all[root] = encode(map[string]any{"paths": index})
	return all
}

func encode(document any) encoded {
	body, err := json.Marshal(document)
	if err != nil {
		panic(err) // not with these types
	}
	body = append(body, '\n')
	return encoded{body, fmt.Sprintf("%X", sha512.Sum512(body))}
}

// url returns the URL of this revision of a document, which never changes.
func (e encoded) url(path string) string { return path + "?hash=" + e.hash }

// ServeHTTP answers a GET.
func (d *Documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	document, ok := d.all()[path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"`+document.hash+`"`)
	if path == root {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8") // as the real server
	} else {
		w.Header().Set("Vary", "Accept")
		if !slices.ContainsFunc(accept.Parse(r.Header.Values("Accept")), accept.Range.IsJSON) {
			w.WriteHeader(http.StatusNotAcceptable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Query().Get("hash") {
		case "":
		case document.hash:
			w.Header().Set("Cache-Control", "public, immutable")
			w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
		default:
			http.Redirect(w, r, document.url(path), http.StatusMovedPermanently)
			return
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(document.body))
}
