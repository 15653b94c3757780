package v1

import (
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/api/conversion"
)

// ListMeta is the metadata of a list.
type ListMeta struct {
	Version   uint64 // the version of the store that the list shows
	Continue  string // the token for the next page, "" for none
	Remaining int64  // the number of items on the next pages
	Untyped   bool   // the kind has no Go type: then today's server sends an empty token too
}

// headOf returns the beginning of the JSON of an object or of a list.
func headOf(apiVersion, kind string) string {
	return `{"kind":` + strconv.Quote(kind) + `,"apiVersion":` + strconv.Quote(apiVersion) + `,`
}

// EncodeList returns the JSON of a list of n items.
func EncodeList(apiVersion, kind string, meta ListMeta, n int, add conversion.AddItem) (conversion.Encoded, error) {
	head := headOf(apiVersion, kind) + `"metadata":{"resourceVersion":"` + strconv.FormatUint(meta.Version, 10) + `"`
	if meta.Continue != "" || meta.Untyped {
		head += `,"continue":` + strconv.Quote(meta.Continue)
	}
	if meta.Remaining != 0 {
		head += `,"remainingItemCount":` + strconv.FormatInt(meta.Remaining, 10)
	}
	return conversion.EncodedItems(n, func(parts *conversion.Parts, i int) error {
		if i > 0 {
			parts.Add(comma)
		}
		return add(parts, i)
	}, func(int) (_, _ []byte) { return []byte(head + `},"items":[`), []byte("]}\n") })
}

var comma = []byte(",")

// Encode returns the JSON of an object of a versioned type, whose kind must be set.
func Encode(object runtime.Object) (conversion.Encoded, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return conversion.Encoded{}, err
	}
	return conversion.EncodedBytes(append(text, '\n')), nil
}
