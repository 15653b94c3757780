// Package openapi describes the API in OpenAPI 3.0 and 2.0, for kubectl explain and for the validation of clients: kinds
// with a Go type by it and its documentation, own kinds by their schemas.
package openapi

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/endpoints/accept"
	"kube2014/pkg/endpoints/discovery"
	"kube2014/pkg/rest"
)

const (
	root   = "/openapi/v3"
	pathV2 = "/openapi/v2"
)

// Version is a version of a group.
type Version struct {
	discovery.Version
	Rows []*rest.Resource // what is served, subresources too; the schemas of own kinds are theirs
}

// Documents serves /openapi/v3, an index, and the documents below it, one for each version of a group, and /openapi/v2,
// which has all of them. Each is created when it is first requested.
type Documents struct {
	all         map[string]*described // by path
	index, json func() encoded        // json and protobuf are /openapi/v2
	protobuf    func() (encoded, error)
}

// described is the document of a version.
type described struct {
	rows []*rest.Resource
	body func() []byte
	hash func() string
}

type encoded struct {
	body []byte
	hash string
}

// New returns the documents of versions of groups. The types have a value, or a pointer to one, for each kind and each
// list of a kind; a kind without a type and a schema is described as any object. The caller must not change the
// versions and types afterwards.
func New(versions []Version, types map[schema.GroupVersionKind]any) *Documents {
	return new(Documents).Next(versions, types)
}

// Next is New. The documents of versions whose rows are those of now are kept.
func (d *Documents) Next(versions []Version, types map[schema.GroupVersionKind]any) *Documents {
	next, known := &Documents{all: map[string]*described{}}, newKindTypes(types)
	for _, version := range versions {
		path := root + version.Path()
		if old := d.all[path]; old != nil && slices.Equal(old.rows, version.Rows) {
			next.all[path] = old
		} else {
			next.all[path] = describe(version, known)
		}
	}
	next.index = sync.OnceValue(next.makeIndex)
	next.json = sync.OnceValue(func() encoded { return encode(newDocumentV2(versions, known)) })
	next.protobuf = sync.OnceValues(func() (encoded, error) { return inProtobuf(next.json()) })
	return next
}

// describe returns the document of a version. The hash is that of its text or, if it has own kinds, of what it is made
// of: there may be very many, which nobody will read.
func describe(version Version, types kindTypes) *described {
	text := sync.OnceValue(func() encoded { return encode(newDocument(version, types)) })
	d := &described{version.Rows, func() []byte { return text().body }, func() string { return text().hash }}
	if slices.ContainsFunc(version.Rows, func(row *rest.Resource) bool { return row.Schema != nil }) {
		d.hash = sync.OnceValue(func() string {
			build, _ := debug.ReadBuildInfo() // the rest of the document is of this program
			sources := []any{build, version.Resources}
			for _, row := range version.Rows {
				if row.Schema != nil {
					sources = append(sources, schemaOf(row))
				}
			}
			return encode(sources).hash
		})
	}
	return d
}

func (d *Documents) makeIndex() encoded {
	type location struct {
		URL string `json:"serverRelativeURL"`
	}
	index := map[string]location{}
	for path, document := range d.all {
		index[strings.TrimPrefix(path, root+"/")] = location{document.url(path)}
	}
	return encode(map[string]any{"paths": index})
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
func (d *described) url(path string) string { return path + "?hash=" + d.hash() }

// ServeHTTP answers a GET.
func (d *Documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch document := d.all[path]; {
	case path == root:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8") // as the real server
		write(w, r, d.index())
	case path == pathV2:
		d.serveV2(w, r)
	case document != nil:
		document.serve(w, r, path)
	default:
		http.NotFound(w, r)
	}
}

func (d *described) serve(w http.ResponseWriter, r *http.Request, path string) {
	w.Header().Set("Vary", "Accept")
	if !slices.ContainsFunc(accept.Parse(r.Header.Values("Accept")), accept.Range.IsJSON) {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Query().Get("hash") {
	case "":
	case d.hash():
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	default:
		http.Redirect(w, r, d.url(path), http.StatusMovedPermanently)
		return
	}
	write(w, r, encoded{d.body(), d.hash()})
}

// write answers with a text, or that the client has it already.
func write(w http.ResponseWriter, r *http.Request, document encoded) {
	w.Header().Set("ETag", `"`+document.hash+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(document.body))
}
