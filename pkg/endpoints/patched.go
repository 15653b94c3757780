package endpoints

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"kube2014/pkg/rest"
)

// Today's server reads the result of a strategic merge out of a map, whatever kind it says
// to be, and shows the patch if something is wrong. The result of another patch is JSON,
// which is read like a body, and shown.

func (r *request) mergesStrategically() bool {
	return types.PatchType(r.mediaType()) == types.StrategicMergePatchType
}

// decodePatched reads the result of a patch, and returns what it has that its kind does not.
func (r *request) decodePatched(text []byte, into rest.Object) (unknown []error, err error) {
	if r.mergesStrategically() {
		return decodeMerged(text, into)
	}
	var named metav1.TypeMeta
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, err
	}
	kind, err := r.kindOf(named)
	if err == nil {
		err = r.isOfKind(kind)
	}
	if err != nil {
		return nil, err
	}
	return kjson.UnmarshalStrict(text, into)
}

func decodeMerged(text []byte, into rest.Object) (unknown []error, err error) {
	var members map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &members); err != nil {
		return nil, err
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(members, into, true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		return strict.Errors(), nil
	}
	return nil, err
}

// shown returns what an error about the result of a patch shows.
func (r *request) shown(after, patch []byte) string {
	var members map[string]any
	if r.mergesStrategically() && kjson.UnmarshalCaseSensitivePreserveInts(patch, &members) == nil {
		return fmt.Sprintf("%+v", members)
	}
	return string(after)
}
