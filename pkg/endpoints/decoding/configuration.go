package decoding

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/util/quantity"
)

// Configuration decodes a configuration in YAML, and returns an error too for a field that is given twice.
func (d Decoder) Configuration(body []byte) (_ *unstructured.Unstructured, twice, err error) {
	var members map[string]any
	text, twice, err := bodies.FromYAML(body)
	if wrong := (*bodies.Malformed)(nil); errors.As(err, &wrong) {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: error converting YAML to JSON: %v", wrong))
	}
	if err != nil {
		return nil, nil, err
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(text, &members) != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", yaml.Unmarshal(body, &members))) // in its words
	}
	if err := quantity.CheckJSON(text); err != nil {
		return nil, nil, err
	}
	if err := d.checkNesting(bodies.Nesting, text); err != nil {
		return nil, nil, err
	}
	return &unstructured.Unstructured{Object: members}, twice, nil
}
