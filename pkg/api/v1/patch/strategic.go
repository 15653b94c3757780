package patch

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// maxComparisons bounds a strategic merge, which compares each entry of a list with every
// other. Lists of 2,000 entries take about a second.
const maxComparisons = 4_000_000

func parseStrategic(_ []byte, changes map[string]any, into *Patch) error {
	if into.merges = changes; changes == nil { // null
		into.merges = map[string]any{}
	}
	return nil
}

// Merges reports whether it is a strategic merge patch, for Merge. Others are for Apply.
func (p *Patch) Merges() bool { return p.merges != nil }

// Merge returns the members of an object that results from a strategic merge patch. The kind is any object of the same kind. Errors
// are statuses.
func (p *Patch) Merge(object, kind runtime.Object) (after map[string]any, err error) {
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	cost := comparisons(p.merges)
	if cost > 0 { // else no list is merged
		cost += comparisons(before)
	}
	if cost > maxComparisons {
		return nil, tooLarge("the lists of the object or of the patch are too long for a strategic merge patch: use a merge patch or a JSON patch")
	}
	after, err = strategicpatch.StrategicMergeMapPatch(before, runtime.DeepCopyJSON(p.merges), kind) // it changes both
	switch {
	case errors.Is(err, mergepatch.ErrNoListOfLists):
		return nil, unprocessable(err)
	case err != nil:
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return after, nil
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
