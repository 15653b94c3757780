package servertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/endpoints/bodies"
)

// object is a pointer to one of today's objects.
type object[S any] interface {
	*S
	GetObjectKind() schema.ObjectKind
	Unmarshal([]byte) error
}

// Edit lets change read and edit the object that a client sends in protobuf. It goes on in JSON.
func Edit[S any, T object[S]](t testing.TB, req *http.Request, change func(T)) {
	text, err := io.ReadAll(req.Body)
	if err != nil {
		t.Error(err)
	}
	sent, err := bodies.Unwrap(text)
	if err != nil {
		t.Error(err)
	}
	object := T(new(S))
	if err := object.Unmarshal(sent.Raw); err != nil {
		t.Error(err)
	}
	object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(sent.APIVersion, sent.Kind))
	change(object)
	if text, err = json.Marshal(object); err != nil {
		t.Error(err)
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	req.Header.Set("Content-Type", runtime.ContentTypeJSON)
}
