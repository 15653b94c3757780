package warnings

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// owner is an object whose generation counts the changes of its spec.
type owner interface {
	comparable
	metav1.Object
}

var (
	specPath, templatePath = field.NewPath("spec"), field.NewPath("spec", "template")
	jobPath                = specPath.Child("jobTemplate", "spec")
)

// Kinds with templates of pods. A template is looked at when it is new, or when anything beside it has changed too.
var (
	PodTemplate = of(func(l *list, now, old *corev1.PodTemplate) {
		if isChanged(now, old) {
			l.template(field.NewPath("template"), &now.Template)
		}
	})
	// ReplicationController looks, on an update, at the template that was there before, as today's server does.
	ReplicationController = of(func(l *list, now, old *corev1.ReplicationController) {
		if l.owner(now, old == nil); old == nil {
			l.template(templatePath, now.Spec.Template)
		} else if isChanged(now, old) {
			l.template(templatePath, old.Spec.Template)
		}
	})
	ReplicaSet = of(func(l *list, now, old *appsv1.ReplicaSet) {
		if l.owner(now, old == nil); isChanged(now, old) {
			l.template(templatePath, &now.Spec.Template)
		}
	})
	Deployment = of(func(l *list, now, old *appsv1.Deployment) {
		if l.owner(now, old == nil); isChanged(now, old) {
			l.template(templatePath, &now.Spec.Template)
		}
	})
	DaemonSet = of(func(l *list, now, old *appsv1.DaemonSet) {
		const generation = appsv1.DeprecatedTemplateGeneration
		if old == nil || now.Annotations[generation] != old.Annotations[generation] {
			l.template(templatePath, &now.Spec.Template)
		}
	})
	StatefulSet = of(func(l *list, now, old *appsv1.StatefulSet) {
		if isChanged(now, old) {
			l.template(templatePath, &now.Spec.Template)
		}
		for i, claim := range now.Spec.VolumeClaimTemplates {
			at := specPath.Child("volumeClaimTemplates").Index(i)
			if old != nil {
				at = at.Child("Spec") // the words of today's server
			}
			l.claim(at, &claim.Spec)
		}
		if history := now.Spec.RevisionHistoryLimit; history != nil && *history < 0 {
			l.at(specPath.Child("revisionHistoryLimit"), "a negative value retains all historical revisions; a value >= 0 is recommended")
		}
	})
	Job = of(func(l *list, now, old *batchv1.Job) {
		if l.owner(now, old == nil); isChanged(now, old) {
			l.job(specPath, &now.Spec)
		}
	})
	// CronJob looks at the schedules of old objects: new ones have no time zone.
	CronJob = of(func(l *list, now, old *batchv1.CronJob) {
		if l.owner(now, old == nil); isChanged(now, old) {
			l.job(jobPath, &now.Spec.JobTemplate.Spec)
		}
		if old != nil && strings.Contains(now.Spec.Schedule, "TZ") {
			l.add("cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
		}
	})
)

func isChanged[T owner](now, old T) bool {
	var none T
	return old == none || now.GetGeneration() != old.GetGeneration()
}

// owner adds a warning if pods cannot have the name of a new object as their host name.
func (l *list) owner(object metav1.Object, isNew bool) {
	if isNew {
		l.label(object.GetName(), "Pod names and hostnames")
	}
}

func (l *list) template(at *field.Path, template *corev1.PodTemplateSpec) {
	if template != nil {
		l.pod(at, &template.ObjectMeta, &template.Spec)
	}
}

func (l *list) job(at *field.Path, spec *batchv1.JobSpec) {
	isOver := func(number *int32, most int32) bool { return number != nil && *number > most }
	isIndexed := spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
	if isIndexed && isOver(spec.Completions, 100_000) && isOver(spec.Parallelism, 10_000) {
		l.at(at, "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track "+
			"completedIndexes when a big number of indexes fail")
	}
	l.template(at.Child("template"), &spec.Template)
}
