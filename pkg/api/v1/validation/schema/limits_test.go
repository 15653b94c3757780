package schema

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/util"
)

func TestEachLimitIsOfAFieldThatThereIs(t *testing.T) {
	t.Parallel()
	known := map[string]reflect.Type{}
	for _, object := range []any{appsv1.ControllerRevision{}, appsv1.DaemonSet{}, appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.StatefulSet{},
		autoscalingv2.HorizontalPodAutoscaler{}, batchv1.CronJob{}, batchv1.Job{}, coordinationv1.Lease{}, discoveryv1.EndpointSlice{}, networkingv1.IngressClass{},
		nodev1.RuntimeClass{}, policyv1.PodDisruptionBudget{}, resourcev1.ResourceClaim{}, resourcev1.ResourceClaimTemplate{}, resourcev1.ResourceSlice{},
		schedulingv1.PriorityClass{}, storagev1.CSIDriver{}, storagev1.CSINode{}, storagev1.CSIStorageCapacity{}, storagev1.StorageClass{}, storagev1.VolumeAttachment{}} {
		collect(known, reflect.TypeOf(object))
	}
	for line := range strings.Lines(strings.TrimSpace(limits)) {
		columns := strings.Fields(line)
		of := known[columns[0]]
		if !assert.NotNil(t, of, line) {
			continue
		}
		for _, path := range columns[2:] {
			_, _, found := util.JSONField(of, path)
			assert.True(t, found, "%s: %s", columns[0], path)
		}
	}
}

func collect(known map[string]reflect.Type, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	name := strings.TrimPrefix(t.PkgPath(), "k8s.io/api/") + "." + t.Name()
	if t.Kind() != reflect.Struct || known[name] != nil {
		return
	}
	known[name] = t
	for f := range t.Fields() {
		collect(known, f.Type)
	}
}

func TestFieldsHaveLimits(t *testing.T) {
	t.Parallel()
	selecting := func(app string) *appsv1.Deployment {
		return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
	}
	for sentence, row := range map[string]struct {
		now, old any
		want     []string
	}{
		"a number is not too small":         {&batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(-1))}}, nil, []string{"spec.parallelism: Invalid value: -1: must be greater than or equal to 0"}},
		"wherever its struct is":            {&batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Completions: new(int32(-1))}}}}, nil, []string{"spec.jobTemplate.spec.completions: Invalid value: -1: must be greater than or equal to 0"}},
		"a list is not too long":            {&discoveryv1.EndpointSlice{Endpoints: make([]discoveryv1.Endpoint, 1001)}, nil, []string{"endpoints: Too many: 1001: must have at most 1000 items"}},
		"a text has one of its values":      {&storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{FSGroupPolicy: new(storagev1.FSGroupPolicy("X"))}}, nil, []string{`spec.fsGroupPolicy: Unsupported value: "X": supported values: "File", "None", "ReadWriteOnceWithFSType"`}},
		"a field stays":                     {selecting("a"), selecting("b"), []string{`spec.selector: Invalid value: {"matchLabels":{"app":"a"}}: field is immutable`}},
		"an update may send it once more":   {selecting("a"), selecting("a"), nil},
		"a new object may have any":         {selecting("a"), (*appsv1.Deployment)(nil), nil},
		"the template of a cron job is new": {&batchv1.CronJob{Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Selector: &metav1.LabelSelector{}}}}}, &batchv1.CronJob{}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			var c check.Errors
			Check(&c, row.now, row.old)
			assert.Equal(t, row.want, texts(c.List))
		})
	}
}

func TestOnlyTheLimitsOfAStatusAreChecked(t *testing.T) {
	t.Parallel()
	var c check.Errors
	CheckStatus(&c, &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(-1))}, Status: batchv1.JobStatus{Active: -1, Conditions: []batchv1.JobCondition{{Status: "X"}}}})
	assert.Equal(t, []string{"status.active: Invalid value: -1: must be greater than or equal to 0"}, texts(c.List))
}
