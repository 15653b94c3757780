package endpoints

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/endpoints/decoding"
	"kube2014/pkg/endpoints/negotiation"
	"kube2014/pkg/endpoints/responsewriters"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// call is one request to a resource.
type call struct {
	responsewriters.Response
	info   *request.RequestInfo
	server *Server
}

// serve answers the request, or returns an error. A request whose answer the client would not accept
// changes nothing.
func (r *call) serve() error {
	if storage, ok := r.Resource.Storage.(rest.Connecter); ok {
		return r.connect(storage)
	}
	if err := r.negotiate(); err != nil {
		return err
	}
	if wrong := path.IsValidPathSegmentName(r.info.Name); len(wrong) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", r.info.Name, strings.Join(wrong, ";")))
	}
	switch r.info.Verb {
	case "get":
		return r.get()
	case "list":
		return r.list()
	case "watch":
		return r.watch()
	case "create":
		return r.create()
	case "update":
		return r.update()
	case "patch":
		return r.patch()
	case "delete":
		return r.delete()
	case "deletecollection":
		return r.deleteCollection()
	}
	return notAllowed()
}

// negotiate sets the form of the answer. The error is that of a client who does not accept what can be answered.
func (r *call) negotiate() (err error) {
	if r.Form, err = negotiation.Negotiate(r.Header.Values("Accept"), r.info.Verb, r.Resource); err != nil {
		return err
	}
	switch r.Form.As {
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return r.Form.CheckIsList(r.info.Verb, r.Resource)
	case "Table":
		r.Include = metav1.IncludeObjectPolicy(r.URL.Query().Get("includeObject"))
		if errs := validation.ValidateTableOptions(&metav1.TableOptions{IncludeObject: r.Include}); len(errs) > 0 {
			return apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs[0]))
		}
	}
	return nil
}

func (r *call) decoder() decoding.Decoder {
	return decoding.Decoder{Request: r.Request, W: r.W, Resource: r.Resource, Warn: r.Warn}
}

func (r *call) key() rest.Key { return rest.Key{Namespace: r.info.Namespace, Name: r.info.Name} }

// storageAs returns the storage if it has a verb, and else a 405.
func storageAs[Verb any](r *call) (Verb, error) {
	storage, ok := r.Resource.Storage.(Verb)
	if !ok {
		return storage, notAllowed()
	}
	return storage, nil
}

func notAllowed() error {
	return apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, "", schema.GroupResource{}, "", "", 0, false)
}
