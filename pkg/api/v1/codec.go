package v1

import (
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/conversion"
)

// Head returns what the JSON of an object begins with. Its item follows, without the opening
// brace.
func Head(apiVersion, kind string) []byte {
	return []byte(`{"kind":` + strconv.Quote(kind) + `,"apiVersion":` + strconv.Quote(apiVersion) + `,`)
}

// ListMeta is what a list says of itself.
type ListMeta struct {
	Version   uint64 // of the store, at the moment of which the list is
	Continue  string // the token for the next page, "" for none
	Remaining int64  // how many items the next pages have
}

// EncodeList returns the answer with a list of items.
func EncodeList(apiVersion, kind string, meta ListMeta, items [][]byte) conversion.Encoded {
	head := `{"kind":` + strconv.Quote(kind) + `,"apiVersion":` + strconv.Quote(apiVersion) +
		`,"metadata":{"resourceVersion":"` + strconv.FormatUint(meta.Version, 10) + `"`
	if meta.Continue != "" {
		head += `,"continue":` + strconv.Quote(meta.Continue)
	}
	if meta.Remaining != 0 {
		head += `,"remainingItemCount":` + strconv.FormatInt(meta.Remaining, 10)
	}
	return conversion.EncodedList([]byte(head+`},"items":[`), []byte(","), []byte("]}\n"), items)
}

// Encode returns the answer with an object of a versioned type, which has its kind set.
func Encode(object runtime.Object) (conversion.Encoded, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return conversion.Encoded{}, err
	}
	return conversion.EncodedBytes(append(text, '\n')), nil
}
