package v1

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/api"
)

// Namespace is that of the objects of June 2014, which had none.
const Namespace = metav1.NamespaceDefault

// inMeta splits metadata into the part that all internal objects have and the rest, which
// has the labels. The store sets the version.
func inMeta(meta metav1.ObjectMeta) (in api.ObjectMeta, rest metav1.ObjectMeta) {
	in = api.ObjectMeta{Namespace: meta.Namespace, UID: string(meta.UID), CreationTime: meta.CreationTimestamp.Time, Annotations: meta.Annotations,
		ManagedFields: inManagedFields(meta.ManagedFields)}
	meta.Name, meta.Namespace, meta.Annotations = "", "", nil
	meta.UID, meta.ResourceVersion, meta.CreationTimestamp = "", "", metav1.Time{}
	meta.SelfLink, meta.ManagedFields = "", nil
	return in, meta
}

// outMeta completes metadata that was decoded from the object's remainder.
func outMeta(meta *metav1.ObjectMeta, object api.Object) {
	in, key := object.Meta(), object.Key()
	meta.Name, meta.Namespace, meta.Annotations = key.ID, key.Namespace, in.Annotations
	meta.UID = types.UID(api.UIDOf(object))
	meta.ResourceVersion = ""
	if in.ResourceVersion != 0 {
		meta.ResourceVersion = strconv.FormatUint(in.ResourceVersion, 10)
	}
	meta.CreationTimestamp = metav1.Time{Time: in.CreationTime}
}

// EncodeMetadata returns the JSON of the metadata of an object of a kind that June 2014 does not know.
func EncodeMetadata(object *api.Any) ([]byte, error) {
	var partial metav1.PartialObjectMetadata
	if err := decodeRemainder(object, &partial); err != nil {
		return nil, err
	}
	outMeta(&partial.ObjectMeta, object)
	partial.Labels, partial.ManagedFields = object.Labels, ManagedFields(object)
	return json.Marshal(partial.ObjectMeta)
}

// empties has the JSON of empty structs, []byte by reflect.Type.
var empties sync.Map

// encodeRest returns the JSON of the rest of an object, "" if it is that of an empty one. The rest is a struct, or a pointer to it.
func encodeRest(rest any) (api.Remainder, error) {
	text, err := json.Marshal(rest)
	if err != nil {
		return "", err
	}
	of := reflect.Indirect(reflect.ValueOf(rest)).Type()
	empty, known := empties.Load(of)
	if !known {
		if empty, err = json.Marshal(reflect.New(of).Interface()); err != nil {
			return "", err
		}
		empties.Store(of, empty)
	}
	if bytes.Equal(text, empty.([]byte)) {
		text = nil
	}
	return api.MakeRemainder(text), nil
}

func decodeRest[Object any](object api.Object) (rest Object, err error) {
	err = decodeRemainder(object, &rest)
	return rest, err
}

// decodeRemainder decodes the remainder of an object into another one. The error names the object: another
// program may have written the remainder.
func decodeRemainder(object api.Object, into any) error {
	remainder := object.Meta().Remainder
	if remainder == "" {
		return nil
	}
	if err := json.Unmarshal(remainder.Text(), into); err != nil {
		return fmt.Errorf("the remainder of %s %s: %w", object.Key().Kind, api.Quote(object.Key().ID), err)
	}
	return nil
}
