package schema

import (
	"reflect"
	"strconv"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/util"
)

// limits are rules about single fields that no marker says. A line has a struct of k8s.io/api, a rule, and the fields: a
// number is not too small, a list has at most so many elements, a text has one of some values, or an update may not change the
// field. The paths of fields that stay begin at the object.
const limits = `
apps/v1.ControllerRevision        >=0    revision
apps/v1.ControllerRevision        fixed  data
apps/v1.DaemonSet                 fixed  spec.selector
apps/v1.DaemonSetSpec             >=0    minReadySeconds revisionHistoryLimit
apps/v1.DaemonSetStatus           >=0    currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady observedGeneration updatedNumberScheduled numberAvailable numberUnavailable
apps/v1.Deployment                fixed  spec.selector
apps/v1.DeploymentSpec            >=0    replicas minReadySeconds revisionHistoryLimit progressDeadlineSeconds
apps/v1.DeploymentStatus          >=0    replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas observedGeneration
apps/v1.ReplicaSet                fixed  spec.selector
apps/v1.ReplicaSetSpec            >=0    replicas minReadySeconds
apps/v1.ReplicaSetStatus          >=0    replicas fullyLabeledReplicas readyReplicas availableReplicas observedGeneration
apps/v1.RollingUpdateStatefulSetStrategy >=0 partition
apps/v1.StatefulSetOrdinals       >=0    start
apps/v1.StatefulSetSpec           >=0    replicas minReadySeconds
apps/v1.StatefulSetStatus         >=0    replicas readyReplicas currentReplicas updatedReplicas availableReplicas observedGeneration
apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy =Retain|Delete whenDeleted whenScaled
autoscaling/v2.HPAScalingPolicy   >0     value periodSeconds
autoscaling/v2.HPAScalingPolicy   =Percent|Pods type
autoscaling/v2.HPAScalingRules    =Disabled|Max|Min selectPolicy
autoscaling/v2.HorizontalPodAutoscalerStatus >=0 currentReplicas desiredReplicas
batch/v1.CronJobSpec              >=0    startingDeadlineSeconds successfulJobsHistoryLimit failedJobsHistoryLimit
batch/v1.Job                      fixed  spec.selector spec.completionMode spec.podFailurePolicy spec.backoffLimitPerIndex spec.managedBy spec.successPolicy
batch/v1.JobSpec                  >=0    parallelism completions activeDeadlineSeconds backoffLimit ttlSecondsAfterFinished backoffLimitPerIndex maxFailedIndexes
batch/v1.JobStatus                >=0    active succeeded failed ready terminating
batch/v1.PodFailurePolicy         <=20   rules
batch/v1.PodFailurePolicyOnExitCodesRequirement <=255 values
batch/v1.SuccessPolicy            <=20   rules
batch/v1.SuccessPolicyRule        >=0    succeededCount
coordination/v1.LeaseSpec         >=0    leaseTransitions
discovery/v1.Endpoint             <=100  addresses
discovery/v1.EndpointHints        <=8    forZones forNodes
discovery/v1.EndpointSlice        <=1000 endpoints
discovery/v1.EndpointSlice        <=20000 ports
discovery/v1.EndpointSlice        fixed  addressType
networking/v1.IngressClass        fixed  spec.controller
node/v1.RuntimeClass              fixed  handler
policy/v1.PodDisruptionBudgetStatus >=0  disruptionsAllowed currentHealthy desiredHealthy expectedPods
resource/v1.ResourceClaim         fixed  spec
resource/v1.ResourceClaimTemplate fixed  spec
resource/v1.ResourcePool          >0     resourceSliceCount
resource/v1.ResourceSlice         fixed  spec.pool.name spec.driver spec.nodeName
scheduling/v1.PriorityClass       fixed  preemptionPolicy
storage/v1.CSIDriver              fixed  spec.volumeLifecycleModes
storage/v1.CSIDriverSpec          =File|None|ReadWriteOnceWithFSType fsGroupPolicy
storage/v1.CSIStorageCapacity     fixed  nodeTopology storageClassName
storage/v1.StorageClass           fixed  parameters provisioner reclaimPolicy volumeBindingMode
storage/v1.StorageClass           =Delete|Retain reclaimPolicy
storage/v1.VolumeAttachment       fixed  spec
storage/v1.VolumeNodeResources    >=0    count
`

// limit bounds a field: a number from below, with the text of the error, or a text to values, or else the length of a list.
type limit struct {
	least, most int64
	text        string
	values      []string
}

// limitsOf returns the limits of the fields of a struct, and the paths of the fields that an update may not change.
func limitsOf(t reflect.Type) (bounds map[string]limit, fixed []string) {
	name := strings.TrimPrefix(t.PkgPath(), "k8s.io/api/") + "." + t.Name() + " "
	bounds = map[string]limit{}
	for line := range strings.Lines(limits) {
		if !strings.HasPrefix(line, name) {
			continue
		}
		columns := strings.Fields(line)
		if columns[1] == "fixed" {
			fixed = columns[2:]
			continue
		}
		for _, name := range columns[2:] {
			bounds[name] = limitBy(columns[1])
		}
	}
	return bounds, fixed
}

func limitBy(rule string) limit {
	switch rule {
	case ">=0":
		return limit{text: apivalidation.IsNegativeErrorMsg}
	case ">0":
		return limit{least: 1, text: "must be greater than zero"}
	}
	if values, are := strings.CutPrefix(rule, "="); are {
		return limit{values: strings.Split(values, "|")}
	}
	most, err := strconv.Atoi(strings.TrimPrefix(rule, "<="))
	utilruntime.Must(err)
	return limit{most: int64(most)}
}

// limit checks a field that is at the path of the walk.
func (w *walk) limit(v reflect.Value, by *limit) {
	if v = reflect.Indirect(v); !v.IsValid() {
		return
	}
	if by.text == "" && v.Len() > int(by.most) {
		w.add(field.TooMany(w.path(), v.Len(), int(by.most)))
	} else if by.text != "" && v.Int() < by.least {
		w.add(field.Invalid(w.path(), v.Int(), by.text))
	}
}

// fixed is a field of an object that an update may not change.
type fixed struct {
	path  *field.Path
	index []int
}

// fixedIn returns the fixed fields of objects. It panics if a path is of no field.
func fixedIn(t reflect.Type, paths []string) (all []fixed) {
	for _, path := range paths {
		f, _, found := util.JSONField(t, path)
		if !found {
			panic("no field " + path + " in " + t.String())
		}
		names := strings.Split(path, ".")
		all = append(all, fixed{field.NewPath(names[0], names[1:]...), f.Index})
	}
	return all
}

// fixed checks that an update does not change the fixed fields of an object.
func (w *walk) fixed(now, old reflect.Value, all []fixed) {
	for _, f := range all {
		after, before := now.FieldByIndex(f.index).Interface(), old.FieldByIndex(f.index).Interface()
		if !check.Same(after, before) {
			w.errors.Add(field.Invalid(f.path, after, "field is immutable"))
		}
	}
}
