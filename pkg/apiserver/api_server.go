// Package apiserver serves resources over HTTP. It knows no resource by name:
// each one is a RESTStorage.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/server/request"
)

// RESTStorage stores the objects of one resource. Its methods are called
// concurrently. An *api.Error is answered with the status of its kind, any other
// error with 500.
type RESTStorage interface {
	// List returns the collection, filtered by the URL's query.
	List(*url.URL) (interface{}, error)
	// Get returns the object, or an api.NotFound error.
	Get(id string) (interface{}, error)
	// Delete removes the object, or returns an api.NotFound error.
	Delete(id string) error
	// Extract decodes an object from a request's body. It need only check the
	// types: Create and Update check the values.
	Extract(body string) (interface{}, error)
	// Create stores an object that Extract returned, and does not change it.
	Create(interface{}) error
	// Update replaces an object by one that Extract returned, and does not
	// change it.
	Update(interface{}) error
}

// Identified is an object that has an id. PUT compares it with the id in the
// path (D13).
type Identified interface {
	// GetID returns the id, "" when there is none.
	GetID() string
	// WithID returns a copy of the object that has the id.
	WithID(id string) interface{}
}

// Status is the answer to a request that returns no object.
type Status struct {
	Success bool `json:"success"` // exported, unlike in the original: D15
}

// MaxBodySize is the size of the largest accepted body, in bytes (D29).
const MaxBodySize = 1 << 20

// ApiServer serves a table of RESTStorage over HTTP:
//
//	GET    /                    a greeting
//	GET    /healthz             "ok", or what is wrong with the store
//	GET    PREFIX/RESOURCE      the list, filtered by ?labels=k=v,k2=v2
//	POST   PREFIX/RESOURCE      create the object in the body
//	GET    PREFIX/RESOURCE/ID   the object
//	PUT    PREFIX/RESOURCE/ID   replace the object by the one in the body
//	DELETE PREFIX/RESOURCE/ID   delete the object
//
// HEAD is served wherever GET is. It is safe for concurrent use.
type ApiServer struct {
	// Healthz returns an error if the store cannot be used; GET /healthz then answers
	// 503. Warnings report problems that do not prevent serving: each is a line after
	// the ok of a 200. If Healthz is nil, /healthz always answers ok. Set it before
	// serving.
	Healthz func() (warnings []string, err error)

	// KnownAs maps each resource to the description of its requests for the filters, such as
	// authorization. It is read-only. Set it before serving.
	KnownAs map[string]request.RequestInfo

	// Admission decides about changes of objects. If it is nil, all are admitted. Set it
	// before serving.
	Admission Admission

	prefix  string
	storage map[string]RESTStorage
}

// Admission decides about changes.
type Admission interface {
	// Admit returns the object to store or to delete, or an error that refuses the change. The object
	// is nil if the one to delete cannot be decoded. If err is nil, the caller must call ended with the
	// outcome. A resource without admission is always admitted. If the outcome is api.ErrOutdated, the
	// change is admitted again, for a limited time.
	Admit(ctx context.Context, change Change) (object interface{}, ended func(outcome error), err error)
}

// AdmittedDeleter is an optional interface of a RESTStorage. DeleteAdmitted deletes an object if it has
// not changed since its admission; otherwise it returns api.ErrOutdated.
type AdmittedDeleter interface {
	DeleteAdmitted(object api.Object) error
}

// Change is the change that a request makes.
type Change struct {
	Verb     string // create, update or delete
	Resource string
	ID       string      // in the path; "" for a create
	Object   interface{} // the result of Extract, for an update with the path's id; nil for a delete
}

// New returns a server of the storages, keyed by the name of their resource,
// below the prefix. The caller must not change the map afterwards.
func New(storage map[string]RESTStorage, prefix string) *ApiServer {
	return &ApiServer{prefix: strings.TrimRight(prefix, "/"), storage: storage}
}

// ServeHTTP answers one request.
func (server *ApiServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	below, isREST := server.below(req)
	switch path := req.URL.Path; {
	case path == "/", path == "/index.html":
		server.handleIndex(w, req)
	case path == "/healthz":
		server.handleHealthz(w, req)
	case isREST:
		server.handleREST(strings.Split(below, "/"), w, req)
	default:
		server.notFound(w, req)
	}
}

// below returns the part of a path after the prefix.
func (server *ApiServer) below(req *http.Request) (rest string, ok bool) {
	return strings.CutPrefix(req.URL.Path, server.prefix+"/") // D2: the prefix ends at a slash
}

func (server *ApiServer) handleIndex(w http.ResponseWriter, req *http.Request) {
	if !server.allow(w, req, http.MethodGet) {
		return
	}
	server.write(w, http.StatusOK, "text/html; charset=utf-8", conversion.EncodedBytes([]byte("<html><body>Welcome to Kubernetes</body></html>")))
}

