package patch

import (
	"bytes"
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func parseMerge(body []byte, _ map[string]any, into *Patch) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // preserves numbers as written
	var changes map[string]any
	if err := decoder.Decode(&changes); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if changes == nil { // null
		return apierrors.NewBadRequest(jsonpatch.ErrBadJSONPatch.Error())
	}
	into.apply = func(text []byte) ([]byte, error) { return json.Marshal(merge(text, changes)) }
	return nil
}

// merge applies a merge patch to JSON, which is nil for no value. The library for JSON
// patches can do so too, but parses the contents of a member again at each level: a deeply
// nested patch of a few kilobytes takes it minutes.
func merge(text json.RawMessage, patch any) any {
	var before map[string]json.RawMessage // nil if the text is not an object: the patch replaces it
	if json.Unmarshal(text, &before) != nil {
		before = nil
	}
	changes, isObject := patch.(map[string]any)
	switch {
	case !isObject && before == nil:
		return withoutNulls(patch)
	case !isObject:
		return patch
	}
	after := make(map[string]any, len(before)+len(changes))
	for name, value := range before {
		after[name] = value
	}
	for name, change := range changes {
		if change == nil {
			delete(after, name)
		} else {
			after[name] = merge(before[name], change)
		}
	}
	return after
}

// withoutNulls removes null members from the objects in a list, as that library does.
func withoutNulls(value any) any {
	list, isList := value.([]any)
	if !isList {
		return value
	}
	cleaned := make([]any, len(list))
	for i, entry := range list {
		cleaned[i] = merge(nil, entry)
	}
	return cleaned
}
