package admission

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"

// write writes files into a new directory, and returns the path of the one that is named config.
func write(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return filepath.Join(dir, "config")
}

func TestAConfigurationIsThereOrInAFileOfItsOwn(t *testing.T) {
	t.Parallel()
	absolute := write(t, map[string]string{"config": "- 1\n- 2\n"})
	for name, config := range map[string]string{
		"YAML":             head + "plugins:\n- {name: A, configuration: {a: [1, x]}}\n- name: B\n  path: b.yaml\n- {name: C}\n- {name: D, configuration: null}\n- {name: E, path: " + absolute + "}\n",
		"JSON":             `{"apiVersion":"apiserver.config.k8s.io/v1","kind":"AdmissionConfiguration","plugins":[{"name":"A","configuration":{"a":[1,"x"]}},{"name":"B","path":"b.yaml"},{"name":"E","path":"` + absolute + `"}]}`,
		"YAML, in a frame": "# words\n---\n" + head + "plugins:\n- name: A\n  configuration:\n    a: [1, x]\n- {name: B, path: ./b.yaml}\n- {name: E, path: " + absolute + "}\n---\n",
	} {
		read, err := ReadConfig(write(t, map[string]string{"config": config, "b.yaml": "b: 1\n"}))
		require.NoError(t, err, name)
		assert.Equal(t, map[string]json.RawMessage{"A": json.RawMessage(`{"a":[1,"x"]}`), "B": json.RawMessage(`{"b":1}`), "E": json.RawMessage(`[1,2]`)}, read, name)
	}
}

func TestWhatIsWrongWithAConfigurationIsToldWithoutWhatIsInIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "CONFIG: is empty",
		"# nothing\n":                   "CONFIG: is empty",
		"a: b: hunter2":                 "CONFIG: no YAML",
		"\tx":                           "CONFIG: no YAML",
		"hunter2,user,uid":              "CONFIG: is no AdmissionConfiguration",
		"hunter2: x":                    "CONFIG: is no AdmissionConfiguration, and has unknown fields",
		"kind: Config":                  "CONFIG: kind: is not AdmissionConfiguration",
		"kind: AdmissionConfiguration":  "CONFIG: apiVersion: is not apiserver.config.k8s.io/v1",
		head + head:                     "CONFIG: no YAML, or a field is there twice: line 3",
		head + "---\n" + head:           "CONFIG: has more than one document",
		head + "plugin: []":             "CONFIG: plugin: is an unknown field, or there twice",
		head + "plugins: 7":             "CONFIG: plugins: has a value of another type",
		head + "plugins: [{}]":          "CONFIG: plugins[0].name: is missing",
		head + "plugins: [{names: x}]":  "CONFIG: plugins[0].names: is an unknown field, or there twice",
		head + "plugins: [{Name: x}]":   "CONFIG: plugins[0].Name: is an unknown field, or there twice",
		head + "plugins: [{name: [x]}]": "CONFIG: plugins.name: has a value of another type",
		head + "plugins: [{name: A}, {name: B}, {name: A}]":                  "CONFIG: plugins[2].name: is also the name of plugins[0]",
		head + "plugins: [{name: A}, {name: B, path: x, configuration: {}}]": "CONFIG: plugins[1].path: there is a configuration beside it",
		head + "plugins: [{name: A, path: none}]":                            "CONFIG: plugins[0].path: open DIR/none: no such file or directory",
		head + "plugins: [{name: A, path: broken}]":                          "CONFIG: plugins[0].path: DIR/broken: no YAML, or a field is there twice: line 2",
		head + "plugins: [{name: A, path: two}]":                             "CONFIG: plugins[0].path: DIR/two: has more than one document",
		head + "plugins: [{name: A, path: empty}]":                           "CONFIG: plugins[0].path: DIR/empty: is empty",
	} {
		config := write(t, map[string]string{"config": text, "broken": "a: 1\nhunter2: b: c", "two": "a: 1\n---\nb: 1", "empty": ""})
		_, err := ReadConfig(config)
		require.Error(t, err, text)
		assert.NotContains(t, err.Error(), "hunter2")
		assert.Equal(t, want, strings.ReplaceAll(strings.ReplaceAll(err.Error(), config, "CONFIG"), filepath.Dir(config), "DIR"), text)
	}
	none := filepath.Join(t.TempDir(), "none")
	_, err := ReadConfig(none)
	assert.EqualError(t, err, "open "+none+": no such file or directory")
}

func TestAConfigurationIsOneObjectOrAList(t *testing.T) {
	t.Parallel()
	kind := corev1.SchemeGroupVersion.WithKind("LimitRange")
	const object = `{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"a"}}`
	for text, paths := range map[string][]string{
		"": nil, "[]": nil, object: {"configuration"}, " [" + object + "," + object + "]": {"configuration[0]", "configuration[1]"},
	} {
		objects, err := ObjectsIn[corev1.LimitRange](json.RawMessage(text), kind)
		require.NoError(t, err, text)
		require.Len(t, objects, len(paths), text)
		for i, path := range paths {
			assert.Equal(t, path, objects[i].Path.String())
			assert.Equal(t, "a", objects[i].Object.Name)
		}
	}
	_, err := ObjectsIn[corev1.LimitRange](json.RawMessage(`[`), kind)
	assert.EqualError(t, err, "configuration: is no JSON")
}

func TestThePluginsAreMadeOfTheirConfigurations(t *testing.T) {
	t.Parallel()
	read, err := ReadConfig(write(t, map[string]string{"config": head + "plugins: [{name: A, configuration: {a: 1}}]"}))
	require.NoError(t, err)
	plugins := Plugins{}
	got := map[string]string{}
	for _, name := range []string{"A", "B"} {
		plugins[name] = func(configuration json.RawMessage) (Interface, error) {
			got[name] = string(configuration)
			return nil, nil
		}
	}
	_, err = plugins.New([]string{"A", "B"}, read)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"A": `{"a":1}`, "B": ""}, got)
}
