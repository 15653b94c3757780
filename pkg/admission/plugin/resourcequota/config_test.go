package resourcequota

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	. "kube2014/pkg/endpoints/endpointstest"
	"kube2014/pkg/storage/memory"
)

func TestTheLowestLimitOfAResourceCounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[schema.GroupResource]limit{
		"":                             {},
		"[]":                           {},
		quota("q", `{}`):               {},
		quota("q", `{"pods":"1k"}`):    {pods: {quota: "q", resource: "pods", hard: 1000}},
		quota("q", `{"count/pods":2}`): {pods: {quota: "q", resource: "count/pods", hard: 2}},
		quota("q", `{"count/pods":"2","pods":"3","services":"0","replicationcontrollers":1,"events":1}`): {pods: {quota: "q", resource: "count/pods", hard: 2},
			corev1.Resource("services"): {quota: "q", resource: "services", hard: 0}, corev1.Resource("replicationcontrollers"): {quota: "q", resource: "replicationcontrollers", hard: 1},
			corev1.Resource("events"): {quota: "q", resource: "events", hard: 1}},
		quota("q", `{"count/roles.rbac.authorization.k8s.io":"2"}`):               {roles: {quota: "q", resource: "count/roles.rbac.authorization.k8s.io", hard: 2}},
		`[` + quota("a", `{"pods":"3"}`) + `,` + quota("b", `{"pods":"2"}`) + `]`: {pods: {quota: "b", resource: "pods", hard: 2}},
		`[` + quota("a", `{"pods":"2"}`) + `,` + quota("b", `{"pods":"3"}`) + `]`: {pods: {quota: "a", resource: "pods", hard: 2}},
	} {
		limits, err := limitsIn(json.RawMessage(text))
		require.NoError(t, err, text)
		for resource, limit := range limits {
			limit.at = nil
			limits[resource] = limit
		}
		assert.Equal(t, want, limits, text)
	}
}

// K48.
func TestWhatAQuotaCannotCountIsRefused(t *testing.T) {
	t.Parallel()
	const only = ": only objects are counted, of count/rolebindings.rbac.authorization.k8s.io, count/roles.rbac.authorization.k8s.io, events, pods, replicationcontrollers, services"
	for text, want := range map[string]string{
		quota("q", `{"limits.cpu":"1"}`):        "configuration.spec.hard[limits.cpu]" + only,
		quota("q", `{"requests.memory":"1Gi"}`): "configuration.spec.hard[requests.memory]" + only,
		quota("q", `{"count/nodes":"1"}`):       "configuration.spec.hard[count/nodes]" + only,
		quota("q", `{"endpoints":"1"}`):         "configuration.spec.hard[endpoints]" + only,
		quota("q", `{"roles":"1"}`):             "configuration.spec.hard[roles]" + only,
		quota("q", `{"count/":"1"}`):            "configuration.spec.hard[count/]" + only,
		quota("q", `{"pods":"-1"}`):             "configuration.spec.hard[pods]: is no integer of at least 0",
		quota("q", `{"pods":"1500m"}`):          "configuration.spec.hard[pods]: is no integer of at least 0",
		quota("q", `{"pods":"x"}`):              "configuration: has a quantity that is not of the form of 1, 100m or 1Gi",
		quota("", `{}`):                         "configuration.metadata.name: is missing",
		`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q","namespace":"x"}}`:                  "configuration.metadata.namespace: there is only the namespace default",
		`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"scopes":["BestEffort"]}}`: "configuration.spec.scopes: all objects are counted",
		`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"scopeSelector":{}}}`:      "configuration.spec.scopeSelector: all objects are counted",
		`{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},"spec":{"hart":{}}}`:               "configuration.spec.hart: is an unknown field, or there twice",
		`[` + quota("q", `{}`) + `,{"apiVersion":"v1","kind":"LimitRange"}]`:                                  "configuration[1]: is no ResourceQuota of v1",
	} {
		plugin, err := New(json.RawMessage(text))
		if err == nil {
			err = plugin.(WantsObjects).SetObjects(nil, catalog())
		}
		assert.EqualError(t, err, want, text)
	}
}

func TestOnlyObjectsThatAreCreatedAreCounted(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	s := newServer(t, store, quota("q", `{"pods":"0"}`))
	assert.True(t, s.Handles(admission.Create))
	assert.True(t, s.Handles(admission.Update))
	assert.False(t, s.Handles(admission.Delete))
	assert.NoError(t, s.begin(t.Context(), admission.Attributes{Operation: admission.Create, Subresource: "binding"}).Validate(objectNamed("x"), nil))
	assert.NoError(t, s.begin(t.Context(), admission.Attributes{Operation: admission.Create, Resource: corev1.SchemeGroupVersion.WithResource("services")}).Validate(objectNamed("x"), nil))
	assert.NoError(t, s.begin(t.Context(), admission.Attributes{Operation: admission.Update}).Validate(objectNamed("x"), objectNamed("x")))
	assert.Error(t, s.begin(t.Context(), admission.Attributes{Operation: admission.Create}).Validate(objectNamed("x"), nil))
}

// The answers are those of kube-apiserver 1.36.3 with such quotas.
func TestTheSecondDoorAnswersAsTodaysServer(t *testing.T) {
	t.Parallel()
	door := Open(t)
	door.Admission = newServer(t, door.Store, quota("q", `{"pods":"2","services":"0"}`)).chain
	const generated = `{"metadata":{"generateName":"y-"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`
	door.Must("POST", Pods, generated)
	door.Must("POST", Pods+"?dryRun=All", generated)
	door.Must("POST", Pods, generated)
	for _, row := range [][4]string{
		{"POST", Pods, `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`, `pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2`},
		{"POST", Pods + "?dryRun=All", `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`, `pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2`},
		{"POST", Services, `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`, `services "s" is forbidden: exceeded quota: q, requested: services=1, used: services=0, limited: services=0`},
		{"PUT", Services + "/e", `{"metadata":{"name":"e"},"spec":{"ports":[{"port":80}]}}`, `services "e" is forbidden: exceeded quota: q, requested: services=1, used: services=0, limited: services=0`},
	} {
		answer := door.Do(row[0], row[1], row[2])
		require.Equal(t, 403, answer.Status, answer.Text)
		assert.Equal(t, row[3], answer.Error().Message)
	}
	assert.Zero(t, reservations(t, door.Store))
}
