// Package request is what the handlers of the chain know of a request: what it asks for, and
// who sends it.
package request

// Info is what a request asks for, as its method and its path say. What a
// context has of it is shared: nobody changes it.
type Info struct {
	Path       string
	Verb       string // get, list, watch, create, update, patch, delete or deletecollection; without a resource: the method, in lower case
	IsResource bool

	APIGroup    string
	APIVersion  string
	Resource    string
	Subresource string
	Namespace   string // "" for all, and for what has none
	Name        string // "" for all

	SelectsByField bool // the query may say fieldSelector, and what answers keeps to it
	Unlimited      bool // it may take as long as it likes
}
