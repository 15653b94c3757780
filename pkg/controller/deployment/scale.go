package deployment

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/controller"
)

// isScaled reports whether a deployment wants another number of pods than its replica sets were last told.
func (r *rollout) isScaled() bool {
	return !recreates(r.d) && slices.ContainsFunc(r.active(), func(set *appsv1.ReplicaSet) bool {
		told, isTold := noted(set, desiredAnnotation)
		return isTold && told != r.wanted()
	})
}

// noted returns a number in an annotation of a replica set.
func noted(set *appsv1.ReplicaSet, annotation string) (number int, exists bool) {
	parsed, err := strconv.ParseUint(set.Annotations[annotation], 10, 32)
	return int(parsed), err == nil
}

// scale returns the sizes of replica sets in the proportions that they have now, so that a scaled deployment has the same
// share of pods of each template as before.
func (r *rollout) scale() map[types.UID]int {
	wanted, active := r.wanted(), r.active()
	if len(active) == 0 { // the last one gets the first pods
		all := r.all()
		active = all[max(0, len(all)-1):]
	}
	switch {
	case len(active) == 0:
		return nil
	case len(active) == 1:
		return map[types.UID]int{active[0].UID: min(wanted, r.grown(active[0]))}
	case r.isSaturated():
		return noPods(r.old)
	case recreates(r.d):
		return nil
	}
	most, _ := r.limits()
	missing := most - sum(active, replicas)
	if missing > 0 && (slices.ContainsFunc(r.all(), isBehind) || slices.ContainsFunc(r.all(), isShrinking)) {
		return nil
	}
	return r.proportions(active, missing)
}

// isSaturated reports whether the current replica set was told what is wanted, and has all of it available.
func (r *rollout) isSaturated() bool {
	if r.current == nil {
		return false
	}
	told, _ := noted(r.current, desiredAnnotation)
	return told == r.wanted() && replicas(r.current) == r.wanted() && available(r.current, r.wanted()) == r.wanted()
}

// proportions returns the sizes of replica sets if pods are missing; a negative number: if there are too many.
func (r *rollout) proportions(active []*appsv1.ReplicaSet, missing int) map[types.UID]int {
	slices.SortFunc(active, func(a, b *appsv1.ReplicaSet) int {
		age := controller.CompareAge(a, b)
		if missing > 0 {
			age = -age
		}
		return cmp.Or(cmp.Compare(replicas(b), replicas(a)), age)
	})
	sizes, rest := map[types.UID]int{}, missing
	for _, set := range active {
		part := r.share(set)
		if missing > 0 {
			part = min(max(part, 0), rest)
		} else {
			part = max(min(part, 0), rest)
		}
		sizes[set.UID] = replicas(set) + part
		rest -= part
	}
	sizes[active[0].UID] = max(0, sizes[active[0].UID]+rest)
	return sizes
}

// share returns how much a replica set grows in proportion to the deployment; a negative number: how much it shrinks.
func (r *rollout) share(set *appsv1.ReplicaSet) int {
	most, _ := r.limits()
	before, _ := noted(set, maxAnnotation)
	if before = cmp.Or(before, int(r.d.Status.Replicas)); before == 0 {
		return 0
	}
	return int(math.Round(float64(replicas(set))*float64(most)/float64(before))) - replicas(set)
}
