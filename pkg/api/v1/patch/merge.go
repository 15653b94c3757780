package patch

import (
	"bytes"
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
)

func parseMerge(body []byte, into *Patch) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // they stay as they are written
	var changes map[string]any
	if err := decoder.Decode(&changes); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if changes == nil { // null
		return apierrors.NewBadRequest(jsonpatch.ErrBadJSONPatch.Error())
	}
	into.apply = func(text []byte, _ runtime.Object) ([]byte, error) { return json.Marshal(merged(text, changes)) }
	return nil
}

// merged applies a merge patch to JSON, nil for none. The library that edits objects by
// JSON patches has that too, but reads all that is in a member again for each member: a
// patch of a few kilobytes that is deep enough takes it minutes.
func merged(text json.RawMessage, patch any) any {
	var before map[string]json.RawMessage // none if the text is no object: all of it is replaced
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
			after[name] = merged(before[name], change)
		}
	}
	return after
}

// withoutNulls removes the members that are null from objects in a list, as that library does.
func withoutNulls(value any) any {
	list, isList := value.([]any)
	if !isList {
		return value
	}
	cleaned := make([]any, len(list))
	for i, entry := range list {
		cleaned[i] = merged(nil, entry)
	}
	return cleaned
}
