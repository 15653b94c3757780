package deployment

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
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
	surge, _ := r.limits()
	switch {
	case len(active) == 0 && r.current != nil:
		active = append(active, r.current)
	case len(active) == 0 && len(r.old) > 0:
		active = append(active, r.old[len(r.old)-1])
	}
	switch {
	case len(active) == 0:
		return nil
	case len(active) == 1:
		return map[types.UID]int{active[0].UID: min(wanted, r.grown(active[0]))}
	case r.isSaturated():
		sizes := map[types.UID]int{}
		for _, set := range r.old {
			sizes[set.UID] = 0
		}
		return sizes
	case recreates(r.d):
		return nil
	}
	allowed := wanted + surge
	if wanted == 0 {
		allowed = 0
	}
	missing := allowed - sum(active, replicas)
	if missing > 0 && (slices.ContainsFunc(r.all(), isBehind) || slices.ContainsFunc(r.all(), isShrinking)) {
		return nil
	}
	return r.proportions(active, missing)
}

// isSaturated reports whether the current replica set has all wanted pods, and all are available.
func (r *rollout) isSaturated() bool {
	if r.current == nil {
		return false
	}
	told, isTold := noted(r.current, desiredAnnotation)
	return isTold && told == r.wanted() && replicas(r.current) == r.wanted() && int(r.current.Status.AvailableReplicas) == r.wanted()
}

// proportions returns the sizes of replica sets if pods are missing; a negative number: if there are too many.
func (r *rollout) proportions(active []*appsv1.ReplicaSet, missing int) map[types.UID]int {
	slices.SortFunc(active, func(a, b *appsv1.ReplicaSet) int {
		age := compareAge(a, b)
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
	if r.wanted() == 0 {
		return -replicas(set)
	}
	surge, _ := r.limits()
	before, _ := noted(set, maxAnnotation)
	if before = cmp.Or(before, int(r.d.Status.Replicas)); before == 0 {
		return 0
	}
	return int(math.Round(float64(replicas(set))*float64(r.wanted()+surge)/float64(before))) - replicas(set)
}
