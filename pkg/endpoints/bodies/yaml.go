package bodies

import (
	"bytes"
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"
)

// Malformed is the error for a body that does not have the format of its type.
type Malformed struct{ error }

// FromYAML converts YAML to JSON. With its aliases expanded it may not exceed the maximum size of a body. Twice is an error that
// names the fields that are given twice, of which the last one counts. The error is *Malformed if it is no YAML.
func FromYAML(body []byte) (text []byte, twice, err error) {
	if bytes.ContainsRune(body, '*') { // nothing else is an alias
		if err := checkAliases(body); err != nil {
			return nil, nil, err
		}
	}
	text, twice = yaml.YAMLToJSONStrict(body)
	if twice == nil {
		return text, nil, nil
	}
	if text, err = yaml.YAMLToJSON(body); err != nil {
		return nil, nil, &Malformed{err}
	}
	return text, twice, nil
}

func checkAliases(body []byte) error {
	var root yamlv3.Node
	if yamlv3.Unmarshal(body, &root) != nil {
		return nil // to convert it fails too
	}
	e := expansion{sizes: map[*yamlv3.Node]int{}}
	switch size := e.sizeOf(&root); {
	case e.endless != "":
		return &Malformed{fmt.Errorf("yaml: anchor '%s' value contains itself", e.endless)}
	case size > MaxSize:
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d, with all aliases", MaxSize))
	}
	return nil
}

// expansion computes the size of a YAML text with its aliases expanded.
type expansion struct {
	sizes   map[*yamlv3.Node]int // -1 until it is computed
	endless string               // the anchor of a value that contains itself, "" if there is none
}

// sizeOf returns the approximate size of a node in bytes, at most MaxSize+1.
func (e *expansion) sizeOf(node *yamlv3.Node) int {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	if size, ok := e.sizes[node]; ok {
		if size < 0 {
			e.endless = node.Anchor
		}
		return size
	}
	e.sizes[node] = -1
	size := len(node.Value) + 1
	for _, child := range node.Content {
		size = min(size+e.sizeOf(child), MaxSize+1)
	}
	e.sizes[node] = size
	return size
}
