package webhook

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
)

// about are the attributes of a change of group/version/resource[/subresource].
func about(operation admission.Operation, what, namespace string) *admission.Attributes {
	parts := append(strings.Split(what, "/"), "")
	return &admission.Attributes{Operation: operation, Namespace: namespace, Subresource: parts[3],
		Resource: schema.GroupVersionResource{Group: parts[0], Version: parts[1], Resource: parts[2]}}
}

func matcher(t *testing.T, changes fields) *hook {
	all := fields{"name": "a.b.c", "clientConfig": fields{"url": "https://a"}, "sideEffects": "None", "admissionReviewVersions": []string{"v1"}}
	for field, value := range changes {
		all[field] = value
	}
	p, err := NewMutating(configurationOf("Mutating", all))
	require.NoError(t, err)
	return p.(*mutating).file[0]
}

func wants(t *testing.T, h *hook, a *admission.Attributes) bool {
	_, matches, err := (&common{}).matches(t.Context(), h, a)
	require.NoError(t, err)
	return matches
}

func TestARuleSaysWhatAWebhookWantsToKnow(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule       string // operations groups versions resources scope
		matches    string
		matchesNot string
	}{
		{"CREATE - v1 pods *", "CREATE /v1/pods", "UPDATE /v1/pods,DELETE /v1/pods,CREATE /v1/pods/binding,CREATE /v1/nodes,CREATE /v2/pods,CREATE apps/v1/pods"},
		{"CREATE,DELETE - v1 pods,nodes *", "CREATE /v1/pods,DELETE /v1/nodes", "UPDATE /v1/pods"},
		{"CONNECT - v1 pods *", "", "CREATE /v1/pods,UPDATE /v1/pods,DELETE /v1/pods"},
		{"* * * * *", "CREATE /v1/pods,DELETE apps/v2/other,UPDATE /v1/nodes", "UPDATE /v1/pods/status"},
		{"* * * */* *", "CREATE /v1/pods,UPDATE /v1/pods/status", ""},
		{"* - v1 pods/* *", "UPDATE /v1/pods/status,CREATE /v1/pods/binding,CREATE /v1/pods", "UPDATE /v1/nodes/status"},
		{"* - v1 */status *", "UPDATE /v1/pods/status,UPDATE /v1/nodes/status", "UPDATE /v1/pods,CREATE /v1/pods/binding"},
		{"* - v1 pods/status *", "UPDATE /v1/pods/status", "UPDATE /v1/pods"},
		{"* - v1,v2 pods *", "CREATE /v2/pods", "CREATE /v3/pods"},
		{"* rbac.authorization.k8s.io v1 roles *", "CREATE rbac.authorization.k8s.io/v1/roles", "CREATE /v1/roles"},
		{"* * * * Namespaced", "CREATE /v1/pods", "UPDATE /v1/nodes"},
		{"* * * * Cluster", "CREATE /v1/nodes", "UPDATE /v1/pods"},
	} {
		words := strings.Fields(strings.Replace(row.rule, " - ", " $ ", 1))
		groups := strings.Split(strings.Replace(words[1], "$", "", 1), ",")
		h := matcher(t, fields{"rules": []fields{{"operations": strings.Split(words[0], ","), "apiGroups": groups,
			"apiVersions": strings.Split(words[2], ","), "resources": strings.Split(words[3], ","), "scope": words[4]}}})
		for want, all := range map[bool]string{true: row.matches, false: row.matchesNot} {
			for one := range strings.SplitSeq(all, ",") {
				operation, what, ok := strings.Cut(one, " ")
				if !ok {
					continue
				}
				namespace := "default"
				if strings.Contains(what, "nodes") {
					namespace = ""
				}
				assert.Equal(t, want, wants(t, h, about(admission.Operation(operation), what, namespace)), "%s: %s", row.rule, one)
			}
		}
	}
}

func TestOneRuleOfSeveralIsEnough(t *testing.T) {
	t.Parallel()
	rule := func(operation, resource string) fields {
		return fields{"operations": []string{operation}, "apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{resource}}
	}
	h := matcher(t, fields{"rules": []fields{rule("CREATE", "pods"), rule("DELETE", "nodes")}})
	assert.True(t, wants(t, h, about(admission.Create, "/v1/pods", "default")))
	assert.True(t, wants(t, h, about(admission.Delete, "/v1/nodes", "")))
	assert.False(t, wants(t, h, about(admission.Delete, "/v1/pods", "default")), "no rule has both")
	p := common{file: []*hook{h}}
	assert.True(t, p.Handles(admission.Create))
	assert.True(t, p.Handles(admission.Delete))
	assert.False(t, p.Handles(admission.Update))
}

func TestLabelsSelectWhatAWebhookWantsToKnow(t *testing.T) {
	t.Parallel()
	rules := []fields{{"operations": []string{"*"}, "apiGroups": []string{"*"}, "apiVersions": []string{"*"}, "resources": []string{"*/*"}}}
	inDefault := fields{"matchLabels": fields{"kubernetes.io/metadata.name": "default"}}
	notThere := fields{"matchExpressions": []fields{{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": []string{"default"}}}}
	has := fields{"matchLabels": fields{"a": "b"}}
	hasNot := fields{"matchExpressions": []fields{{"key": "a", "operator": "DoesNotExist"}}}
	labelled, bare := newPod(), newPod()
	bare.Labels = nil
	for _, row := range []struct {
		selector    string
		value       fields
		namespace   string
		object, old admission.Object
		want        bool
	}{
		{"namespaceSelector", inDefault, "default", bare, nil, true},
		{"namespaceSelector", inDefault, "other", bare, nil, false},
		{"namespaceSelector", notThere, "default", bare, nil, false},
		{"namespaceSelector", notThere, "", bare, nil, true},
		{"namespaceSelector", fields{}, "default", bare, nil, true},
		{"objectSelector", has, "default", labelled, nil, true},
		{"objectSelector", has, "default", bare, nil, false},
		{"objectSelector", has, "default", bare, labelled, true},
		{"objectSelector", has, "default", nil, labelled, true},
		{"objectSelector", has, "default", nil, nil, false},
		{"objectSelector", hasNot, "default", labelled, labelled, false},
		{"objectSelector", hasNot, "default", labelled, bare, true},
		{"objectSelector", fields{}, "default", nil, nil, true},
	} {
		a := about(admission.Update, "/v1/pods", row.namespace)
		a.Object, a.OldObject = row.object, row.old
		h := matcher(t, fields{"rules": rules, row.selector: row.value})
		assert.Equal(t, row.want, wants(t, h, a), "%s %v in %q", row.selector, row.value, row.namespace)
	}
}
