package patch

import (
	"encoding/json"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// maxComparisons bounds a strategic merge, which compares each entry of a list with every
// other. Lists of 2,000 entries take about a second.
const maxComparisons = 4_000_000

func parseStrategic(body []byte, into *Patch) error {
	into.apply = func(text []byte, kind runtime.Object) ([]byte, error) { return mergeStrategically(text, body, kind) }
	return nil
}

func mergeStrategically(text, patch []byte, kind runtime.Object) ([]byte, error) {
	var before, changes strategicpatch.JSONMap // decoded for each object: the merge changes both
	if json.Unmarshal(text, &before) != nil || json.Unmarshal(patch, &changes) != nil {
		return nil, apierrors.NewBadRequest(mergepatch.ErrBadJSONDoc.Error())
	}
	cost := comparisons(map[string]any(changes))
	if cost > 0 { // else no list is merged
		cost += comparisons(map[string]any(before))
	}
	if cost > maxComparisons {
		return nil, tooLarge("the lists of the object or of the patch are too long for a strategic merge patch: use a merge patch or a JSON patch")
	}
	after, err := strategicpatch.StrategicMergeMapPatch(before, changes, kind)
	switch {
	case errors.Is(err, mergepatch.ErrNoListOfLists):
		return nil, unprocessable(err)
	case err != nil:
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return json.Marshal(after)
}

// comparisons returns the sum of the squares of the lengths of all lists in a value.
func comparisons(value any) (n int) {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range value {
			n += comparisons(member)
		}
	case []any:
		n = len(value) * len(value)
		for _, entry := range value {
			n += comparisons(entry)
		}
	}
	return n
}
