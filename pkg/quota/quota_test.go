package quota

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhoseObjectsUseAName(t *testing.T) {
	t.Parallel()
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for name, resource := range map[corev1.ResourceName]schema.GroupResource{
		"pods": pods, "cpu": pods, "memory": pods, "requests.cpu": pods, "limits.memory": pods, "ephemeral-storage": pods, "requests.nvidia.com/gpu": pods,
		"hugepages-2Mi": pods, "requests.hugepages-2Mi": pods, "count/pods": pods, "services.nodeports": services, "services.loadbalancers": services, "count/services": services,
		"configmaps": corev1.Resource("configmaps"), "persistentvolumeclaims": corev1.Resource("persistentvolumeclaims"), "count/deployments.apps": deployments,
		"requests.storage": claims, "gold.storageclass.storage.k8s.io/requests.storage": claims, "requests.a.storageclass.storage.k8s.io/persistentvolumeclaims": claims,
		"x.y/z": {}, "gold.storageclass.storage.k8s.io/pods": {},
	} {
		assert.Equal(t, resource, ResourceOf(name), name)
	}
}

// object decodes an object of a type.
func object[T any](t *testing.T, text string) *T {
	one := new(T)
	require.NoError(t, json.Unmarshal([]byte(text), one))
	return one
}

func TestWhatObjectsUse(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 6, 12, 0, 0, 0, time.UTC)
	pod := func(text string) runtime.Object { return object[corev1.Pod](t, text) }
	claim := func(text string) runtime.Object { return object[corev1.PersistentVolumeClaim](t, text) }
	service := func(text string) runtime.Object { return object[corev1.Service](t, text) }
	overdue := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: now.Add(-31 * time.Second)}, DeletionGracePeriodSeconds: new(int64(30))}}
	ending := overdue.DeepCopy()
	ending.DeletionTimestamp.Time = now.Add(-30 * time.Second)
	for name, row := range map[string]struct {
		resource schema.GroupResource
		object   runtime.Object
		usage    string
	}{
		"a count": {corev1.Resource("secrets"), nil, `{"count/secrets":"1","secrets":"1"}`},
		"a group": {schema.GroupResource{Group: "apps", Resource: "services"}, nil, `{"count/services.apps":"1"}`},
		"other":   {corev1.Resource("podtemplates"), nil, `{"count/podtemplates":"1"}`},
		"a pod": {pods, pod(`{"spec":{"overhead":{"cpu":"10m","memory":"1Mi"},"initContainers":[{"resources":{"requests":{"memory":"3Mi"}}}],"containers":[
			{"resources":{"requests":{"cpu":"100m","memory":"1Mi","a.b/gpu":"2","hugepages-2Mi":"2Mi"},"limits":{"cpu":"200m","a.b/gpu":"2"}}},{"resources":{"requests":{"cpu":"50m"}}}]}}`),
			`{"count/pods":"1","pods":"1","cpu":"160m","requests.cpu":"160m","limits.cpu":"210m","memory":"4Mi","requests.memory":"4Mi","requests.a.b/gpu":"2","hugepages-2Mi":"2Mi","requests.hugepages-2Mi":"2Mi"}`},
		"the whole pod": {pods, pod(`{"spec":{"resources":{"requests":{"cpu":"1"}},"containers":[{"resources":{"requests":{"cpu":"100m"}}}]}}`), `{"count/pods":"1","pods":"1","cpu":"1","requests.cpu":"1"}`},
		"a claim": {claims, claim(`{"spec":{"storageClassName":"gold","resources":{"requests":{"storage":"1500m"}}}}`),
			`{"count/persistentvolumeclaims":"1","persistentvolumeclaims":"1","requests.storage":"2","gold.storageclass.storage.k8s.io/persistentvolumeclaims":"1","gold.storageclass.storage.k8s.io/requests.storage":"2"}`},
		"a claim that shrinks": {claims, claim(`{"spec":{"resources":{"requests":{"storage":"1Gi"}}},"status":{"allocatedResources":{"storage":"2Gi"}}}`),
			`{"count/persistentvolumeclaims":"1","persistentvolumeclaims":"1","requests.storage":"2Gi"}`},
		"a claim without a size": {claims, claim(`{}`), `{"count/persistentvolumeclaims":"1","persistentvolumeclaims":"1"}`},
		"a pod that ended":       {pods, pod(`{"status":{"phase":"Failed"},"spec":{"containers":[{"resources":{"requests":{"cpu":"100m"}}}]}}`), `{"count/pods":"1"}`},
		"a pod that ends":        {pods, ending, `{"count/pods":"1","pods":"1"}`},
		"one that is late":       {pods, overdue, `{"count/pods":"1"}`},
		"a service":              {services, service(`{"spec":{"ports":[{"port":1}]}}`), `{"count/services":"1","services":"1","services.nodeports":"0","services.loadbalancers":"0"}`},
		"node ports":             {services, service(`{"spec":{"type":"NodePort","ports":[{"port":1},{"port":2}]}}`), `{"count/services":"1","services":"1","services.nodeports":"2","services.loadbalancers":"0"}`},
		"a load balancer":        {services, service(`{"spec":{"type":"LoadBalancer","ports":[{"port":1},{"port":2}]}}`), `{"count/services":"1","services":"1","services.nodeports":"2","services.loadbalancers":"1"}`},
		"without own ports":      {services, service(`{"spec":{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"ports":[{"port":1},{"port":2,"nodePort":30000}]}}`), `{"count/services":"1","services":"1","services.nodeports":"1","services.loadbalancers":"1"}`},
	} {
		text, err := json.Marshal(Usage(row.resource, row.object, now))
		require.NoError(t, err)
		assert.JSONEq(t, row.usage, string(text), name)
	}
}

