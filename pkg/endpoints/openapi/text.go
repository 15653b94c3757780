package openapi

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
	"weak"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"

	"kube2014/pkg/endpoints/accept"
)

// keptFor is how long a text is kept after it was read: all of them are some megabytes, and clients keep what they read.
const keptFor = 5 * time.Minute

// text is the text of a document. It is made when it is read, and forgotten when nobody has read it for a while. Its methods
// may be called from several goroutines.
type text struct {
	make func() ([]byte, error)

	mu     sync.Mutex
	body   []byte      // nil if it must be made
	forget *time.Timer // nil before the first get
}

func newText(make func() ([]byte, error)) *text { return &text{make: make} }

func (t *text) get() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.body == nil {
		body, err := t.make()
		if err != nil {
			return nil, err
		}
		t.body = body
	}
	if t.forget == nil {
		self := weak.Make(t) // the timer does not keep the documents of a catalog that has changed
		t.forget = time.AfterFunc(keptFor, func() {
			if t := self.Value(); t != nil {
				t.drop()
			}
		})
	} else {
		t.forget.Reset(keptFor)
	}
	return t.body, nil
}

func (t *text) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.body = nil
}

// The types of documents in protobuf. Clients may write the first "." after "v2" or "v3" as "@".
const (
	typeProtobufV2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
	typeProtobufV3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
)

// bestOf returns the type of a document that the client likes best, "" for none.
func bestOf(r *http.Request, typeProtobuf string) string {
	// Package mime knows no types with "@".
	for _, accepted := range accept.Parse([]string{strings.ReplaceAll(strings.Join(r.Header.Values("Accept"), ","), "@", ".")}) {
		switch {
		case accepted.IsJSON():
			return typeJSON
		case accepted.Type == typeProtobuf:
			return typeProtobuf
		}
	}
	return ""
}

// inProtobufV2 returns the same document in protobuf. It fails if the schema of an own kind says what version 2 does not
// know.
func inProtobufV2(json []byte) ([]byte, error) {
	document, err := openapi_v2.ParseDocument(json)
	return marshal(document, err)
}

func inProtobufV3(json []byte) ([]byte, error) {
	document, err := openapi_v3.ParseDocument(json)
	return marshal(document, err)
}

func marshal(document proto.Message, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("parse OpenAPI: %w", err)
	}
	text, err := proto.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("write OpenAPI in protobuf: %w", err)
	}
	return text, nil
}
