package limits_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/limits"
)

func quotaOf(t *testing.T, spec string) *corev1.ResourceQuota {
	quota := &corev1.ResourceQuota{}
	quota.Name, quota.Namespace = "q", "default"
	require.NoError(t, json.Unmarshal([]byte(spec), &quota.Spec))
	return quota
}

func TestWhatIsWrongWithAQuotaIsToldInTodaysWords(t *testing.T) {
	t.Parallel()
	const notForAll = `spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`
	for spec, want := range map[string][]string{
		`{}`: nil,
		`{"hard":{"pods":"1","count/deployments.apps":"2","requests.a.b/gpu":"1","requests.hugepages-2Mi":"2Mi","requests.storage":"1Gi","gold.storageclass.storage.k8s.io/requests.storage":"1"}}`: nil,
		`{"hard":{"pods":"-1"}}`:    {`spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0`},
		`{"hard":{"pods":"1500m"}}`: {`spec.hard[pods]: Invalid value: "1500m": must be an integer`},
		`{"hard":{"storage":"1"}}`:  {`spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota`},
		`{"hard":{"foo":"1"}}`:      {`spec.hard[foo]: Invalid value: "foo": must be a standard resource type or fully qualified`, `spec.hard[foo]: Invalid value: "foo": must be a standard resource for quota`},
		`{"scopes":["Some"]}`:       {`spec.scopes: Invalid value: ["Some"]: unsupported scope`},
		`{"scopes":["BestEffort"],"hard":{"cpu":"1","pods":"1","count/pods":"1"}}`:                                                                  {`spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource`},
		`{"scopes":["Terminating"],"hard":{"services":"1"}}`:                                                                                        {`spec.scopes: Invalid value: ["Terminating"]: unsupported scope applied to resource`},
		`{"scopes":["Terminating","NotTerminating"]}`:                                                                                               {`spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes`},
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"BestEffort","operator":"In","values":["x"]}]}}`:                                        {notForAll},
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In"}]}}`:                                                    {"spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"},
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"Exists","values":["x"]}]}}`:                                 {"spec.scopeSelector.matchExpressions.values: Invalid value: [\"x\"]: must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"},
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"Is"}]}}`:                                                    {`spec.scopeSelector.matchExpressions.operator: Invalid value: "Is": not a valid selector operator`},
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"Some","operator":"Exists"}]}}`:                                                         {`spec.scopeSelector.matchExpressions.scopeName: Invalid value: "Some": unsupported scope`},
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"BestEffort","operator":"Exists"},{"scopeName":"NotBestEffort","operator":"Exists"}]}}`: {`spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes`},
	} {
		var told []string
		for _, err := range validation.Create(quotaOf(t, spec), true, nil, limits.ResourceQuota) {
			told = append(told, err.Error())
		}
		assert.Equal(t, want, told, spec)
	}
}

func TestTheScopesOfAQuotaStay(t *testing.T) {
	t.Parallel()
	old, now := quotaOf(t, `{"scopes":["Terminating"],"hard":{"pods":"1"}}`), quotaOf(t, `{"scopes":["BestEffort"],"hard":{"pods":"2"}}`)
	old.ResourceVersion, now.ResourceVersion = "1", "1"
	assert.EqualError(t, validation.Update(now, old, limits.ResourceQuota).ToAggregate(), `spec.scopes: Invalid value: ["BestEffort"]: field is immutable`)
	now.Spec.Scopes = old.Spec.Scopes
	assert.Empty(t, validation.Update(now, old, limits.ResourceQuota))
	now.Status.Used = corev1.ResourceList{"pods": now.Spec.Hard["pods"]}
	assert.Empty(t, validation.Update(now, old, limits.ResourceQuotaStatus))
	now.Status.Used["foo"] = now.Spec.Hard["pods"]
	assert.Len(t, validation.Update(now, old, limits.ResourceQuotaStatus), 2)
}
