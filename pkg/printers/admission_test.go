package printers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

func TestAPolicyTellsOfItsParameters(t *testing.T) {
	t.Parallel()
	contains(t, map[string]any{"Validations": int64(0), "ParamKind": "<unset>"}, cells(t, ValidatingPolicies, &admissionregistrationv1.ValidatingAdmissionPolicy{}))
	policy := object(t, &admissionregistrationv1.MutatingAdmissionPolicy{}, `{"spec":{"paramKind":{"apiVersion":"x.io/v1","kind":"Widget"},"mutations":[{}]}}`)
	contains(t, map[string]any{"Mutations": int64(1), "ParamKind": "x.io/v1/Widget"}, cells(t, MutatingPolicies, policy))
	for ref, want := range map[string]string{
		`null`: "<unset>", `{}`: "<unset>", `{"name":"n"}`: "*/n", `{"name":"n","namespace":"x"}`: "x/n",
		`{"selector":{"matchLabels":{"a":"b"}}}`: "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}",
	} {
		binding := object(t, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, `{"spec":{"policyName":"p","paramRef":`+ref+`}}`)
		got := cells(t, ValidatingPolicyBindings, binding)
		assert.Equal(t, want, got["ParamRef"])
		assert.Equal(t, "p", got["PolicyName"])
	}
}
