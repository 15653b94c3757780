package deployment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The annotations of replica sets, and the first one of deployments, too.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	// historyAnnotation has the earlier revisions of a template that was taken up again.
	historyAnnotation = "deployment.kubernetes.io/revision-history"
	// desiredAnnotation has the size of the deployment, and maxAnnotation the most pods that it may have, as they were when
	// the replica set got its size.
	desiredAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxAnnotation     = "deployment.kubernetes.io/max-replicas"

	// maxHistory is the size of a historyAnnotation, in bytes.
	maxHistory = 2000
)

// notCopied are the annotations of deployments that their replica sets do not get.
var notCopied = []string{corev1.LastAppliedConfigAnnotation, revisionAnnotation, historyAnnotation, desiredAnnotation, maxAnnotation, appsv1.DeprecatedRollbackTo}

// revisionOf returns the revision of a replica set, 0 if it has none.
func revisionOf(set *appsv1.ReplicaSet) int64 {
	revision, _ := strconv.ParseInt(set.Annotations[revisionAnnotation], 10, 64)
	return revision
}

// annotate gives the current replica set the deployment's annotations, and a revision above those of all others.
func (r *rollout) annotate(set *appsv1.ReplicaSet) {
	for name, value := range r.d.Annotations {
		if !slices.Contains(notCopied, name) {
			metav1.SetMetaDataAnnotation(&set.ObjectMeta, name, value)
		}
	}
	next := int64(1)
	for _, old := range r.old {
		next = max(next, revisionOf(old)+1)
	}
	before := revisionOf(set)
	if before >= next {
		return
	}
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, revisionAnnotation, strconv.FormatInt(next, 10))
	if before == 0 {
		return
	}
	history := strconv.FormatInt(before, 10)
	if earlier := set.Annotations[historyAnnotation]; earlier != "" {
		history = earlier + "," + history
	}
	for len(history) > maxHistory {
		_, history, _ = strings.Cut(history, ",")
	}
	set.Annotations[historyAnnotation] = history
}

// noteSize notes what the deployment wants at a replica set that gets a size.
func (r *rollout) noteSize(set *appsv1.ReplicaSet) {
	most, _ := r.limits()
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, desiredAnnotation, strconv.Itoa(r.wanted()))
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, maxAnnotation, strconv.Itoa(most))
}

// makeSet returns a replica set of the deployment's template, without pods.
func (r *rollout) makeSet() *appsv1.ReplicaSet {
	hash := hashOf(&r.d.Spec.Template, r.d.Status.CollisionCount)
	template := r.d.Spec.Template.DeepCopy()
	metav1.SetMetaDataLabel(&template.ObjectMeta, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.d.Namespace, Name: nameOf(r.d.Name, hash), Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(r.d, controllerKind)}},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(0)), MinReadySeconds: r.d.Spec.MinReadySeconds, Template: *template,
			Selector: metav1.CloneSelectorAndAddLabel(r.d.Spec.Selector, appsv1.DefaultDeploymentUniqueLabelKey, hash)},
	}
	r.noteSize(set)
	return set
}

// withoutHash returns a template without the label of its hash.
func withoutHash(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	without := *template
	without.Labels = maps.Clone(template.Labels)
	delete(without.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return &without
}

// isOf reports whether a replica set has the template of a deployment.
func isOf(set *appsv1.ReplicaSet, d *appsv1.Deployment) bool {
	return equality.Semantic.DeepEqual(withoutHash(&set.Spec.Template), withoutHash(&d.Spec.Template))
}

// hashOf returns the hash of a template. As the names of replica sets have it, a create whose answer was lost is not
// repeated under another name; after a collision, the names are others.
func hashOf(template *corev1.PodTemplateSpec, collisions *int32) string {
	text, _ := json.Marshal(withoutHash(template)) // it cannot fail: the template came as JSON
	hash := fnv.New32a()
	hash.Write(text)
	if collisions != nil {
		fmt.Fprintf(hash, "/%d", *collisions)
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// nameOf returns the name of the replica set of a deployment's template.
func nameOf(deployment, hash string) string {
	most := validation.DNS1123SubdomainMaxLength - len(hash) - 1
	return strings.TrimRight(deployment[:min(len(deployment), most)], "-.") + "-" + hash
}

// outdated returns the replica sets without pods that are older than the limit of the history.
func (r *rollout) outdated() []*appsv1.ReplicaSet {
	limit := r.d.Spec.RevisionHistoryLimit
	if limit == nil {
		return nil
	}
	old := slices.DeleteFunc(slices.Clone(r.old), func(set *appsv1.ReplicaSet) bool { return set.DeletionTimestamp != nil })
	slices.SortStableFunc(old, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
	old = old[:max(0, len(old)-int(*limit))]
	return slices.DeleteFunc(old, mayHavePods)
}
