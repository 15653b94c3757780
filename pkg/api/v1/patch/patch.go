// Package patch applies patches to the JSON of objects, with bounds on what that costs.
package patch

import (
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
)

// ErrUnknownType is that of a patch in a form that is not known.
var ErrUnknownType = errors.New("an unknown type of patch")

// Patch is how an object is to change. It is safe for concurrent use.
type Patch struct {
	// Twice are the members that the patch gives more than once; the last one counts.
	Twice []error
	apply func(text []byte, kind runtime.Object) ([]byte, error)
}

// Parse reads a patch of a type.
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

// parse reads a patch that is a value of JSON of a type.
func parse[Value any](body []byte, problem string, read func(body []byte, into *Patch) error) (*Patch, error) {
	var value Value
	twice, err := kjson.UnmarshalStrict(body, &value)
	if err != nil {
		return nil, apierrors.NewBadRequest(problem + err.Error())
	}
	patch := &Patch{Twice: twice}
	if err := read(body, patch); err != nil {
		return nil, err
	}
	return patch, nil
}

// Apply returns the patched JSON of an object. The kind is any object of that kind. Errors
// are statuses.
func (p *Patch) Apply(text []byte, kind runtime.Object) ([]byte, error) { return p.apply(text, kind) }

func unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
}

func tooLarge(format string, args ...any) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(format, args...))
}

// maxCopied bounds what a JSON patch copies, in bytes. It is as large as a body may be.
const maxCopied = 3 << 20

func init() {
	jsonpatch.AccumulatedCopySizeLimit = maxCopied // the library has it as a variable
}
