package options

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/admission"
)

// chainOf returns the names of the plugins that a command line asks for.
func chainOf(t *testing.T, args ...string) (names []string, err error) {
	o, err := Parse(args)
	require.NoError(t, err)
	chain, err := o.Admission.ApplyTo()
	chain.Each(func(name string, _ admission.Interface) { names = append(names, name) })
	return names, err
}

func TestPluginsAreAskedInTheOrderOfTheFlagButAQuotaLast(t *testing.T) {
	t.Parallel()
	for given, wanted := range map[string]string{
		"":                               "NamespaceExists",
		"AlwaysAdmit":                    "AlwaysAdmit",
		"LimitRanger,NamespaceLifecycle": "LimitRanger,NamespaceLifecycle",
		"ResourceQuota,AlwaysAdmit":      "AlwaysAdmit,ResourceQuota",
		"ResourceQuota":                  "ResourceQuota",
		"AlwaysPullImages,MutatingAdmissionWebhook,ValidatingAdmissionWebhook": "AlwaysPullImages,MutatingAdmissionWebhook,ValidatingAdmissionWebhook",
	} {
		var args []string
		if given != "" {
			args = []string{"--admission-control=" + given}
		}
		names, err := chainOf(t, args...)
		require.NoError(t, err)
		assert.Equal(t, wanted, strings.Join(names, ","))
	}
}

func TestWhatIsWrongWithPluginsIsToldWithTheFlag(t *testing.T) {
	t.Parallel()
	const all = "AlwaysAdmit, AlwaysDeny, AlwaysPullImages, LimitRanger, MutatingAdmissionWebhook, NamespaceExists, NamespaceLifecycle, ResourceQuota, ValidatingAdmissionWebhook"
	_, err := Parse([]string{"-admission_control", "AlwaysAdmit,ServiceAccount,AlwaysAdmit"})
	assert.EqualError(t, err, `-admission_control: "ServiceAccount" is not one of `+all)
	_, err = Parse([]string{"-admission_control", "AlwaysAdmit,LimitRanger,AlwaysAdmit"})
	assert.EqualError(t, err, "-admission_control: AlwaysAdmit is named twice")

	file := filepath.Join(t.TempDir(), "admission.yaml")
	for name, row := range map[string]struct{ plugins, text, wrong string }{
		"of a plugin that is not on": {"AlwaysAdmit", "plugins: [{name: LimitRanger, configuration: {apiVersion: v1, kind: LimitRange}}]",
			`it configures "LimitRanger", which -admission_control does not name`},
		"of a plugin that has none": {"AlwaysAdmit", "plugins: [{name: AlwaysAdmit, configuration: {a: b}}]", "AlwaysAdmit: configuration: the plugin has none"},
		"of another kind":           {"LimitRanger", "plugins: [{name: LimitRanger, configuration: {apiVersion: v1, kind: Pod}}]", "LimitRanger: configuration: is no LimitRange of v1"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(file, []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"+row.text+"\n"), 0o600))
			_, err := chainOf(t, "-admission_control", row.plugins, "-admission_control_config_file", file)
			assert.EqualError(t, err, "-admission_control_config_file: "+file+": "+row.wrong)
		})
	}
	_, err = chainOf(t, "-admission_control_config_file", file+".gone")
	require.Error(t, err)
	assert.Contains(t, err.Error(), "-admission_control_config_file: ")
}
