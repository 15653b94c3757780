package audit_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube2014/pkg/audit"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"

func read(t *testing.T, text string) *audit.Policy {
	policy, err := audit.Read([]byte(head + text))
	require.NoError(t, err)
	return policy
}

// resource returns what ann of the group dev asks for.
func resource(verb, group, name, namespace, object string) authorizer.Attributes {
	name, subresource, _ := strings.Cut(name, "/")
	return authorizer.Attributes{User: &user.Info{Name: "ann", Groups: []string{"dev", user.AllAuthenticated}}, Verb: verb, IsResource: true,
		APIGroup: group, APIVersion: "v1", Resource: name, Subresource: subresource, Namespace: namespace, Name: object}
}

func path(of string) authorizer.Attributes {
	return authorizer.Attributes{User: &user.Info{Name: "ann"}, Verb: "get", Path: of}
}

// Each rule is asked about what it matches, and about what it does not.
func TestARuleMatchesWhatItSays(t *testing.T) {
	t.Parallel()
	pods, logs := resource("get", "", "pods", "default", "one"), resource("get", "", "pods/log", "default", "one")
	roles, nodes := resource("list", "rbac.authorization.k8s.io", "roles", "", ""), resource("list", "", "nodes", "", "")
	unknown := pods
	unknown.User = nil
	all := []authorizer.Attributes{pods, logs, roles, nodes, unknown, path("/healthz"), path("/healthz/etcd"), path("/version")}
	for rule, wanted := range map[string][]authorizer.Attributes{
		``:                       all,
		`users: [ann]`:           {pods, logs, roles, nodes, path("/healthz"), path("/healthz/etcd"), path("/version")},
		`users: [bob, ""]`:       nil,
		`userGroups: [ops, dev]`: {pods, logs, roles, nodes},
		`userGroups: [ops]`:      nil,
		`users: [ann], userGroups: [dev], verbs: [list]`: {roles, nodes},
		`verbs: [list]`:             {roles, nodes},
		`verbs: ["*"]`:              nil,
		`namespaces: [default]`:     {pods, logs, unknown},
		`namespaces: [""]`:          {roles, nodes},
		`namespaces: ["*"]`:         nil,
		`resources: [{}]`:           {pods, logs, nodes, unknown},
		`resources: [{group: ""}]`:  {pods, logs, nodes, unknown},
		`resources: [{group: "*"}]`: {pods, logs, roles, nodes, unknown},
		`resources: [{group: rbac.authorization.k8s.io}]`:                                                      {roles},
		`resources: [{resources: [pods]}]`:                                                                     {pods, unknown},
		`resources: [{resources: [pods/log]}]`:                                                                 {logs},
		`resources: [{resources: [pods/*]}]`:                                                                   {pods, logs, unknown},
		`resources: [{resources: ["*/log"]}]`:                                                                  {logs},
		`resources: [{resources: ["*/status"]}]`:                                                               nil,
		`resources: [{resources: ["*/*"]}]`:                                                                    nil,
		`resources: [{resources: ["*"]}]`:                                                                      {pods, logs, nodes, unknown},
		`resources: [{resources: [roles]}]`:                                                                    nil,
		`resources: [{resources: [roles]}, {group: rbac.authorization.k8s.io, resources: [roles]}]`:            {roles},
		`resources: [{resources: [pods], resourceNames: [one]}]`:                                               {pods, unknown},
		`resources: [{resources: ["*"], resourceNames: [two]}]`:                                                nil,
		`resources: [{resources: ["*"], resourceNames: [two]}, {resources: ["pods/*"], resourceNames: [one]}]`: {pods, logs, unknown},
		`resources: [{resources: [pods]}], namespaces: [other]`:                                                nil,
		`nonResourceURLs: ["*"]`:                                                                               {path("/healthz"), path("/healthz/etcd"), path("/version")},
		`nonResourceURLs: [/healthz]`:                                                                          {path("/healthz")},
		`nonResourceURLs: [/healthz*]`:                                                                         {path("/healthz"), path("/healthz/etcd")},
		`nonResourceURLs: [/healthz/*]`:                                                                        {path("/healthz/etcd")},
		`nonResourceURLs: [/a, /version]`:                                                                      {path("/version")},
	} {
		if rule != "" {
			rule = ", " + rule
		}
		policy := read(t, "rules: [{level: Request"+rule+"}]")
		var matched []authorizer.Attributes
		for _, one := range all {
			decision := policy.Decide(one)
			if decision.Level == auditv1.LevelRequest {
				matched = append(matched, one)
			} else {
				assert.Equal(t, auditv1.LevelNone, decision.Level, "nothing is written without a rule")
			}
		}
		assert.Equal(t, wanted, matched, rule)
	}
}

