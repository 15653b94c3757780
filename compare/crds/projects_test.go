package crds

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// project is a module with CustomResourceDefinitions. They are used as the module proxy has them.
type project struct {
	name, module, version string
	folder                string // with a definition a file
}

var (
	gateways     = project{"gateway-api, standard", "sigs.k8s.io/gateway-api", "v1.4.0", "config/crd/standard"}
	experimental = project{"gateway-api, experimental", "sigs.k8s.io/gateway-api", "v1.4.0", "config/crd/experimental"}
	prometheus   = project{"prometheus-operator", "github.com/prometheus-operator/prometheus-operator", "v0.84.0", "example/prometheus-operator-crd"}
	certificates = project{"cert-manager", "github.com/cert-manager/cert-manager", "v1.19.0", "deploy/crds"}

	projects = []project{
		gateways, experimental, prometheus, certificates,
		{"cluster-api", "sigs.k8s.io/cluster-api", "v1.11.0", "config/crd/bases"},
		{"argo-cd", "github.com/argoproj/argo-cd/v3", "v3.1.0", "manifests/crds"},
		{"keda", "github.com/kedacore/keda/v2", "v2.18.0", "config/crd/bases"},
	}
)

// object is what a file in YAML, or a body in JSON, says.
type object = map[string]any

// download fetches the module, without what it imports, and returns its folder.
func (p project) download(t *testing.T) string {
	command := exec.Command("go", "mod", "download", "-json", p.module+"@"+p.version)
	command.Dir = t.TempDir() // outside of this module, which does not require it
	output, err := command.Output()
	require.NoError(t, err, string(output))
	var module struct{ Dir string }
	require.NoError(t, json.Unmarshal(output, &module))
	return module.Dir
}

// definitions returns the files of the definitions.
func (p project) definitions(t *testing.T, folder string) (files [][]byte) {
	paths, err := filepath.Glob(filepath.Join(folder, p.folder, "*.yaml"))
	require.NoError(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		if bytes.Contains(data, []byte("kind: CustomResourceDefinition")) {
			files = append(files, data)
		}
	}
	require.NotEmpty(t, files, p.name)
	return files
}

// examples returns the objects of own kinds in the files of a module, by version and kind.
func examples(t *testing.T, folder string) map[string][]object {
	found := map[string][]object{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, text := range bytes.Split(data, []byte("\n---")) {
			var example object
			if yaml.Unmarshal(text, &example) != nil { // a template
				continue
			}
			metadata, _ := example["metadata"].(object)
			if name, _ := metadata["name"].(string); name != "" && !strings.ContainsAny(name, "${ ") {
				apiVersion, _ := example["apiVersion"].(string)
				kind, _ := example["kind"].(string)
				found[apiVersion+" "+kind] = append(found[apiVersion+" "+kind], example)
			}
		}
		return nil
	}))
	return found
}
