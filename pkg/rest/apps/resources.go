// Package apps has the kinds that make pods of templates.
package apps

import (
	"cmp"
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = appsv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b rest.Base) []rest.Resource {
	return slices.Concat(controllerrevisions.Rows(b), daemonsets.Rows(b), deployments.Rows(b), replicasets.Rows(b), statefulsets.Rows(b))
}

var controllerrevisions = generic.Resource[*appsv1.ControllerRevision]{
	Row: rest.InNamespaces(group, "ControllerRevision", "controllerrevisions", printers.ControllerRevisions),
	Validate: func(c *check.Errors, now, _ *appsv1.ControllerRevision) {
		var data map[string]any
		c.RequiredIf(json.Unmarshal(now.Data.Raw, &data) != nil, field.NewPath("data"), "data must be a valid JSON object")
	},
}

var (
	specPath, statusPath = field.NewPath("spec"), field.NewPath("status")
	templatePath         = specPath.Child("template")
	selectorPath         = specPath.Child("selector")
)

// selected checks a selector, and the template of the pods that it must select. The error about an empty selector names
// the kind.
func selected(c *check.Errors, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, kind string) {
	c.RequiredIf(selector == nil, selectorPath, "")
	notEmpty(c, selector, kind)
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		c.Add(field.Invalid(selectorPath, selector, "invalid label selector"))
		return
	}
	matching(c, selector, template)
	validation.PodTemplate(c, template, templatePath)
}

func notEmpty(c *check.Errors, selector *metav1.LabelSelector, kind string) {
	if selector != nil {
		c.Selector(selectorPath, selector)
		c.InvalidIf(len(selector.MatchLabels)+len(selector.MatchExpressions) == 0, selectorPath, selector, "empty selector is invalid for "+kind)
	}
}

// matching requires that a valid selector selects the pods of a template.
func matching(c *check.Errors, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec) {
	valid, err := metav1.LabelSelectorAsSelector(selector)
	c.InvalidIf(err == nil && !valid.Empty() && !valid.Matches(labels.Set(template.Labels)), templatePath.Child("metadata", "labels"), template.Labels,
		"`selector` does not match template `labels`")
}

// running requires that the pods of a template run until they are deleted.
func running(c *check.Errors, spec *corev1.PodSpec, kind string) {
	at := templatePath.Child("spec")
	check.Supported(c, at.Child("restartPolicy"), spec.RestartPolicy, corev1.RestartPolicyAlways)
	c.Forbid(spec.ActiveDeadlineSeconds != nil, at.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+" is not Supported")
}

// count is a number of a status.
type count struct {
	name  string
	value int32
}

// replicas checks the numbers of a status: those of parts are at most that of all.
func replicas(c *check.Errors, all int32, parts ...count) {
	for _, part := range parts {
		c.InvalidIf(part.value > all, statusPath.Child(part.name), part.value, "cannot be greater than status.replicas")
	}
}

// line returns a selector as the subresource scale shows it.
func line(selector *metav1.LabelSelector) string {
	valid, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return ""
	}
	return valid.String()
}

