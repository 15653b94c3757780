package webhook

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/admission"
)

// K60.
func TestAWrongConfigurationIsToldByPathWithoutWhatIsInIt(t *testing.T) {
	t.Parallel()
	const at = "configuration.webhooks[0]."
	rule := func(changes string) string {
		all := map[string]any{}
		for _, text := range []string{`{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}`, changes} {
			if err := json.Unmarshal([]byte(text), &all); err != nil {
				panic(err)
			}
		}
		text, _ := json.Marshal(all)
		return `{"rules":[` + string(text) + `]}`
	}
	for name, row := range map[string]struct{ changes, problem string }{
		"no name":                      {`{"name":""}`, at + "name: Required value"},
		"a name of two parts":          {`{"name":"s3cret.com"}`, at + "name: Invalid value"},
		"a name that is none":          {`{"name":"S3CRET.b.c"}`, at + "name: Invalid value"},
		"no server":                    {`{"clientConfig":{}}`, at + "clientConfig: Required value"},
		"a service besides":            {`{"clientConfig":{"url":"https://a","service":{"name":"s","namespace":"b"}}}`, at + "clientConfig: Required value"},
		"http":                         {`{"clientConfig":{"url":"http://s3cret"}}`, at + "clientConfig.url: Invalid value"},
		"no host":                      {`{"clientConfig":{"url":"https:///s3cret"}}`, at + "clientConfig.url: Invalid value"},
		"no URL":                       {`{"clientConfig":{"url":"https://%s3cret"}}`, at + "clientConfig.url: Required value"},
		"a user":                       {`{"clientConfig":{"url":"https://u:s3cret@a"}}`, at + "clientConfig.url: Invalid value"},
		"a fragment":                   {`{"clientConfig":{"url":"https://a/#s3cret"}}`, at + "clientConfig.url: Invalid value"},
		"a query":                      {`{"clientConfig":{"url":"https://a/?token=s3cret"}}`, at + "clientConfig.url: Invalid value"},
		"no authority":                 {`{"clientConfig":{"url":"https://a","caBundle":"czNjcmV0"}}`, at + "clientConfig.caBundle has no certificate (BEGIN CERTIFICATE)"},
		"no base64":                    {`{"clientConfig":{"url":"https://a","caBundle":"s3cret!"}}`, "configuration: is no MutatingWebhookConfiguration of admissionregistration.k8s.io/v1"},
		"no effects":                   {`{"sideEffects":null}`, at + "sideEffects: Required value"},
		"effects that nobody knows":    {`{"sideEffects":"Some"}`, at + "sideEffects: Unsupported value: supported values: \"None\", \"NoneOnDryRun\""},
		"another failure policy":       {`{"failurePolicy":"s3cret"}`, at + "failurePolicy: Unsupported value: supported values: \"Fail\", \"Ignore\""},
		"another match policy":         {`{"matchPolicy":"s3cret"}`, at + "matchPolicy: Unsupported value: supported values: \"Equivalent\", \"Exact\""},
		"another reinvocation policy":  {`{"reinvocationPolicy":"s3cret"}`, at + "reinvocationPolicy: Unsupported value: supported values: \"IfNeeded\", \"Never\""},
		"a wrong condition":            {`{"matchConditions":[{"name":"a","expression":"s3cret"}]}`, at + "matchConditions[0].expression: Invalid value"},
		"no versions":                  {`{"admissionReviewVersions":[]}`, at + "admissionReviewVersions: Required value"},
		"another version":              {`{"admissionReviewVersions":["s3cret"]}`, at + "admissionReviewVersions: Invalid value"},
		"a version that is none":       {`{"admissionReviewVersions":["v1","S3CRET"]}`, at + "admissionReviewVersions[1]: Invalid value"},
		"a version twice":              {`{"admissionReviewVersions":["v1","v1"]}`, at + "admissionReviewVersions[1]: Invalid value"},
		"no time":                      {`{"timeoutSeconds":0}`, at + "timeoutSeconds: Invalid value"},
		"too much time":                {`{"timeoutSeconds":31}`, at + "timeoutSeconds: Invalid value"},
		"time of another type":         {`{"timeoutSeconds":"s3cret"}`, "configuration.webhooks.timeoutSeconds: has a value of another type"},
		"a wrong selector":             {`{"objectSelector":{"matchExpressions":[{"key":"a","operator":"s3cret"}]}}`, at + "objectSelector.matchExpressions[0].operator: Invalid value"},
		"a wrong selector of names":    {`{"namespaceSelector":{"matchLabels":{"a":"s3cret!"}}}`, at + "namespaceSelector.matchLabels: Invalid value"},
		"an unknown field":             {`{"timeout":"s3cret"}`, at + "timeout: is an unknown field, or there twice"},
		"a field in other letters":     {`{"SideEffects":"None"}`, at + "SideEffects: is an unknown field, or there twice"},
		"an unknown field of a server": {`{"clientConfig":{"url":"https://a","token":"s3cret"}}`, at + "clientConfig.token: is an unknown field, or there twice"},
		"no operations":                {rule(`{"operations":[]}`), at + "rules[0].operations: Required value"},
		"an unknown operation":         {rule(`{"operations":["CREATE","s3cret"]}`), at + "rules[0].operations[1]: Unsupported value: supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\""},
		"more than all operations":     {rule(`{"operations":["*","CREATE"]}`), at + "rules[0].operations: Invalid value"},
		"no groups":                    {rule(`{"apiGroups":[]}`), at + "rules[0].apiGroups: Required value"},
		"more than all groups":         {rule(`{"apiGroups":["","*"]}`), at + "rules[0].apiGroups: Invalid value"},
		"no versions of a rule":        {rule(`{"apiVersions":null}`), at + "rules[0].apiVersions: Required value"},
		"an empty version":             {rule(`{"apiVersions":["v1",""]}`), at + "rules[0].apiVersions[1]: Required value"},
		"more than all versions":       {rule(`{"apiVersions":["*","v1"]}`), at + "rules[0].apiVersions: Invalid value"},
		"no resources":                 {rule(`{"resources":[]}`), at + "rules[0].resources: Required value"},
		"an empty resource":            {rule(`{"resources":["pods",""]}`), at + "rules[0].resources[1]: Required value"},
		"more than all resources":      {rule(`{"resources":["*/*","pods"]}`), at + "rules[0].resources: Invalid value"},
		"one of all":                   {rule(`{"resources":["*","pods"]}`), at + "rules[0].resources: Invalid value"},
		"one of all of one":            {rule(`{"resources":["pods/*","pods/status"]}`), at + "rules[0].resources[1]: Invalid value"},
		"one of one of all":            {rule(`{"resources":["*/status","pods/status"]}`), at + "rules[0].resources[1]: Invalid value"},
		"another scope":                {rule(`{"scope":"s3cret"}`), at + "rules[0].scope: Unsupported value: supported values: \"*\", \"Cluster\", \"Namespaced\""},
	} {
		all := fields{"name": "a.example.com", "clientConfig": fields{"url": "https://a"}, "sideEffects": "None", "admissionReviewVersions": []string{"v1"}}
		require.NoError(t, json.Unmarshal([]byte(row.changes), &all), name)
		for _, kind := range []string{"Mutating", "Validating"} {
			_, err := factoryOf(kind)(configurationOf(kind, all))
			want := strings.ReplaceAll(row.problem, "MutatingWebhookConfiguration", kind+"WebhookConfiguration")
			if kind == "Validating" && name == "another reinvocation policy" {
				want = at + "reinvocationPolicy: is an unknown field, or there twice"
			}
			if assert.EqualError(t, err, want, name) {
				assert.NotContains(t, err.Error(), "s3cret")
			}
		}
	}
}

