package batch

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

var jobs = generic.Resource[*batchv1.Job]{
	Row:           rest.InNamespaces(group, "Job", "jobs", printers.Jobs).In("all"),
	HasGeneration: true,
	Warnings:      warnings.Job,
	Prepare:       generateSelector,
	Default: func(o *batchv1.Job) {
		spec := &o.Spec
		if spec.Parallelism == nil {
			spec.Completions = cmp.Or(spec.Completions, new(int32(1)))
		}
		spec.Parallelism = cmp.Or(spec.Parallelism, new(int32(1)))
		if spec.BackoffLimitPerIndex != nil {
			spec.BackoffLimit = cmp.Or(spec.BackoffLimit, new(int32(math.MaxInt32)))
		}
		spec.BackoffLimit = cmp.Or(spec.BackoffLimit, new(int32(6)))
		if len(o.Labels) == 0 {
			o.Labels = maps.Clone(spec.Template.Labels)
		}
		spec.CompletionMode = cmp.Or(spec.CompletionMode, new(batchv1.NonIndexedCompletion))
		spec.Suspend = cmp.Or(spec.Suspend, new(false))
		if spec.PodFailurePolicy != nil {
			spec.PodReplacementPolicy = cmp.Or(spec.PodReplacementPolicy, new(batchv1.Failed))
		}
		spec.PodReplacementPolicy = cmp.Or(spec.PodReplacementPolicy, new(batchv1.TerminatingOrFailed))
		spec.ManualSelector = cmp.Or(spec.ManualSelector, new(false))
		defaultSpec(spec)
	},
	Validate: func(c *check.Errors, now, old *batchv1.Job) {
		generatedSelector(c, now)
		jobSpec(c, &now.Spec, specPath)
		at := specPath.Child("selector")
		c.RequiredIf(now.Spec.Selector == nil, at, "")
		c.Selector(at, now.Spec.Selector)
		selector, err := metav1.LabelSelectorAsSelector(now.Spec.Selector)
		c.InvalidIf(err == nil && !selector.Matches(labels.Set(now.Spec.Template.Labels)), specPath.Child("template", "metadata", "labels"), now.Spec.Template.Labels,
			"`selector` does not match template `labels`")
		if old != nil {
			unchanged(c, now, old)
		}
	},
	Fields: func(o *batchv1.Job) fields.Set {
		return fields.Set{"status.successful": strconv.Itoa(int(o.Status.Succeeded))}
	},
	Dependents: genericregistry.Orphaned,
}

// The labels of the pods of a job. The selector has the last one.
func generatedLabels(o *batchv1.Job) [][2]string {
	uid := string(o.UID)
	return [][2]string{{"controller-uid", uid}, {"job-name", o.Name}, {batchv1.JobNameLabel, o.Name}, {batchv1.ControllerUidLabel, uid}}
}

// generateSelector lets a new job select its own pods, unless its client has chosen a selector. Labels of the client stay;
// wrong ones are refused later.
func generateSelector(now, old *batchv1.Job) {
	if old != nil || check.Is(now.Spec.ManualSelector) {
		return
	}
	template := maps.Clone(now.Spec.Template.Labels)
	if template == nil {
		template = map[string]string{}
	}
	generated := generatedLabels(now)
	for _, label := range generated {
		template[label[0]] = cmp.Or(template[label[0]], label[1])
	}
	if len(now.Labels) == 0 || maps.Equal(now.Labels, now.Spec.Template.Labels) { // by default those of the template
		now.Labels = maps.Clone(template)
	}
	now.Spec.Template.Labels = template
	now.Spec.Selector = cmp.Or(now.Spec.Selector, &metav1.LabelSelector{}).DeepCopy()
	if now.Spec.Selector.MatchLabels == nil {
		now.Spec.Selector.MatchLabels = map[string]string{}
	}
	uid := generated[len(generated)-1]
	now.Spec.Selector.MatchLabels[uid[0]] = cmp.Or(now.Spec.Selector.MatchLabels[uid[0]], uid[1])
}

func generatedSelector(c *check.Errors, o *batchv1.Job) {
	if check.Is(o.Spec.ManualSelector) || o.Spec.Selector == nil {
		return
	}
	expected := labels.Set{}
	for _, label := range generatedLabels(o) {
		expected[label[0]] = label[1]
		value, there := o.Spec.Template.Labels[label[0]]
		at, must := specPath.Child("template", "metadata", "labels").Key(label[0]), "must be '"+label[1]+"'"
		c.RequiredIf(!there, at, must)
		c.InvalidIf(there && value != label[1], at, o.Spec.Template.Labels, must)
	}
	selector, err := metav1.LabelSelectorAsSelector(o.Spec.Selector)
	c.InvalidIf(err == nil && !selector.Matches(expected), specPath.Child("selector"), o.Spec.Selector, "`selector` not auto-generated")
}

func isIndexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

// unchanged checks what may not change: almost all but the parallelism and the suspension.
func unchanged(c *check.Errors, job, before *batchv1.Job) {
	now, old := &job.Spec, &before.Spec
	if at := specPath.Child("completions"); !isIndexed(now) {
		c.Immutable(at, now.Completions, old.Completions)
	} else if now.Completions != nil && now.Parallelism != nil && !check.Same(now.Completions, old.Completions) {
		c.InvalidIf(*now.Completions != *now.Parallelism, at, *now.Completions, "can only be modified in tandem with spec.parallelism")
	}
	suspended := slices.ContainsFunc(before.Status.Conditions, func(condition batchv1.JobCondition) bool {
		return condition.Type == batchv1.JobSuspended && condition.Status == corev1.ConditionTrue
	})
	changed, template := now.Template, old.Template
	if check.Is(old.Suspend) && (before.Status.StartTime == nil || suspended) && before.Status.Active == 0 {
		changed, template = *withoutChangeable(&changed), *withoutChangeable(&template)
	}
	c.InvalidIf(!check.Same(changed, template), specPath.Child("template"), now.Template, "field is immutable")
}

// withoutChangeable returns a template without what may change while a job is suspended: where its pods run, and what they
// may use.
func withoutChangeable(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	template = template.DeepCopy()
	template.Labels, template.Annotations = nil, nil
	spec := &template.Spec
	spec.NodeSelector, spec.Tolerations, spec.SchedulingGates = nil, nil, nil
	if spec.Affinity != nil {
		spec.Affinity.NodeAffinity = nil
		if *spec.Affinity == (corev1.Affinity{}) {
			spec.Affinity = nil
		}
	}
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			containers[i].Resources = corev1.ResourceRequirements{}
		}
	}
	return template
}

// defaultSpec sets the defaults that the templates of cron jobs have too.
func defaultSpec(spec *batchv1.JobSpec) {
	if spec.PodFailurePolicy != nil {
		for _, rule := range spec.PodFailurePolicy.Rules {
			for i := range rule.OnPodConditions {
				rule.OnPodConditions[i].Status = cmp.Or(rule.OnPodConditions[i].Status, corev1.ConditionTrue)
			}
		}
	}
	defaults.PodSpec(&spec.Template.Spec)
}
