package admission

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/util"
	"kube2014/pkg/util/yamls"
)

const (
	configVersion = "apiserver.config.k8s.io/v1"
	configKind    = "AdmissionConfiguration"
)

// config is the configuration of plugins. Unknown fields are errors, because their author expects an
// effect.
type config struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Plugins    []pluginConfig `json:"plugins"`
}

type pluginConfig struct {
	Name          string             `json:"name"`
	Path          string             `json:"path"`
	Configuration stdjson.RawMessage `json:"configuration"`
}

// ReadConfig reads an AdmissionConfiguration of today's server, YAML or JSON, and returns the
// configuration of each plugin that has one, as JSON. A configuration may be another file, whose path
// is relative to the directory of this one. The error names the file and the field, and contains no
// values.
func ReadConfig(file string) (map[string]stdjson.RawMessage, error) {
	text, err := util.ParseFile(file, yamls.ToJSON)
	if err != nil {
		return nil, err
	}
	configurations, err := parseConfig(text, filepath.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return configurations, nil
}

func parseConfig(text []byte, directory string) (map[string]stdjson.RawMessage, error) {
	var read config
	if err := decodeStrictly(text, &read, nil, configKind, func() bool { return read.Kind == configKind }); err != nil {
		return nil, err
	}
	switch {
	case read.Kind != configKind:
		return nil, errors.New("kind: is not " + configKind)
	case read.APIVersion != configVersion:
		return nil, errors.New("apiVersion: is not " + configVersion)
	}
	configurations, all := map[string]stdjson.RawMessage{}, map[string]*field.Path{}
	for i, plugin := range read.Plugins {
		path := field.NewPath("plugins").Index(i)
		if plugin.Name == "" {
			return nil, fmt.Errorf("%s: is missing", path.Child("name"))
		}
		if other := all[plugin.Name]; other != nil {
			return nil, fmt.Errorf("%s: is also the name of %s", path.Child("name"), other)
		}
		all[plugin.Name] = path
		configuration, err := plugin.read(directory)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Child("path"), err)
		}
		if configuration != nil {
			configurations[plugin.Name] = configuration
		}
	}
	return configurations, nil
}

// read returns the configuration of a plugin, nil if it has none. The error is about its path.
func (p pluginConfig) read(directory string) (stdjson.RawMessage, error) {
	isHere := len(p.Configuration) > 0 && string(p.Configuration) != "null"
	switch {
	case isHere && p.Path != "":
		return nil, errors.New("there is a configuration beside it")
	case isHere:
		return p.Configuration, nil
	case p.Path == "":
		return nil, nil
	}
	file := p.Path
	if !filepath.IsAbs(file) {
		file = filepath.Join(directory, file)
	}
	return util.ParseFile(file, yamls.ToJSON)
}
