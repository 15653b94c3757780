package conversion

import (
	"fmt"
	"maps"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// accept decodes what a webhook made of an object. The webhook may not change its identity, nor its metadata but for labels
// and annotations: other changes are taken back. The index is for errors, which begin with what is invalid.
func accept(object *unstructured.Unstructured, text []byte, to schema.GroupVersion, index int) (*unstructured.Unstructured, error) {
	converted := &unstructured.Unstructured{}
	if err := converted.UnmarshalJSON(text); err != nil {
		return nil, fmt.Errorf("object at index %d: %w", index, err)
	}
	if got := converted.GroupVersionKind().GroupVersion(); got != to {
		return nil, fmt.Errorf("object at index %d: invalid groupVersion (expected %v, received %v)", index, to, got)
	}
	if want, got := object.GetKind(), converted.GetKind(); want != got {
		return nil, fmt.Errorf("object at index %d: invalid kind (expected %v, received %v)", index, want, got)
	}
	for _, same := range []struct{ what, want, got string }{
		{"name", object.GetName(), converted.GetName()},
		{"namespace", object.GetNamespace(), converted.GetNamespace()},
		{"UID", string(object.GetUID()), string(converted.GetUID())},
	} {
		if same.want != same.got {
			return nil, fmt.Errorf("object: must have the same %s: %v != %v", same.what, same.want, same.got)
		}
	}
	if err := restoreMetadata(object, converted); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return converted, nil
}

// restoreMetadata gives a converted object the metadata of the original, with its own labels and annotations.
func restoreMetadata(original, converted *unstructured.Unstructured) error {
	given, ok := converted.Object["metadata"].(map[string]any)
	if !ok {
		if of, found := converted.Object["metadata"]; found {
			return fmt.Errorf("invalid metadata of type %T in converted object", of)
		}
		return fmt.Errorf("missing metadata in converted object")
	}
	metadata := map[string]any{}
	if of, ok := original.Object["metadata"].(map[string]any); ok {
		metadata = runtime.DeepCopyJSON(of)
	}
	for _, name := range []string{"labels", "annotations"} {
		delete(metadata, name)
		if given[name] == nil {
			continue
		}
		texts, err := stringsOf(name, given[name])
		if err != nil {
			return err
		}
		before, _, _ := unstructured.NestedStringMap(original.Object, "metadata", name)
		if err := validate(name, before, texts); err != nil {
			return err
		}
		metadata[name] = given[name]
	}
	converted.Object["metadata"] = metadata
	return nil
}

func stringsOf(name string, value any) (map[string]string, error) {
	of, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("invalid metadata.%s of type %T in converted object", name, value)
	}
	texts := make(map[string]string, len(of))
	for key, value := range of {
		if texts[key], ok = value.(string); !ok {
			return nil, fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object", name, key, value)
		}
	}
	return texts, nil
}

// validate checks labels or annotations if they have changed: stored ones may be of an older server.
func validate(name string, before, after map[string]string) error {
	switch {
	case maps.Equal(before, after):
		return nil
	case name == "labels":
		return metav1validation.ValidateLabels(after, field.NewPath("metadata", "labels")).ToAggregate()
	}
	return apivalidation.ValidateAnnotations(after, field.NewPath("metadata", "annotation")).ToAggregate()
}