// handleREST answers a request below the prefix; parts is the rest of its
// path: a resource, or a resource and an id.
func (server *ApiServer) handleREST(parts []string, w http.ResponseWriter, req *http.Request) {
	storage := server.storage[parts[0]]
	switch {
	case storage == nil:
		server.notFound(w, req)
	case len(parts) == 1, len(parts) == 2 && parts[1] == "": // D4: RESOURCE/ is the collection
		if server.allow(w, req, http.MethodGet, http.MethodPost) {
			object, err := server.handleCollection(parts[0], storage, w, req)
			server.answer(w, req, object, err)
		}
	case len(parts) == 2:
		if server.allow(w, req, http.MethodGet, http.MethodPut, http.MethodDelete) {
			object, err := server.handleObject(parts[0], storage, parts[1], w, req)
			server.answer(w, req, object, err)
		}
	default:
		server.notFound(w, req)
	}
}

func (server *ApiServer) handleCollection(resource string, storage RESTStorage, w http.ResponseWriter, req *http.Request) (interface{}, error) {
	if req.Method != http.MethodPost {
		return storage.List(req.URL)
	}
	object, err := server.extract(storage, w, req)
	if err != nil {
		return nil, err
	}
	return server.admit(req, Change{"create", resource, "", object}, storage.Create)
}

func (server *ApiServer) handleObject(resource string, storage RESTStorage, id string, w http.ResponseWriter, req *http.Request) (interface{}, error) {
	switch req.Method {
	case http.MethodDelete:
		_, err := server.admit(req, Change{"delete", resource, id, nil}, func(object interface{}) error { return remove(storage, id, object) })
		return Status{Success: true}, err
	case http.MethodPut:
		object, err := server.extract(storage, w, req)
		if err != nil {
			return nil, err
		}
		if object, err = agreeOnID(object, id); err != nil {
			return nil, err
		}
		return server.admit(req, Change{"update", resource, id, object}, storage.Update)
	}
	return storage.Get(id)
}

// remove deletes an object; an admitted one only if it has not changed since.
func remove(storage RESTStorage, id string, admitted interface{}) error {
	object, known := admitted.(api.Object)
	deleter, ok := storage.(AdmittedDeleter)
	if !known || !ok {
		return storage.Delete(id)
	}
	return deleter.DeleteAdmitted(object)
}

// admit applies a change if it is admitted, and returns the stored object. An outdated change is admitted
// again, but not forever.
func (server *ApiServer) admit(req *http.Request, change Change, apply func(object interface{}) error) (interface{}, error) {
	if server.Admission == nil {
		return change.Object, apply(change.Object)
	}
	for began := time.Now(); ; {
		object, ended, err := server.Admission.Admit(req.Context(), change)
		if err != nil {
			return nil, err
		}
		err = apply(object)
		ended(err)
		if !errors.Is(err, api.ErrOutdated) || time.Since(began) > admissionTime {
			return object, err
		}
	}
}

// admissionTime bounds repeated admission of a change while others change the object first. The answer
// has 10 seconds.
const admissionTime = 2 * time.Second

// agreeOnID gives an object without an id the id of the path, and refuses an
// object with a different id (D13).
func agreeOnID(object interface{}, id string) (interface{}, error) {
	identified, ok := object.(Identified)
	if !ok {
		return object, nil
	}
	switch own := identified.GetID(); own {
	case id:
		return object, nil
	case "":
		return identified.WithID(id), nil
	default:
		return nil, api.NewInvalid("id", "%s in the body differs from %s in the path", api.Quote(own), api.Quote(id))
	}
}

func (server *ApiServer) extract(storage RESTStorage, w http.ResponseWriter, req *http.Request) (interface{}, error) {
	body, err := server.readBody(w, req)
	if err != nil {
		return nil, err
	}
	object, err := storage.Extract(body)
	if err == nil {
		observe(req, object)
	}
	return object, err
}

// observe passes the object to the request's observer, but not the rest of the body: that may be a secret.
func observe(req *http.Request, object interface{}) {
	record := request.RecordOf(req.Context())
	if record == nil || record.Observer == nil {
		return
	}
	if encoded, err := v1beta1.Codec.Encode(object); err == nil { // otherwise the answer reports the error
		record.Observer.RequestObject(encoded.Bytes())
	}
}

func (server *ApiServer) readBody(w http.ResponseWriter, req *http.Request) (string, error) {
	tooLarge := req.ContentLength > MaxBodySize
	var body []byte
	if !tooLarge {
		var err error
		body, err = io.ReadAll(http.MaxBytesReader(w, req.Body, MaxBodySize))
		var limit *http.MaxBytesError
		if tooLarge = errors.As(err, &limit); err != nil && !tooLarge {
			// The deadline may have passed: allow another second for the answer.
			// The error is ignored, because a connection without deadlines needs
			// none.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Second))
			return "", &api.Error{Kind: api.Invalid, Field: "body", Message: "is incomplete: the client stopped sending it or was too slow", Err: err}
		}
	}
	if tooLarge {
		w.Header().Set("Connection", "close")
		return "", &api.Error{Kind: api.TooLarge, Message: fmt.Sprintf("the body has more than %d bytes", MaxBodySize)}
	}
	return string(body), nil
}
