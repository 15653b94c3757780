// Package patch applies patches to the JSON of objects, at a bounded cost.
package patch

import (
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// ErrUnknownType is the error for an unsupported type of patch.
var ErrUnknownType = errors.New("an unknown type of patch")

// Patch is a parsed patch. It is safe for concurrent use.
type Patch struct {
	// Twice has an error for each member that the patch repeats; the last one counts.
	Twice  []error
	apply  func(text []byte) ([]byte, error)
	merges map[string]any // of a strategic merge patch
}

// Parse parses a patch of a type. Errors are ErrUnknownType or statuses.
func Parse(patchType types.PatchType, body []byte) (*Patch, error) {
	switch patchType {
	case types.JSONPatchType:
		return parse[[]any](body, "error decoding patch: ", parseJSON)
	case types.MergePatchType:
		return parse[map[string]any](body, "error decoding patch: ", parseMerge)
	case types.StrategicMergePatchType:
		return parse[map[string]any](body, "", parseStrategic)
	}
	return nil, ErrUnknownType
}

// parse parses a patch whose JSON decodes into a Value.
func parse[Value any](body []byte, problem string, read func(body []byte, value Value, into *Patch) error) (*Patch, error) {
	var value Value
	twice, err := kjson.UnmarshalStrict(body, &value)
	if err != nil {
		return nil, apierrors.NewBadRequest(problem + err.Error())
	}
	patch := &Patch{Twice: twice}
	if err := read(body, value, patch); err != nil {
		return nil, err
	}
	return patch, nil
}

// Apply returns the patched JSON of an object. Errors are statuses.
func (p *Patch) Apply(text []byte) ([]byte, error) { return p.apply(text) }

func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

func tooLarge(format string, args ...any) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(format, args...))
}

// maxCopied bounds the data that a JSON patch copies, in bytes. It equals the limit of a body.
const maxCopied = 3 << 20

func init() {
	jsonpatch.AccumulatedCopySizeLimit = maxCopied // a global variable of the library
}
