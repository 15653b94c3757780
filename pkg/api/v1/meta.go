package v1

import (
	"encoding/json"
	"strconv"

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
