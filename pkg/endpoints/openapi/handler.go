// Package openapi describes the API in OpenAPI 3.0 and 2.0, for kubectl explain and for the validation of clients: kinds
// with a Go type by it and its documentation, own kinds by their schemas.
package openapi

import (
	"bytes"
	"crypto/sha512"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube2014/pkg/endpoints/discovery"
	"kube2014/pkg/rest"
)

const (
	root     = "/openapi/v3"
	pathV2   = "/openapi/v2"
	typeJSON = "application/json"
	typeYAML = "application/yaml"
)

// Version is a version of a group.
type Version struct {
	discovery.Version
	Rows []*rest.Resource // what is served, subresources too; the schemas of own kinds are theirs
}

// Documents serves /openapi/v3, an index, and the documents below it, one for each version of a group, and /openapi/v2,
// which has all of them. Each is created when it is first requested.
type Documents struct {
	all   map[string]*described // by path
	v2    func() *described
	index func() []byte
}

// Remote is a version of a group that another server serves.
type Remote struct {
	schema.GroupVersion
	// URL is that of its document of version 3 at this server, "" for none.
	URL string
	// V2 returns the document of version 2 of the server.
	V2 func() (*spec.Swagger, error)
}

// described is a document, in JSON and in protobuf.
type described struct {
	rows           []*rest.Resource // what it describes
	json, protobuf *text
	hash           func() string // in both forms; it is kept when the document is not
}

// New returns the documents of versions of groups. The types have a value, or a pointer to one, for each kind and each
// list of a kind; a kind without a type and a schema is described as any object. The caller must not change the
// versions and types afterwards.
func New(versions []Version, types map[schema.GroupVersionKind]any) *Documents {
	return new(Documents).Next(versions, types)
}

// Next is New. The documents of versions whose rows are those of now are kept. The versions of other servers are in the index, and in the
// document of version 2; their own documents of version 3 are not served here.
func (d *Documents) Next(versions []Version, types map[schema.GroupVersionKind]any, remotes ...Remote) *Documents {
	next, known := &Documents{all: map[string]*described{}}, newKindTypes(types)
	for _, version := range versions {
		path := root + version.Path()
		if old := d.all[path]; old != nil && slices.Equal(old.rows, version.Rows) {
			next.all[path] = old
		} else {
			next.all[path] = newVersion(version, known)
		}
	}
	v2 := newDescribed(nil, func() any { return newDocumentV2(versions, known) }, inProtobufV2)
	next.v2 = func() *described { return v2 }
	if len(remotes) > 0 {
		next.v2 = eachMinute(func() *described { // the others may change, or come back
			return newDescribed(nil, func() any { return merge(newDocumentV2(versions, known), remotes) }, inProtobufV2)
		})
	}
	next.index = sync.OnceValue(func() []byte { return next.makeIndex(remotes) })
	return next
}

func newDescribed(rows []*rest.Resource, document func() any, inProtobuf func(json []byte) ([]byte, error)) *described {
	d := &described{rows: rows, json: newText(func() ([]byte, error) { return discovery.Encode(document()), nil })}
	d.protobuf = newText(func() ([]byte, error) {
		json, err := d.json.get()
		if err != nil {
			return nil, err
		}
		return inProtobuf(json)
	})
	d.hash = sync.OnceValue(func() string {
		json, _ := d.json.get() // without an error: encode has none
		return hashOf(json)
	})
	return d
}

// newVersion returns the document of a version. The hash is that of its text or, if it has own kinds, of what it is made
// of: there may be very many, which nobody will read.
func newVersion(version Version, types kindTypes) *described {
	d := newDescribed(version.Rows, func() any { return newDocument(version, types) }, inProtobufV3)
	if slices.ContainsFunc(version.Rows, func(row *rest.Resource) bool { return row.Schema != nil }) {
		d.hash = sync.OnceValue(func() string {
			build, _ := debug.ReadBuildInfo() // the rest of the document is of this program
			sources := []any{build, version.Resources}
			for _, row := range version.Rows {
				if row.Schema != nil {
					sources = append(sources, schemaOf(row))
				}
			}
			return hashOf(discovery.Encode(sources))
		})
	}
	return d
}

func (d *Documents) makeIndex(remotes []Remote) []byte {
	type location struct {
		URL string `json:"serverRelativeURL"`
	}
	index := map[string]location{}
	for path, document := range d.all {
		index[strings.TrimPrefix(path, root+"/")] = location{document.url(path)}
	}
	for _, remote := range remotes {
		if remote.URL != "" {
			index[strings.TrimPrefix(discovery.Version{GroupVersion: remote.GroupVersion}.Path(), "/")] = location{remote.URL}
		}
	}
	return discovery.Encode(map[string]any{"paths": index})
}

func hashOf(body []byte) string { return fmt.Sprintf("%X", sha512.Sum512(body)) }

// url returns the URL of this revision of a document, which never changes.
func (d *described) url(path string) string { return path + "?hash=" + d.hash() }

// ServeHTTP answers a GET.
func (d *Documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch document := d.all[path]; {
	case path == root:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8") // as the real server
		w.Header().Set("ETag", `"`+hashOf(d.index())+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(d.index()))
	case path == pathV2:
		d.v2().serve(w, r, typeProtobufV2)
	case document != nil:
		document.serveVersion(w, r, path)
	default:
		http.NotFound(w, r)
	}
}

func (d *described) serveVersion(w http.ResponseWriter, r *http.Request, path string) {
	switch r.URL.Query().Get("hash") {
	case "":
	case d.hash():
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	default:
		http.Redirect(w, r, d.url(path), http.StatusMovedPermanently)
		return
	}
	d.serve(w, r, typeProtobufV3)
}

// serve answers with a document in the form that the client likes best, or that it has it already.
func (d *described) serve(w http.ResponseWriter, r *http.Request, typeProtobuf string) {
	w.Header().Set("Vary", "Accept")
	form, best := d.json, bestOf(r, typeProtobuf)
	switch best {
	case "":
		w.WriteHeader(http.StatusNotAcceptable)
		return
	case typeProtobuf:
		form = d.protobuf
	}
	w.Header().Set("Content-Type", best)
	w.Header().Set("ETag", `"`+d.hash()+`"`)
	var body []byte
	if !strings.Contains(r.Header.Get("If-None-Match"), w.Header().Get("ETag")) { // otherwise nobody reads it
		var err error
		if body, err = form.get(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}
