package rest

import (
	"context"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/runtime"
)

// Connecter connects a client with a process that is behind an object: with a web server or, if IsStream, by a stream of another protocol
// that the client upgrades its connection to.
type Connecter interface {
	IsStream() bool
	// ConnectOptions returns the options in the query of a URL, with their kind. Below is the rest of its path, "" for none.
	ConnectOptions(query url.Values, below string) (runtime.Object, error)
	// Connect returns where a request with such options goes.
	Connect(ctx context.Context, key Key, options runtime.Object) (*Location, error)
}

// ConnectMethods returns the methods of HTTP by which a client may ask.
func ConnectMethods(storage Connecter) []string {
	methods := []string{http.MethodGet, http.MethodPost} // a browser can begin a stream only by GET
	if !storage.IsStream() {
		methods = append(methods, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions)
	}
	return methods
}

// Location is where a request is sent on. It belongs to the caller. For a web server, the query is the client's.
type Location struct {
	URL       *url.URL
	Transport http.RoundTripper // speaks HTTP/1.1 only, which alone can be upgraded
}