var statefulsets = generic.Resource[*appsv1.StatefulSet]{
	Row:           rest.InNamespaces(group, "StatefulSet", "statefulsets", printers.StatefulSets, "sts").In("all"),
	HasGeneration: true,
	Warnings:      warnings.StatefulSet,
	Name:          apivalidation.NameIsDNSLabel,
	Scale: func(o *appsv1.StatefulSet) (**int32, int32, string) {
		return &o.Spec.Replicas, o.Status.Replicas, line(o.Spec.Selector)
	},
	Prepare: func(now, _ *appsv1.StatefulSet) {
		if rolling := now.Spec.UpdateStrategy.RollingUpdate; rolling != nil { // a feature that is off by default
			rolling.MaxUnavailable = nil
		}
	},
	Default: func(o *appsv1.StatefulSet) {
		spec, strategy := &o.Spec, &o.Spec.UpdateStrategy
		spec.Replicas = cmp.Or(spec.Replicas, new(int32(1)))
		spec.RevisionHistoryLimit = cmp.Or(spec.RevisionHistoryLimit, new(int32(10)))
		spec.PodManagementPolicy = cmp.Or(spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
		if strategy.Type == "" {
			strategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
			strategy.RollingUpdate = cmp.Or(strategy.RollingUpdate, &appsv1.RollingUpdateStatefulSetStrategy{})
		}
		if rolling := strategy.RollingUpdate; rolling != nil && strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
			rolling.Partition = cmp.Or(rolling.Partition, new(int32(0)))
		}
		const retain = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
		spec.PersistentVolumeClaimRetentionPolicy = cmp.Or(spec.PersistentVolumeClaimRetentionPolicy, &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
		spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted = cmp.Or(spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, retain)
		spec.PersistentVolumeClaimRetentionPolicy.WhenScaled = cmp.Or(spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, retain)
		for i := range spec.VolumeClaimTemplates {
			claim := &spec.VolumeClaimTemplates[i]
			claim.APIVersion, claim.Kind = "v1", "PersistentVolumeClaim"
			claim.Status.Phase = cmp.Or(claim.Status.Phase, corev1.ClaimPending)
			claim.Spec.VolumeMode = cmp.Or(claim.Spec.VolumeMode, new(corev1.PersistentVolumeFilesystem))
		}
		defaults.PodSpec(&spec.Template.Spec)
	},
	Validate: func(c *check.Errors, now, old *appsv1.StatefulSet) {
		spec := &now.Spec
		strategy, rolling, at := spec.UpdateStrategy.Type, spec.UpdateStrategy.RollingUpdate, specPath.Child("updateStrategy", "rollingUpdate")
		c.InvalidIf(strategy == appsv1.OnDeleteStatefulSetStrategyType && rolling != nil, at, rolling, "only allowed for updateStrategy 'RollingUpdate'")
		if old == nil {
			claimTemplates(c, spec.VolumeClaimTemplates)
			if spec.ServiceName != "" {
				c.Label(specPath.Child("serviceName"), spec.ServiceName)
			}
		}
		selected(c, spec.Selector, podsOf(spec), "statefulset")
		running(c, &spec.Template.Spec, "StatefulSet")
		if old != nil {
			c.Forbid(!check.Same(withoutChangeable(now.Spec), withoutChangeable(old.Spec)), specPath, "updates to statefulset spec for fields other than "+
				"'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")
		}
	},
	ValidateStatus: func(c *check.Errors, now, _ *appsv1.StatefulSet) {
		s := &now.Status
		replicas(c, s.Replicas, count{"readyReplicas", s.ReadyReplicas}, count{"currentReplicas", s.CurrentReplicas},
			count{"updatedReplicas", s.UpdatedReplicas}, count{"availableReplicas", s.AvailableReplicas})
	},
}

func claimTemplates(c *check.Errors, claims []corev1.PersistentVolumeClaim) {
	for i, claim := range claims {
		at := specPath.Child("volumeClaimTemplates").Index(i).Child("spec")
		c.Some(at.Child("accessModes"), len(claim.Spec.AccessModes), "at least 1 access mode is required")
		podspec.StorageRequest(c, &claim.Spec.Resources, at.Child("resources"))
	}
}

// podsOf returns the template with what the controller adds: the volumes of the claims, and names.
func podsOf(spec *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	pods := spec.Template
	pods.Spec.Subdomain, pods.Spec.Hostname = "", ""
	var volumes []corev1.Volume
	for _, claim := range spec.VolumeClaimTemplates {
		volumes = append(volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}})
	}
	for _, volume := range spec.Template.Spec.Volumes {
		if !slices.ContainsFunc(volumes, func(claimed corev1.Volume) bool { return claimed.Name == volume.Name }) {
			volumes = append(volumes, volume)
		}
	}
	pods.Spec.Volumes = volumes
	return &pods
}

func withoutChangeable(spec appsv1.StatefulSetSpec) appsv1.StatefulSetSpec {
	spec.Replicas, spec.Ordinals, spec.Template, spec.RevisionHistoryLimit = nil, nil, corev1.PodTemplateSpec{}, nil
	spec.UpdateStrategy, spec.MinReadySeconds, spec.PersistentVolumeClaimRetentionPolicy = appsv1.StatefulSetUpdateStrategy{}, 0, nil
	return spec
}