func factoryOf(kind string) admission.Factory {
	if kind == "Mutating" {
		return NewMutating
	}
	return NewValidating
}

func TestAConfigurationThatIsNoneIsToldAsSuch(t *testing.T) {
	t.Parallel()
	named := func(name string) string {
		return `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":"` + name + `"}}`
	}
	hook := `{"name":"a.b.c","clientConfig":{"url":"https://a"},"sideEffects":"None","admissionReviewVersions":["v1"]}`
	hooked := strings.Replace(named("a"), `"metadata"`, `"webhooks":[`+hook+`],"metadata"`, 1)
	const none = ": is no MutatingWebhookConfiguration of admissionregistration.k8s.io/v1"
	for _, row := range []struct{ text, problem string }{
		{"null", "configuration" + none},
		{"{}", "configuration" + none},
		{`"s3cret"`, "configuration" + none},
		{"[s3cret", "configuration: is no JSON"},
		{"[1]", "configuration[0]" + none},
		{strings.Replace(named("a"), "Mutating", "Validating", 1), "configuration" + none},
		{strings.Replace(named("a"), "/v1", "/v1beta1", 1), "configuration" + none},
		{`{"kind":"Secret","apiVersion":"v1","s3cret":1}`, "configuration" + none + ", and has unknown fields"},
		{named(""), "configuration.metadata.name: is no name"},
		{named("S3CRET"), "configuration.metadata.name: is no name"},
		{"[" + hooked + "," + hooked + "]", "configuration[1].metadata.name: is also that of another object"},
		{"[" + named("a") + `,{"kind":"List"}]`, "configuration[1]" + none},
		{strings.Replace(named("a"), `"metadata"`, `"webhooks":[`+hook+","+hook+`],"metadata"`, 1), "configuration.webhooks[1].name: Duplicate value"},
		{"[" + named("a") + "," + strings.Replace(named("b"), `"metadata"`, `"webhooks":[{}],"metadata"`, 1) + "]", "configuration[1].webhooks[0].name: Required value"},
	} {
		_, err := NewMutating(json.RawMessage(row.text))
		assert.EqualError(t, err, row.problem, row.text)
	}
}

