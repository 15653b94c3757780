package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What somebody may have put into a file by mistake is not told, wherever it stands there. Only names
// of members are, of what is the kind of object that it is to be.
const aSecretInAFile = "token-4f5e6d7c8b9a"

func TestAWrongAdmissionConfigurationRefusesToStart(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
	plugin := func(name, configuration string) string {
		return head + "plugins: [{name: " + name + ", configuration: " + configuration + "}]\n"
	}
	for name, row := range map[string]struct{ text, says string }{
		"empty":                   {"", "is empty"},
		"a token":                 {aSecretInAFile, "is no AdmissionConfiguration"},
		"a token and a user":      {aSecretInAFile + ",ann,1\n", "is no AdmissionConfiguration"},
		"a token in a list":       {"[" + aSecretInAFile + "]", "is no AdmissionConfiguration"},
		"a token as a field":      {aSecretInAFile + ": x", "is no AdmissionConfiguration, and has unknown fields"},
		"no YAML":                 {head + "plugins: [" + aSecretInAFile + ": }", "no YAML, or a field is there twice: line"},
		"a field twice":           {head + aSecretInAFile + ": 1\n" + aSecretInAFile + ": 2\n", "no YAML, or a field is there twice: line"},
		"an alias of nothing":     {head + "plugins: *" + aSecretInAFile, "no YAML"},
		"bytes":                   {"\x00\xff" + aSecretInAFile, "no YAML"},
		"a kubeconfig":            {"{apiVersion: v1, kind: Config, users: [{name: u, user: {token: " + aSecretInAFile + "}}]}", "is no AdmissionConfiguration"},
		"another kind":            {"{apiVersion: apiserver.config.k8s.io/v1, kind: " + aSecretInAFile + "}", "kind: is not AdmissionConfiguration"},
		"another version":         {"{apiVersion: " + aSecretInAFile + ", kind: AdmissionConfiguration}", "apiVersion: is not apiserver.config.k8s.io/v1"},
		"two documents":           {head + "---\ntoken: " + aSecretInAFile, "has more than one document"},
		"plugins of another type": {head + "plugins: " + aSecretInAFile, "plugins: has a value of another type"},
		"an unknown field":        {head + "plugin: " + aSecretInAFile, "plugin: is an unknown field"},
		"no name":                 {head + "plugins: [{configuration: {token: " + aSecretInAFile + "}}]", "plugins[0].name: is missing"},
		"a name twice":            {head + "plugins: [{name: " + aSecretInAFile + "}, {name: " + aSecretInAFile + "}]", "plugins[1].name: is also the name of plugins[0]"},
		"a path to nothing":       {head + "plugins: [{name: MutatingAdmissionWebhook, path: nothing}]", "plugins[0].path: "},
		"a path to a token":       {head + "plugins: [{name: MutatingAdmissionWebhook, path: a-token}]", "configuration: is no MutatingWebhookConfiguration"},
		"a path to another file":  {head + "plugins: [{name: MutatingAdmissionWebhook, path: a-kubeconfig}]", "configuration: is no MutatingWebhookConfiguration"},
		"a path to no YAML":       {head + "plugins: [{name: MutatingAdmissionWebhook, path: no-yaml}]", "plugins[0].path: "},
		"a path and a text":       {head + "plugins: [{name: MutatingAdmissionWebhook, path: a-token, configuration: {a: " + aSecretInAFile + "}}]", "plugins[0].path: there is a configuration beside it"},
		"a plugin that is not on": {plugin("AlwaysPullImages", "{token: "+aSecretInAFile+"}"), `it configures "AlwaysPullImages", which is not on`},
		"a plugin that has none":  {plugin("AlwaysAdmit", "{token: "+aSecretInAFile+"}"), "AlwaysAdmit: configuration: the plugin has none"},
		"limits": {plugin("LimitRanger", "{apiVersion: v1, kind: LimitRange, metadata: {name: "+aSecretInAFile+"}}"),
			"LimitRanger: configuration: the plugin has none; create objects of the kind LimitRange instead, such as by kubectl create"},
		"a quota": {plugin("ResourceQuota", "{apiVersion: v1, kind: ResourceQuota, metadata: {name: "+aSecretInAFile+"}}"),
			"ResourceQuota: configuration: the plugin has none; create objects of the kind ResourceQuota instead, such as by kubectl create"},
		"a webhook of a token":      {plugin("MutatingAdmissionWebhook", aSecretInAFile), "MutatingAdmissionWebhook: configuration: is no MutatingWebhookConfiguration"},
		"a webhook of another kind": {plugin("MutatingAdmissionWebhook", "{apiVersion: v1, kind: Secret, data: "+aSecretInAFile+"}"), "configuration: is no MutatingWebhookConfiguration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := filesOf(t)
			f.write("a-token", aSecretInAFile)
			f.write("no-yaml", "{"+aSecretInAFile)
			f.write("a-kubeconfig", "{kind: Config, users: [{name: u, user: {token: "+aSecretInAFile+"}}]}")
			lines := refusedStart(t, "-port", "0", "-admission_control", "AlwaysAdmit,LimitRanger,MutatingAdmissionWebhook,ResourceQuota", "-admission_control_config_file", f.write("config", row.text))
			if assert.Len(t, lines, 1) {
				assert.True(t, strings.HasPrefix(lines[0], "apiserver: -admission_control_config_file: "+f.path("config")+": "), lines[0])
				assert.Contains(t, lines[0], row.says)
				assert.NotContains(t, lines[0], aSecretInAFile[6:])
			}
		})
	}
}

