package validation

import (
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/diff"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
)

// ValidatePodCreate checks a new pod.
var ValidatePodCreate = creates(func(c checks, pod *corev1.Pod) {
	c.pod(pod)
	spec := field.NewPath("spec")
	c.Forbid(len(pod.Spec.EphemeralContainers) > 0, spec.Child("ephemeralContainers"), "cannot be set on create")
	c.Forbid(pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0, spec.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")
})

// pod checks the metadata and the spec of a pod, for all kinds of requests.
func (c checks) pod(pod *corev1.Pod) {
	c.Metadata(&pod.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	c.podAnnotations(pod.Annotations, pod.Spec.NodeName != "", field.NewPath("metadata", "annotations"))
	at := field.NewPath("spec")
	podspec.Validate(c.Errors, &pod.Spec, pod.Name, at)
	for i, v := range pod.Spec.Volumes {
		if v.Projected != nil && pod.Spec.ServiceAccountName == "" {
			for j, source := range v.Projected.Sources {
				c.Forbid(source.ServiceAccountToken != nil, at.Child("volumes").Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"),
					"must not be specified when serviceAccountName is not set")
			}
		}
	}
	for i, ctr := range pod.Spec.Containers {
		c.Trimmed(at.Child("containers").Index(i).Child("image"), ctr.Image)
	}
	for i, ctr := range pod.Spec.InitContainers {
		c.Trimmed(at.Child("initContainers").Index(i).Child("image"), ctr.Image)
	}
}

// podAnnotations checks the annotations that a server uses.
func (c checks) podAnnotations(annotations map[string]string, bound bool, at *field.Path) {
	if value, mirror := annotations[corev1.MirrorPodAnnotationKey]; mirror {
		c.InvalidIf(!bound, at.Key(corev1.MirrorPodAnnotationKey), value, "must set spec.nodeName if mirror pod annotation is set")
	}
	if cost, there := annotations[corev1.PodDeletionCost]; there {
		_, err := strconv.ParseInt(cost, 10, 32)
		written := cost == "0" || err == nil && strings.IndexAny(cost, "-123456789") == 0
		c.InvalidIf(!written, at.Key(corev1.PodDeletionCost), cost, "must be a 32bit integer")
	}
}

// ValidatePodUpdate checks an update of a pod's metadata and spec, of which little may change.
var ValidatePodUpdate = updates(checks.podUpdate)

func (c checks) podUpdate(now, old *corev1.Pod) {
	c.MetadataUpdate(&now.ObjectMeta, &old.ObjectMeta)
	c.pod(now)
	c.mirror(now.Annotations, old.Annotations)
	at := field.NewPath("spec")
	if !c.imagesOnly(now.Spec.Containers, old.Spec.Containers, at.Child("containers")) ||
		!c.imagesOnly(now.Spec.InitContainers, old.Spec.InitContainers, at.Child("initContainers")) ||
		!c.earlierDeadline(now.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds, at.Child("activeDeadlineSeconds")) {
		return
	}
	c.moreTolerations(now.Spec.Tolerations, old.Spec.Tolerations, at.Child("tolerations"))
	c.fewerGates(now.Spec.SchedulingGates, old.Spec.SchedulingGates, at.Child("schedulingGates"))
	rest := c.withoutChangeable(&now.Spec, &old.Spec, at)
	if !check.Same(*rest, old.Spec) {
		c.Add(field.Forbidden(at, "pod updates may not change fields other than "+changeable+"\n"+diff.Diff(&old.Spec, rest)))
	}
}

const changeable = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
	"`spec.tolerations` (only additions to existing tolerations)," +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// withoutChangeable returns the new spec with the old values of all fields that may change.
func (c checks) withoutChangeable(now, old *corev1.PodSpec, at *field.Path) *corev1.PodSpec {
	rest := now.DeepCopy()
	for i := range rest.Containers {
		rest.Containers[i].Image = old.Containers[i].Image
	}
	for i := range rest.InitContainers {
		rest.InitContainers[i].Image = old.InitContainers[i].Image
	}
	rest.ActiveDeadlineSeconds, rest.Tolerations, rest.SchedulingGates = old.ActiveDeadlineSeconds, old.Tolerations, old.SchedulingGates
	if grace, before := rest.TerminationGracePeriodSeconds, old.TerminationGracePeriodSeconds; before != nil && *before < 0 && grace != nil && *grace == 1 {
		rest.TerminationGracePeriodSeconds = before
	}
	if len(old.SchedulingGates) == 0 {
		return rest
	}
	// The node selector and affinity of a gated pod may still become stricter.
	for _, key := range check.SortedKeys(old.NodeSelector) {
		if value, there := now.NodeSelector[key]; !there || value != old.NodeSelector[key] {
			c.Add(field.Invalid(at.Child("nodeSelector"), now.NodeSelector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)"))
			break
		}
	}
	rest.NodeSelector = old.NodeSelector
	var before *corev1.NodeAffinity
	if old.Affinity != nil {
		before = old.Affinity.NodeAffinity
	}
	if rest.Affinity == nil {
		rest.Affinity = &corev1.Affinity{}
	}
	c.narrowerAffinity(rest.Affinity.NodeAffinity, before, at.Child("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"))
	rest.Affinity.NodeAffinity = before
	if old.Affinity == nil && check.Same(*rest.Affinity, corev1.Affinity{}) {
		rest.Affinity = nil
	}
	return rest
}

// narrowerAffinity lets required terms become stricter, but not weaker.
func (c checks) narrowerAffinity(now, old *corev1.NodeAffinity, at *field.Path) {
	terms := func(n *corev1.NodeAffinity) []corev1.NodeSelectorTerm {
		if n == nil || n.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			return nil
		}
		return n.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	before, after := terms(old), terms(now)
	if len(before) > 0 && len(before) != len(after) {
		c.Add(field.Invalid(at, after, "no additions/deletions to non-empty NodeSelectorTerms list are allowed"))
		return
	}
	startsWith := func(now, old []corev1.NodeSelectorRequirement) bool {
		return len(old) <= len(now) && check.Same(append([]corev1.NodeSelectorRequirement{}, now[:len(old)]...), append([]corev1.NodeSelectorRequirement{}, old...))
	}
	for i, term := range before {
		none := len(term.MatchExpressions)+len(term.MatchFields) == 0
		more := len(after[i].MatchExpressions)+len(after[i].MatchFields) > 0
		ok := startsWith(after[i].MatchExpressions, term.MatchExpressions) && startsWith(after[i].MatchFields, term.MatchFields)
		c.InvalidIf(!ok || none && more, at.Index(i), after[i], "only additions are allowed (no mutations or deletions)")
	}
}

func (c checks) mirror(now, old map[string]string) {
	at := field.NewPath("metadata", "annotations").Key(corev1.MirrorPodAnnotationKey)
	before, was := old[corev1.MirrorPodAnnotationKey]
	after, is := now[corev1.MirrorPodAnnotationKey]
	c.Forbid(was && before != after, at, "may not remove or update mirror pod annotation")
	c.Forbid(is && !was, at, "may not add mirror pod annotation")
}

// imagesOnly reports whether the number of containers is unchanged, and checks their images.
func (c checks) imagesOnly(now, old []corev1.Container, at *field.Path) bool {
	if len(now) != len(old) {
		c.Add(field.Forbidden(at, "pod updates may not add or remove containers"))
		return false
	}
	for i, ctr := range now {
		c.Require(at.Index(i).Child("image"), ctr.Image)
		c.Trimmed(at.Index(i).Child("image"), ctr.Image)
	}
	return true
}

// earlierDeadline checks a deadline, and reports whether the validation should continue.
func (c checks) earlierDeadline(now, old *int64, at *field.Path) bool {
	switch {
	case now == nil && old != nil:
		c.Add(field.Invalid(at, now, "must not update from a positive integer to nil value"))
	case now != nil && (*now < 0 || *now > math.MaxInt32):
		c.Add(field.Invalid(at, *now, utilvalidation.InclusiveRangeError(0, math.MaxInt32)))
		return false
	case now != nil && old != nil && *now > *old:
		c.Add(field.Invalid(at, *now, "must be less than or equal to previous value"))
		return false
	}
	return true
}

func (c checks) moreTolerations(now, old []corev1.Toleration, at *field.Path) {
	for _, t := range old {
		isKept := slices.ContainsFunc(now, func(other corev1.Toleration) bool {
			t.TolerationSeconds = other.TolerationSeconds
			return check.Same(t, other)
		})
		if !isKept {
			c.Add(field.Forbidden(at, "existing toleration can not be modified except its tolerationSeconds"))
			return
		}
	}
	podspec.Tolerations(c.Errors, now, at)
}

func (c checks) fewerGates(now, old []corev1.PodSchedulingGate, at *field.Path) {
	for i, gate := range now {
		c.Forbid(!slices.Contains(old, gate), at.Index(i).Child("name"), "only deletion is allowed, but found new scheduling gate '"+gate.Name+"'")
	}
}
