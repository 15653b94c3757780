// Package yamls reads YAML that people have written.
package yamls

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"

	yamldocs "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// ToJSON returns the only document of a YAML or JSON text as JSON. An empty document is none; a field
// may not be there twice. The error tells nothing of what is in the text, which may be a secret.
func ToJSON(text []byte) (found json.RawMessage, err error) {
	for documents := yamldocs.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.New("no YAML")
		}
		data, err := yaml.YAMLToJSONStrict(document)
		switch {
		case err == nil && string(data) == "null":
		case found != nil:
			return nil, errors.New("has more than one document")
		case err != nil:
			return nil, withoutText(err)
		default:
			found = data
		}
	}
	if found == nil {
		return nil, errors.New("is empty")
	}
	return found, nil
}

var line = regexp.MustCompile(`line \d+`)

func withoutText(err error) error {
	if at := line.FindString(err.Error()); at != "" {
		return errors.New("no YAML, or a field is there twice: " + at)
	}
	return errors.New("no YAML")
}