func TestAWrongAuditPolicyRefusesToStart(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
	for name, row := range map[string]struct{ text, says string }{
		"empty":                    {"", "is empty"},
		"a token":                  {aSecretInAFile, "is no policy"},
		"a token and a user":       {aSecretInAFile + ",ann,1\n", "is no policy"},
		"a token as a field":       {aSecretInAFile + ": x", "apiVersion: must be audit.k8s.io/v1; kind: must be Policy"},
		"no YAML":                  {head + "rules: [" + aSecretInAFile + ": }", "no YAML"},
		"a field twice":            {head + aSecretInAFile + ": 1\n" + aSecretInAFile + ": 2\n", "no YAML, or a field is there twice: line"},
		"a kubeconfig":             {"{apiVersion: v1, kind: Config, users: [{name: u, user: {token: " + aSecretInAFile + "}}]}", "apiVersion: must be"},
		"another kind":             {"{apiVersion: audit.k8s.io/v1, kind: " + aSecretInAFile + "}", "kind: must be Policy"},
		"another version":          {"{apiVersion: " + aSecretInAFile + ", kind: Policy}", "apiVersion: must be audit.k8s.io/v1"},
		"no rules":                 {head, "rules: must not be empty"},
		"rules of another type":    {head + "rules: " + aSecretInAFile, "rules: has a value of another type"},
		"an unknown field":         {head + "rules: [{level: None, token: " + aSecretInAFile + "}]", `unknown field "rules[0].token"`},
		"a level":                  {head + "rules: [{level: " + aSecretInAFile + "}]", "rules[0].level: "},
		"a stage":                  {head + "omitStages: [" + aSecretInAFile + "]\nrules: [{level: None}]", "omitStages[0]: "},
		"a stage of a rule":        {head + "rules: [{level: None, omitStages: [" + aSecretInAFile + "]}]", "rules[0].omitStages[0]: "},
		"a path":                   {head + "rules: [{level: None, nonResourceURLs: [" + aSecretInAFile + "]}]", "rules[0].nonResourceURLs[0]: "},
		"a path with a star in it": {head + "rules: [{level: None, nonResourceURLs: [/*/" + aSecretInAFile + "]}]", "rules[0].nonResourceURLs[0]: "},
		"a group":                  {head + "rules: [{level: None, resources: [{group: " + aSecretInAFile + "/}]}]", "rules[0].resources[0].group: "},
		"names without resources":  {head + "rules: [{level: None, resources: [{resourceNames: [" + aSecretInAFile + "]}]}]", "rules[0].resources[0].resourceNames: needs resources"},
		"paths and namespaces":     {head + "rules: [{level: None, nonResourceURLs: [/" + aSecretInAFile + "], namespaces: [x]}]", "rules[0].nonResourceURLs: a rule is about paths, or about resources and namespaces"},
		"two documents":            {head + "rules: [{level: None}]\n---\n" + aSecretInAFile, "has more than one document"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := filesOf(t)
			lines := refusedStart(t, "-port", "0", "-audit_log_path", f.path("audit.log"), "-audit_policy_file", f.write("policy", row.text))
			if assert.Len(t, lines, 1) {
				assert.True(t, strings.HasPrefix(lines[0], "apiserver: -audit_policy_file: "+f.path("policy")+": "), lines[0])
				assert.Contains(t, lines[0], row.says)
				assert.NotContains(t, lines[0], aSecretInAFile[6:])
			}
		})
	}
}