// As today's server without such objects.
func TestWithoutAConfigurationNobodyIsAsked(t *testing.T) {
	t.Parallel()
	for _, factory := range []admission.Factory{NewMutating, NewValidating} {
		plugin, err := factory(nil)
		require.NoError(t, err)
		plugins := admission.Plugins{}
		plugins["Test"] = func(json.RawMessage) (admission.Interface, error) { return plugin, nil }
		chain, err := plugins.New([]string{"Test"}, nil)
		require.NoError(t, err)
		request := chain.Begin(t.Context(), admission.Attributes{Operation: admission.Create})
		_, err = request.Mutate(&corev1.Pod{}, nil)
		require.NoError(t, err)
		assert.NoError(t, request.Validate(&corev1.Pod{}, nil))
	}
}

func TestWhatIsLeftOutIsAsInTodaysServer(t *testing.T) {
	t.Parallel()
	least := fields{"name": "a.b.c", "clientConfig": fields{"url": "https://a"}, "sideEffects": "NoneOnDryRun", "admissionReviewVersions": []string{"v2", "v1"}}
	p, err := NewMutating(configurationOf("Mutating", least))
	require.NoError(t, err)
	h := p.(*mutating).file[0]
	assert.False(t, h.failOpen)
	assert.False(t, h.ifNeeded)
	assert.True(t, h.criteria.Equivalent)
	assert.True(t, h.criteria.Objects.Empty())
	assert.True(t, h.criteria.Namespaces.Empty())
	assert.False(t, p.Handles(admission.Create), "there are no rules")

	text := configurationOf("Mutating", least)
	p, err = NewMutating(json.RawMessage("[" + string(text) + "," + strings.Replace(string(text), `"config"`, `"other"`, 1) + "]"))
	require.NoError(t, err, "two objects may have webhooks of one name")
	assert.Equal(t, "config", p.(*mutating).file[0].configuration)
	assert.Equal(t, "other", p.(*mutating).file[1].configuration)
}