func TestTheFirstRuleThatMatchesDecides(t *testing.T) {
	t.Parallel()
	policy := read(t, `
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- {level: None, verbs: [get]}
- {level: Metadata, verbs: [get, list], omitStages: [Panic], omitManagedFields: false}
- {level: RequestResponse}
`)
	for verb, wanted := range map[string]audit.Decision{
		"get":    {Level: auditv1.LevelNone, OmitStages: []auditv1.Stage{auditv1.StageRequestReceived}, OmitManagedFields: true},
		"list":   {Level: auditv1.LevelMetadata, OmitStages: []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StagePanic}},
		"create": {Level: auditv1.LevelRequestResponse, OmitStages: []auditv1.Stage{auditv1.StageRequestReceived}, OmitManagedFields: true},
	} {
		assert.Equal(t, wanted, policy.Decide(resource(verb, "", "pods", "default", "")), verb)
	}
}

// K55.
func TestAllThatIsWrongWithAPolicyIsToldWithItsField(t *testing.T) {
	t.Parallel()
	for text, wanted := range map[string]string{
		"":                        "is empty",
		"secret":                  "is no policy",
		"- secret":                "is no policy",
		"\tsecret: {":             "no YAML",
		"kind: Policy\nkind: x":   "no YAML, or a field is there twice: line 2",
		"kind: Policy\nsecret: x": "apiVersion: must be audit.k8s.io/v1",
		"apiVersion: audit.k8s.io/v1beta1\nkind: Secret": "apiVersion: must be audit.k8s.io/v1; kind: must be Policy",
		head: "rules: must not be empty",
		head + "rules: [{level: None}]\n---\nsecret": "has more than one document",
		head + "rules: [{}]":                         `rules[0].level: is not None, Metadata, Request or RequestResponse`,
		head + "rules: [{level: 7}]":                 "rules.level: has a value of another type",
		head + "rules: [{level: all, levels: x, resources: [{Group: x}]}, {level: metadata}]": `unknown field "rules[0].levels"; unknown field "rules[0].resources[0].Group"; ` +
			`rules[0].level: is not None, Metadata, Request or RequestResponse; rules[1].level: is not None, Metadata, Request or RequestResponse`,
		head + "omitStages: [x]\nrules: [{level: None, omitStages: [Panic, z]}]": `omitStages[0]: is not RequestReceived, ResponseStarted, ResponseComplete or Panic; ` +
			`rules[0].omitStages[1]: is not RequestReceived, ResponseStarted, ResponseComplete or Panic`,
		head + "rules: [{level: None, resources: [{group: rbac/v1}, {resourceNames: [a]}]}]": `rules[0].resources[0].group: is not the name of a group; ` +
			`rules[0].resources[1].resourceNames: needs resources`,
		head + "rules: [{level: None, nonResourceURLs: [healthz, /a*b, \"*\", /a*, \"\"]}]": `rules[0].nonResourceURLs[0]: must begin with a slash; ` +
			`rules[0].nonResourceURLs[1]: may have a * at its end only; rules[0].nonResourceURLs[4]: must begin with a slash`,
		head + "rules: [{level: None, nonResourceURLs: [/a], namespaces: [b]}]": "rules[0].nonResourceURLs: a rule is about paths, or about resources and namespaces",
	} {
		policy, err := audit.Read([]byte(text))
		assert.EqualError(t, err, wanted, text)
		assert.Nil(t, policy)
		var typed *audit.PolicyError
		assert.ErrorAs(t, err, &typed)
	}
}

func TestABrokenEditKeepsTheOldPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file, out := filepath.Join(t.TempDir(), "policy.yaml"), &lines{}
		write := func(text string) {
			require.NoError(t, os.WriteFile(file, []byte(head+text), 0o600))
			require.NoError(t, os.Chtimes(file, time.Now(), time.Now())) // that of the test
		}
		write("rules: [{level: Metadata}]")
		auditor, err := audit.FromFile(file, out)
		require.NoError(t, err)
		for _, row := range []struct {
			text  string
			wants bool
		}{{"rules: [{level: None}]", false}, {"rules: [{level: Request}]", true}, {"rules: [{level: No}]", true}} {
			write(row.text)
			time.Sleep(2 * time.Second) // so that the file is looked at again; the clock is the test's
			assert.Equal(t, row.wants, begin(auditor, "GET", "/", "").Decide(request("GET", "/", ""), path("/")), row.text)
		}
	})
}

// K54.
func TestWithoutAPolicyTheMetadataOfAllAreWritten(t *testing.T) {
	t.Parallel()
	out := &lines{}
	auditor, err := audit.FromFile("", out)
	require.NoError(t, err)
	event := begin(auditor, "POST", "/", "")
	require.True(t, event.Decide(request("POST", "/", ""), resource("create", "", "pods", "default", "")))
	event.Write(auditv1.StageRequestReceived)
	event.RequestObject(`{"metadata":{"name":"one"}}`)
	event.Answered(201, "application/json", []byte(`{"kind":"Pod"}`))
	event.Write(auditv1.StageResponseComplete)
	events := out.events(t)
	require.Len(t, events, 2)
	assert.Equal(t, auditv1.LevelMetadata, events[1].Level)
	assert.Equal(t, "one", events[1].ObjectRef.Name)
	assert.Nil(t, events[1].RequestObject)
	assert.Nil(t, events[1].ResponseObject)
	_, err = audit.FromFile(filepath.Join(t.TempDir(), "none"), out)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// A policy is refused with its fields, or decides, about whatever is asked.
func FuzzAuditPolicy(f *testing.F) {
	for _, text := range []string{"", head, head + "rules: [{level: None}]", head + "omitStages: [Panic]\nrules:\n- level: Request\n  verbs: [get]\n  users: [ann]",
		head + "rules: [{level: Metadata, resources: [{group: '*', resources: ['*/log', 'pods/*', '*'], resourceNames: [one]}], namespaces: ['']}]",
		head + "rules: [{level: RequestResponse, nonResourceURLs: ['/a*', '*'], omitManagedFields: true}]",
		`{"apiVersion":"audit.k8s.io/v1","kind":"Policy","rules":[{"level":"x","y":1}]}`, head + "a: &a [*a]", head + "metadata: {creationTimestamp: x}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		policy, err := audit.Read([]byte(text))
		if err != nil {
			var typed *audit.PolicyError
			require.ErrorAs(t, err, &typed)
			assert.Nil(t, policy)
			assert.NotEmpty(t, err.Error())
			assert.NotContains(t, err.Error(), "\n")
			return
		}
		assert.NotEmpty(t, policy.Rules)
		for _, one := range []authorizer.Attributes{resource("get", "", "pods/log", "default", "one"), resource("list", "g", "roles", "", ""), path("/a/b"), {Path: "/"}} {
			decision := policy.Decide(one)
			assert.Contains(t, []auditv1.Level{auditv1.LevelNone, auditv1.LevelMetadata, auditv1.LevelRequest, auditv1.LevelRequestResponse}, decision.Level)
		}
		again, err := json.Marshal(policy)
		require.NoError(t, err)
		same, err := audit.Read(again)
		require.NoError(t, err, string(again))
		assert.Equal(t, len(policy.Rules), len(same.Rules))
	})
}

func TestAPolicyMayStandBetweenEmptyDocuments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"# a comment\n---\n" + head + "rules: [{level: None}]\n", "---\n" + head + "rules: [{level: None}]\n---\n# nothing\n"} {
		policy, err := audit.Read([]byte(text))
		require.NoError(t, err)
		assert.Len(t, policy.Rules, 1)
	}
}
