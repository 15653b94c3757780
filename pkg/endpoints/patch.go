package endpoints

import (
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/api/v1/patch"
	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/endpoints/negotiation"
	"kube2014/pkg/endpoints/query"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

func (r *call) patch() error {
	storage, err := storageAs[rest.Updater](r)
	if _, unreadable := storageAs[rest.Getter](r); err != nil || unreadable != nil || r.info.Name == "" {
		return notAllowed()
	}
	kind := types.PatchType(bodies.Type(r.Header))
	options, err := query.PatchOptions(r.URL.Query(), kind)
	if err != nil {
		return err
	}
	body, err := bodies.Read(r.W, r.Request)
	if err != nil {
		return err
	}
	request.ObserverFrom(r.Context()).RequestObject(body)
	if kind == types.ApplyYAMLPatchType {
		return r.apply(storage, &options, body)
	}
	if _, untyped := storage.New().(*unstructured.Unstructured); untyped && kind == types.StrategicMergePatchType {
		return negotiation.Unsupported(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "the body of the request was in an unknown format - "+
			"accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml")
	}
	changes, err := patch.Parse(kind, body)
	if errors.Is(err, patch.ErrUnknownType) {
		return negotiation.Unsupported(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, "415: Unsupported Media Type")
	}
	if err != nil {
		return err
	}
	return r.change(storage, len(options.DryRun) > 0, &options, r.manager(options.FieldManager), func(current rest.Object) (rest.Object, error) {
		patched := storage.New()
		if current == nil {
			return nil, apierrors.NewNotFound(schema.GroupResource{Group: r.info.APIGroup, Resource: r.info.Resource}, r.info.Name)
		}
		err := r.patched(current, patched, changes, body)
		if err == nil {
			r.dropDuplicateOwners(patched, asAdmitted)
		}
		return patched, err
	})
}

// patched fills into with the patched object. It reports the duplicate fields of the patch, and the
// unknown and duplicate fields of the object.
func (r *call) patched(current, into rest.Object, changes *patch.Patch, body []byte) error {
	unknown, refuse, err := r.decoder().Patched(current, into, changes, body)
	if err != nil {
		return err
	}
	if err := r.agreeOnName(into); err != nil {
		return err
	}
	if r.Resource.Untyped.Decode == nil { // else its kind is validated
		into.GetObjectKind().SetGroupVersionKind(r.Resource.Kind)
	}
	return r.decoder().ReportUnknown(append(slices.Clone(changes.Twice), unknown...), refuse)
}
