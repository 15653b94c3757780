package patch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxOperations bounds a JSON patch, as in today's server.
const maxOperations = 10000

// maxMoves bounds the cost of a JSON patch, whose operations may each move all entries of
// the object's longest list. An object has about as many entries as commas.
const maxMoves = 50_000_000

// maxScanned bounds the cost of a JSON patch with long paths, in bytes: for each member of a
// path, all of the member's contents are parsed again.
const maxScanned = 64 << 20

func parseJSON(body []byte, _ []any, into *Patch) error {
	operations, err := jsonpatch.DecodePatch(body)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := checkTypes(operations); err != nil {
		return err
	}
	if len(operations) > maxOperations {
		return tooLarge("The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(operations))
	}
	members := deepest(operations)
	into.apply = func(text []byte) ([]byte, error) {
		if len(operations)*bytes.Count(text, []byte(",")) > maxMoves || members*(len(text)+len(body)) > maxScanned {
			return nil, tooLarge("the object is too large for %d operations of a JSON patch", len(operations))
		}
		return applyAll(operations, text)
	}
	return nil
}

// checkTypes refuses an operation whose op, path or from is not a string. The library would treat it as missing.
func checkTypes(operations jsonpatch.Patch) error {
	for i, operation := range operations {
		for _, name := range []string{"op", "path", "from"} {
			var text *string
			if value := operation[name]; value != nil && json.Unmarshal(*value, &text) != nil {
				return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %s of operation %d is not a string", name, i))
			}
		}
	}
	return nil
}

// applyAll converts a panic of the library into an error. A test of the whole object against
// no value panics.
func applyAll(operations jsonpatch.Patch, text []byte) (after []byte, err error) {
	defer func() {
		if recover() != nil {
			err = unprocessable(errors.New("the operations of the patch cannot be applied"))
		}
	}()
	if after, err = operations.Apply(text); err != nil {
		return nil, &inapplicable{unprocessable(err), err}
	}
	return after, nil
}

// inapplicable is the status of a JSON patch that cannot be applied, and why.
type inapplicable struct {
	error
	why error
}

// Unwrap lets callers find both.
func (i *inapplicable) Unwrap() []error { return []error{i.error, i.why} }

// IsFailedTest reports whether a JSON patch cannot be applied because a test of it failed.
func IsFailedTest(err error) bool { return errors.Is(err, jsonpatch.ErrTestFailed) }

// Why returns why a JSON patch cannot be applied, for people.
func Why(err error) error {
	if of := (*inapplicable)(nil); errors.As(err, &of) {
		return of.why
	}
	return err
}

// deepest returns the number of members in the longest path of a JSON patch.
func deepest(patch jsonpatch.Patch) (members int) {
	for _, operation := range patch {
		path, _ := operation.Path() // an operation without a path is refused when it is applied
		from, _ := operation.From()
		members = max(members, strings.Count(path, "/"), strings.Count(from, "/"))
	}
	return members
}
