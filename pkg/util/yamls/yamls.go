// Package yamls reads YAML that people have written.
package yamls

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"

	yamlnodes "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// ToJSON returns the only document of a YAML or JSON text as JSON. An empty document is none; a field
// may not be there twice. The error contains nothing of the text, which may be a secret.
func ToJSON(text []byte) (json.RawMessage, error) {
	documents, err := documentsOf(text)
	switch {
	case err != nil:
		return nil, withoutText(err)
	case len(documents) == 0:
		return nil, errors.New("is empty")
	case len(documents) > 1:
		return nil, errors.New("has more than one document")
	}
	found, err := yaml.YAMLToJSONStrict(documents[0])
	if err != nil {
		return nil, withoutText(err)
	}
	return found, nil
}

// documentsOf returns the documents in a text that are not empty.
func documentsOf(text []byte) (documents [][]byte, err error) {
	for decoder := yamlnodes.NewDecoder(bytes.NewReader(text)); ; {
		var node yamlnodes.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(node.Content) == 1 && node.Content[0].Tag == "!!null" {
			continue
		}
		document, err := yamlnodes.Marshal(&node)
		if err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
	return documents, nil
}

var line = regexp.MustCompile(`line \d+`)

func withoutText(err error) error {
	if at := line.FindString(err.Error()); at != "" {
		return errors.New("no YAML, or a field is there twice: " + at)
	}
	return errors.New("no YAML")
}
