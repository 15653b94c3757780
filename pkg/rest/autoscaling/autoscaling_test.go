package autoscaling_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/autoscaling"
	"kube2014/pkg/storage/memory"
)

func open(t *testing.T) *Door {
	return OpenWith(t, autoscaling.Resources(rest.Base{Objects: memory.New(1), Now: func() time.Time { return Now }})...)
}

func TestObjectsAreDefaultedCheckedAndChangedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	open(t).Replay(t, "testdata/recorded.jsonl")
}

const (
	inV1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
	inV2 = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
)

func TestAClientOfV1KeepsWhatOnlyV2CanSay(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.Must("POST", inV2, `{"metadata":{"name":"web"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},
		"behavior":{"scaleDown":{"selectPolicy":"Disabled"}},"metrics":[
		{"type":"Pods","pods":{"metric":{"name":"queue"},"target":{"type":"AverageValue","averageValue":"3"}}},
		{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}}]}}`)
	d.Must("PATCH", inV2+"/web/status", `{"status":{"currentReplicas":2,"desiredReplicas":2,"conditions":[{"type":"AbleToScale","status":"True"}]}}`, "Content-Type", MergePatch)
	var before, after autoscalingv2.HorizontalPodAutoscaler
	d.Must("GET", inV2+"/web", "").Into(&before)

	var old autoscalingv1.HorizontalPodAutoscaler
	d.Must("GET", inV1+"/web", "").Into(&old)
	assert.Equal(t, new(int32(50)), old.Spec.TargetCPUUtilizationPercentage)
	d.Must("PUT", inV1+"/web", d.Must("GET", inV1+"/web", "").Text)
	d.Must("GET", inV2+"/web", "").Into(&after)
	assert.Equal(t, before, after, "not even its version changes")

	d.Must("PATCH", inV1+"/web", `{"spec":{"targetCPUUtilizationPercentage":70}}`, "Content-Type", MergePatch)
	d.Must("GET", inV2+"/web", "").Into(&after)
	assert.Equal(t, new(int32(70)), after.Spec.Metrics[1].Resource.Target.AverageUtilization)
	assert.Equal(t, before.Spec.Behavior, after.Spec.Behavior)
	assert.Equal(t, before.Status, after.Status)
}

func TestTheStatusIsNoneOfTheAnnotationsThatAClientOfV1Sends(t *testing.T) {
	t.Parallel()
	d := open(t)
	const conditions = `"annotations":{"autoscaling.alpha.kubernetes.io/conditions":"[{\"type\":\"AbleToScale\",\"status\":\"True\"}]"}`
	d.Must("POST", inV1, `{"metadata":{"name":"web",`+conditions+`},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}`)
	d.Must("PATCH", inV1+"/web", `{"metadata":{`+conditions+`}}`, "Content-Type", MergePatch)
	var stored autoscalingv2.HorizontalPodAutoscaler
	d.Must("GET", inV2+"/web", "").Into(&stored)
	assert.Empty(t, stored.Status.Conditions)
	d.Must("PATCH", inV1+"/web/status", `{"metadata":{`+conditions+`}}`, "Content-Type", MergePatch)
	d.Must("GET", inV2+"/web", "").Into(&stored)
	assert.Len(t, stored.Status.Conditions, 1, "but a controller of v1 tells them so")
}

func TestBothVersionsHaveTheSameColumns(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.Must("POST", inV1, `{"metadata":{"name":"web"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}`)
	for _, path := range []string{inV1, inV2} {
		assert.Contains(t, d.Must("GET", path, "", "Accept", Table).Text, `"cells":["web","Deployment/web","cpu: \u003cunknown\u003e/80%","1",3,0,`)
	}
}
