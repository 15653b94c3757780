package options

import (
	"os"
	"path/filepath"
	"regexp"
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

// K92: ServiceAccount is a default only if something makes accounts.
func TestPluginsAreAskedInTheOrderOfTheFlagButAQuotaLast(t *testing.T) {
	t.Parallel()
	const defaults = "TaintNodesByCondition,Priority,DefaultTolerationSeconds,DefaultStorageClass,StorageObjectInUseProtection,PersistentVolumeClaimResize,RuntimeClass," +
		"CertificateApproval,CertificateSigning,CertificateSubjectRestriction,DefaultIngressClass,MutatingAdmissionPolicy,MutatingAdmissionWebhook,ValidatingAdmissionPolicy,ValidatingAdmissionWebhook"
	for given, wanted := range map[string]string{
		"": "NamespaceLifecycle,LimitRanger,ServiceAccount," + defaults + ",ResourceQuota",
		"-controllers=-serviceaccount-controller": "NamespaceLifecycle,LimitRanger," + defaults + ",ResourceQuota",
		"-trace": "NamespaceLifecycle,LimitRanger," + defaults + ",ResourceQuota",
		"-controllers= -enable_admission_plugins ServiceAccount":                                   "NamespaceLifecycle,LimitRanger,ServiceAccount," + defaults + ",ResourceQuota",
		"-disable_admission_plugins ServiceAccount":                                                "NamespaceLifecycle,LimitRanger," + defaults + ",ResourceQuota",
		"--admission-control=AlwaysDeny":                                                           "AlwaysDeny",
		"--admission-control=LimitRanger,NamespaceLifecycle":                                       "LimitRanger,NamespaceLifecycle",
		"--admission-control=ResourceQuota,AlwaysAdmit":                                            "AlwaysAdmit,ResourceQuota",
		"--admission-control=ResourceQuota":                                                        "ResourceQuota",
		"--admission-control=AlwaysPullImages,MutatingAdmissionWebhook,ValidatingAdmissionWebhook": "AlwaysPullImages,MutatingAdmissionWebhook,ValidatingAdmissionWebhook",
		"--enable-admission-plugins=AlwaysDeny,AlwaysPullImages,LimitRanger":                       "NamespaceLifecycle,LimitRanger,ServiceAccount," + strings.Replace(defaults, ",", ",AlwaysPullImages,", 1) + ",AlwaysDeny,ResourceQuota",
		"--disable-admission-plugins=ResourceQuota,AlwaysAdmit":                                    "NamespaceLifecycle,LimitRanger,ServiceAccount," + defaults,
		"--disable-admission-plugins=LimitRanger --enable-admission-plugins=AlwaysAdmit":           "AlwaysAdmit,NamespaceLifecycle,ServiceAccount," + defaults + ",ResourceQuota",
	} {
		names, err := chainOf(t, strings.Fields(given)...)
		require.NoError(t, err)
		assert.Equal(t, wanted, strings.Join(names, ","), given)
	}
}

func TestHelpNamesEveryPlugin(t *testing.T) {
	t.Parallel()
	_, told, _ := strings.Cut(entryOf("enable_admission_plugins"), "defaults: ")
	defaults, others, _ := strings.Cut(strings.Replace(told, " (if serviceaccount-controller runs)", "", 1), "; others are ")
	var on, off []string
	for _, row := range pluginTable {
		if row.isDefault {
			on = append(on, row.name)
		} else {
			off = append(off, row.name)
		}
	}
	assert.Equal(t, on, strings.Split(defaults, ", "))
	assert.ElementsMatch(t, off, strings.Split(others, ", "))
}

func TestOnlyWhatIsNamedQuotaAndNodeRestrictionDecideAtTheFirstDoor(t *testing.T) {
	t.Parallel()
	for given, wanted := range map[string]string{
		"": "ResourceQuota",
		"-enable_admission_plugins AlwaysDeny,NamespaceExists":          "ResourceQuota",
		"-enable_admission_plugins NodeRestriction":                     "NodeRestriction,ResourceQuota",
		"-disable_admission_plugins ResourceQuota":                      "",
		"-admission_control NamespaceExists,LimitRanger,ServiceAccount": "LimitRanger",
		"-admission_control Priority":                                   "Priority",
	} {
		o, err := Parse(strings.Fields(given))
		require.NoError(t, err)
		chain, err := o.Admission.ApplyTo()
		require.NoError(t, err)
		var names []string
		chain.Only(o.Admission.AtFirstDoor).Each(func(name string, _ admission.Interface) { names = append(names, name) })
		assert.Equal(t, wanted, strings.Join(names, ","), given)
	}
}

func TestPluginsAreNamedInOneWayOnly(t *testing.T) {
	t.Parallel()
	for given, wrong := range map[string]string{
		"-admission_control AlwaysAdmit -enable_admission_plugins LimitRanger":                    "-enable_admission_plugins: it does not go with -admission_control, which names all plugins",
		"-admission_control AlwaysAdmit -disable_admission_plugins LimitRanger":                   "-disable_admission_plugins: it does not go with -admission_control, which names all plugins",
		"-enable_admission_plugins LimitRanger -disable_admission_plugins AlwaysDeny,LimitRanger": "-enable_admission_plugins: LimitRanger is also in -disable_admission_plugins",
		"-disable_admission_plugins AlwaysDeny,AlwaysDeny":                                        "-disable_admission_plugins: AlwaysDeny is named twice",
	} {
		_, err := Parse(strings.Fields(given))
		assert.EqualError(t, err, wrong, given)
	}
	_, err := Parse([]string{"-enable_admission_plugins", "PodSecurity"})
	assert.ErrorContains(t, err, `-enable_admission_plugins: "PodSecurity" is not one of AlwaysAdmit, `)
}

func TestWhatIsWrongWithPluginsIsToldWithTheFlag(t *testing.T) {
	t.Parallel()
	const all = "AlwaysAdmit, AlwaysDeny, AlwaysPullImages, CertificateApproval, CertificateSigning, CertificateSubjectRestriction, DefaultIngressClass, DefaultStorageClass, " +
		"DefaultTolerationSeconds, LimitRanger, MutatingAdmissionPolicy, MutatingAdmissionWebhook, NamespaceExists, NamespaceLifecycle, NodeRestriction, PersistentVolumeClaimResize, Priority, ResourceQuota, RuntimeClass, " +
		"ServiceAccount, StorageObjectInUseProtection, TaintNodesByCondition, ValidatingAdmissionPolicy, ValidatingAdmissionWebhook"
	_, err := Parse([]string{"-admission_control", "AlwaysAdmit,PodSecurity,AlwaysAdmit"})
	assert.EqualError(t, err, `-admission_control: "PodSecurity" is not one of `+all)
	_, err = Parse([]string{"-admission_control", "LimitRanger,PodSecurityPolicy"})
	assert.EqualError(t, err, "-admission_control: PodSecurityPolicy is gone: today's server has PodSecurity instead")
	_, err = Parse([]string{"-admission_control", "AlwaysAdmit,LimitRanger,AlwaysAdmit"})
	assert.EqualError(t, err, "-admission_control: AlwaysAdmit is named twice")

	file := filepath.Join(t.TempDir(), "admission.yaml")
	for name, row := range map[string]struct{ plugins, text, wrong string }{
		"of a plugin that is not on": {"AlwaysAdmit", "plugins: [{name: LimitRanger, configuration: {apiVersion: v1, kind: LimitRange}}]",
			`it configures "LimitRanger", which is not on`},
		"of a plugin that has none": {"AlwaysAdmit", "plugins: [{name: AlwaysAdmit, configuration: {a: b}}]", "AlwaysAdmit: configuration: the plugin has none"},
		"of objects": {"LimitRanger", "plugins: [{name: LimitRanger, configuration: {apiVersion: v1, kind: LimitRange}}]",
			"LimitRanger: configuration: the plugin has none; create objects of the kind LimitRange instead, such as by kubectl create"},
		"of another kind": {"ValidatingAdmissionWebhook", "plugins: [{name: ValidatingAdmissionWebhook, configuration: {apiVersion: v1, kind: Pod}}]", "ValidatingAdmissionWebhook: configuration: is no ValidatingWebhookConfiguration of admissionregistration.k8s.io/v1"},
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

// The document lists the plugins as the server asks them.
func TestTheDocumentHasATableOfAllPlugins(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/server.md")
	require.NoError(t, err)
	var o AdmissionOptions
	var rows, documented []string
	for _, row := range pluginTable {
		doors := ""
		if row.isDefault && o.AtFirstDoor(row.name) {
			doors = "both"
		} else if row.isDefault {
			doors = "second"
		}
		rows = append(rows, row.name+" "+doors)
	}
	for _, row := range regexp.MustCompile(`(?m)^\| \*(\w+)\* \| (\w*) ?\|`).FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, row[1]+" "+row[2])
	}
	assert.Equal(t, rows, documented)
}

// todaysDefaults are the default plugins of kube-apiserver 1.36.3, as its help lists them.
var todaysDefaults = []string{
	"CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "ClusterTrustBundleAttest", "DefaultIngressClass", "DefaultStorageClass",
	"DefaultTolerationSeconds", "JobValidation", "LimitRanger", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "NamespaceLifecycle",
	"NodeDeclaredFeatureValidator", "PersistentVolumeClaimResize", "PodGroupProtection", "PodGroupWorkloadExists", "PodResizeValidator", "PodSecurity",
	"PodTopologyLabels", "Priority", "ResourceQuota", "RuntimeClass", "ServiceAccount", "StorageObjectInUseProtection", "TaintNodesByCondition",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook",
}

func TestK128TheDefaultPluginsAreTodaysButForThoseThatTheRowNames(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/differences.md")
	require.NoError(t, err)
	row := regexp.MustCompile(`(?m)^\| K128 \|.*`).FindString(string(text))
	var missing, defaults []string
	for _, match := range regexp.MustCompile(`\*([A-Z]\w+)\*`).FindAllStringSubmatch(row, -1) {
		missing = append(missing, match[1])
	}
	for _, row := range pluginTable {
		if row.isDefault {
			defaults = append(defaults, row.name)
		}
	}
	assert.ElementsMatch(t, todaysDefaults, append(defaults, missing...))
}