func TestWhichPodsAreInAScope(t *testing.T) {
	t.Parallel()
	const elsewhere = `{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"x","namespaces":["other"]}]}`
	specs := map[string]string{
		"plain": `{}`, "terminating": `{"activeDeadlineSeconds":0}`, "burstable": `{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`, "high": `{"priorityClassName":"high"}`,
		"near": `{"affinity":{"podAffinity":` + elsewhere + `}}`, "far": `{"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{"topologyKey":"x","namespaceSelector":{}}}]}}}`,
	}
	for scope, in := range map[string][]string{
		`{"scopes":["Terminating"]}`:                    {"terminating"},
		`{"scopes":["NotTerminating","NotBestEffort"]}`: {"burstable"},
		`{"scopes":["BestEffort"]}`:                     {"plain", "terminating", "high", "near", "far"},
		`{"scopes":["CrossNamespacePodAffinity"]}`:      {"near", "far"},
		`{"scopes":["VolumeAttributesClass"]}`:          nil,
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["high","low"]}]}}`: {"high"},
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"Exists"}]}}`:                     {"high"},
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"NotIn","values":["high"]}]}}`:    {"plain", "terminating", "burstable", "near", "far"},
		`{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"DoesNotExist"}]}}`:               {"plain", "terminating", "burstable", "near", "far"},
	} {
		quota := &corev1.ResourceQuota{Spec: *object[corev1.ResourceQuotaSpec](t, scope)}
		quota.Spec.Hard = corev1.ResourceList{"pods": number(1), "count/configmaps": number(1)}
		var covered []string
		for name, spec := range specs {
			if Covers(quota, pods, &corev1.Pod{Spec: *object[corev1.PodSpec](t, spec)}) {
				covered = append(covered, name)
			}
		}
		assert.ElementsMatch(t, in, covered, scope)
		assert.False(t, Covers(quota, corev1.Resource("configmaps"), &corev1.ConfigMap{}), "only pods have scopes")
	}
}

func TestAPodThatIsLimitedAsAWholeNeedsNoLimitsOfContainers(t *testing.T) {
	t.Parallel()
	quota := &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"limits.cpu": number(1), "pods": number(1), "ephemeral-storage": number(1)}}}
	pod := &corev1.Pod{Spec: *object[corev1.PodSpec](t, `{"containers":[{"name":"b"},{"name":"a","resources":{"limits":{"cpu":"1"}}},{"name":"b"}]}`)}
	assert.EqualError(t, CheckSpecified(quota, pod), "must specify limits.cpu for: b")
	assert.NoError(t, CheckSpecified(quota, &corev1.Service{}))
	pod.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": number(1)}}
	assert.NoError(t, CheckSpecified(quota, pod))
}
