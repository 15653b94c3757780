package policies_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/policies"
)

// Package rest/admissionregistration compares the other rules with those of the real server.

func policyOf(t *testing.T, spec string) *admissionregistrationv1.ValidatingAdmissionPolicy {
	p := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	p.Name = "p"
	const match = `{"matchConstraints":{"resourceRules":[{"apiGroups":["x.io"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["widgets"]}]},`
	require.NoError(t, json.Unmarshal([]byte(match+spec+`}`), &p.Spec))
	policies.DefaultValidating(p)
	return p
}

func TestAPolicyHasAtMost20AuditAnnotations(t *testing.T) {
	t.Parallel()
	for count, want := range map[int]int{20: 0, 21: 1} {
		annotations := strings.Repeat(`{"key":"k","valueExpression":"'v'"},`, count)
		p := policyOf(t, `"auditAnnotations":[`+strings.TrimSuffix(annotations, ",")+`]`)
		for i := range p.Spec.AuditAnnotations {
			p.Spec.AuditAnnotations[i].Key = strings.Repeat("k", i+1)
		}
		var c check.Errors
		policies.CheckValidating(&c, p, nil)
		require.Len(t, c.List, want)
		for _, err := range c.List {
			assert.Equal(t, "spec.auditAnnotations", err.Field)
			assert.Equal(t, "must not have more than 20 auditAnnotations", err.Detail)
		}
	}
}

// K98.
func TestAPolicyIsSmallEnoughToBeCompiled(t *testing.T) {
	t.Parallel()
	many := func(n int) string { return strings.TrimSuffix(strings.Repeat(`{"expression":"true"},`, n), ",") }
	long := func(n int) string {
		return `{"expression":"'` + strings.Repeat("x", n) + `' != ''"},{"expression":"true","messageExpression":"'` + strings.Repeat("y", n) + `'"}`
	}
	for validations, want := range map[string]string{
		many(256): "", many(257): "must not have more than 256 expressions", long(40_000): "", long(50_000): "must not have expressions of more than 100000 bytes together",
	} {
		var c check.Errors
		policies.CheckValidating(&c, policyOf(t, `"validations":[`+validations+`]`), nil)
		if want == "" {
			assert.Empty(t, c.List)
			continue
		}
		require.Len(t, c.List, 1)
		assert.Equal(t, "spec: Forbidden: "+want, c.List[0].Error())
	}
}

func TestConditionsAreCheckedAgainOnlyIfTheyOrTheParametersChange(t *testing.T) {
	t.Parallel()
	const wrong = `"validations":[{"expression":"true"}],"matchConditions":[{"name":"a","expression":"unknown"}]`
	old := policyOf(t, wrong)
	for spec, want := range map[string]int{
		wrong: 0, `"failurePolicy":"Ignore",` + wrong: 0, `"paramKind":{"apiVersion":"v1","kind":"Secret"},` + wrong: 1, strings.Replace(wrong, `"a"`, `"b"`, 1): 1,
	} {
		var c check.Errors
		policies.CheckValidating(&c, policyOf(t, spec), old)
		assert.Len(t, c.List, want, spec)
	}
}
