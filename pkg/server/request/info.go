// Package request is what the handlers of the chain know of a request: what it asks for, and
// who sends it.
package request

import "net/http"

// Info is what a request asks for, as its method and its path say. What a
// context has of it is shared: nobody changes it.
type Info struct {
	Path       string
	Verb       string // get, list, watch, create, update, patch, delete or deletecollection; without a resource: the method, in lower case
	IsResource bool

	APIGroup    string
	APIVersion  string
	ServedAs    string // the version of the API at whose door it came, "" if that is APIVersion
	Resource    string
	Subresource string
	Namespace   string // "" for all, and for what has none
	Name        string // "" for all

	SelectsByField bool // the query may say fieldSelector, and what answers keeps to it
	Unlimited      bool // it may take as long as it likes
}

// Informed is a ResponseWriter that knows what its request asks for. A context would cost a copy of
// the request, which is a fortieth of the time of a GET.
type Informed interface {
	// RequestInfo returns what the request asks for, nil if nobody has said so.
	RequestInfo() *Info
}

// InfoOf returns what a request asks for, nil if neither its context nor its answer knows.
func InfoOf(w http.ResponseWriter, req *http.Request) *Info {
	if informed, ok := w.(Informed); ok {
		if info := informed.RequestInfo(); info != nil {
			return info
		}
	}
	return InfoFrom(req.Context())
}