func TestWrongFlagsOfAdmissionAndAuditRefuseToStart(t *testing.T) {
	t.Parallel()
	f := filesOf(t)
	require.NoError(t, os.Mkdir(f.path("directory"), 0o700))
	nothing := f.path("nothing")
	policy := f.write("policy", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n")
	const needsPath = "needs -audit_log_path"
	for name, row := range map[string]struct {
		flags []string
		says  map[string]string // by flag
	}{
		"an unknown plugin":         {[]string{"-admission_control", "AlwaysAdmit,Nothing"}, map[string]string{"admission_control": `"Nothing" is not one of AlwaysAdmit, `}},
		"a plugin in small letters": {[]string{"-admission_control", "alwaysadmit"}, map[string]string{"admission_control": `"alwaysadmit" is not one of AlwaysAdmit, `}},
		"a plugin twice":            {[]string{"-admission_control", "AlwaysAdmit,AlwaysDeny,AlwaysAdmit"}, map[string]string{"admission_control": "AlwaysAdmit is named twice"}},
		"no plugin":                 {[]string{"-admission_control", "AlwaysAdmit,"}, map[string]string{"admission_control": `"AlwaysAdmit," has an empty value between its commas`}},
		"a config that is not there": {[]string{"-admission_control_config_file", nothing}, map[string]string{
			"admission_control_config_file": nothing + ": no such file or directory"}},
		"a config that is a directory": {[]string{"-admission_control_config_file", f.path("directory")}, map[string]string{
			"admission_control_config_file": f.path("directory") + ": is a directory"}},
		"a policy that is not there": {[]string{"-audit_log_path", f.path("log"), "-audit_policy_file", nothing}, map[string]string{"audit_policy_file": nothing + ": no such file or directory"}},
		"a log that is a directory":  {[]string{"-audit_log_path", f.path("directory")}, map[string]string{"audit_log_path": f.path("directory") + ": is a directory"}},
		"a log below a file":         {[]string{"-audit_log_path", policy + "/audit.log"}, map[string]string{"audit_log_path": "not a directory"}},
		"flags without a log": {[]string{"-audit_policy_file", policy, "-audit_log_maxage", "1", "-audit_log_maxbackup", "1", "-audit_log_maxsize", "1"}, map[string]string{
			"audit_policy_file": needsPath, "audit_log_maxage": needsPath, "audit_log_maxbackup": needsPath, "audit_log_maxsize": needsPath}},
		"numbers that are none": {[]string{"-audit_log_path", f.path("log"), "-audit_log_maxage", "-1", "-audit_log_maxbackup", "x", "-audit_log_maxsize", "9999999"}, map[string]string{
			"audit_log_maxage": "is not a number between 0 and 1048576", "audit_log_maxbackup": "is not a number", "audit_log_maxsize": "is not a number"}},
		"all at once": {[]string{"-admission_control", "AlwaysAdmit", "-admission_control_config_file", nothing, "-audit_log_path", policy + "/audit.log", "-audit_policy_file", nothing}, map[string]string{
			"admission_control_config_file": nothing, "audit_log_path": policy, "audit_policy_file": nothing}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := refusedStart(t, append([]string{"-port", "0"}, row.flags...)...)
			assert.Len(t, lines, len(row.says), fmt.Sprint(lines))
			for flag, says := range row.says {
				i := strings.Index(strings.Join(lines, "\n")+"\n", "apiserver: -"+flag+": ")
				if assert.GreaterOrEqual(t, i, 0, "-%s in %q", flag, lines) {
					line, _, _ := strings.Cut(strings.Join(lines, "\n")[i:], "\n")
					assert.Contains(t, line, says)
				}
			}
		})
	}
}
