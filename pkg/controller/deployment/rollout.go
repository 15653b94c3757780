package deployment

import (
	"cmp"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/controller"
)

// rollout is a deployment with its replica sets, at one moment.
type rollout struct {
	d       *appsv1.Deployment
	current *appsv1.ReplicaSet   // has the deployment's template; nil: there is none yet
	old     []*appsv1.ReplicaSet // the others, the oldest first

	outcome
}

// outcome is what has been done for a rollout that its replica sets do not show.
type outcome struct {
	created  bool   // the current replica set is new
	collided bool   // another one has the name that it would have
	refused  string // why it could not be created
}

// newRollout returns the rollout of a deployment with replica sets.
func newRollout(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) *rollout {
	r := &rollout{d: d}
	slices.SortFunc(sets, controller.CompareAge)
	for _, set := range sets { // several may have the template: today's controller takes the oldest, too
		if isOf(set, d) && (r.current == nil || r.current.DeletionTimestamp != nil && set.DeletionTimestamp == nil) {
			r.current = set
		}
	}
	r.old = slices.DeleteFunc(sets, func(set *appsv1.ReplicaSet) bool { return set == r.current })
	return r
}

// mayHavePods reports whether pods of a replica set run, or may: there may be some that its status does not tell of yet.
func mayHavePods(set *appsv1.ReplicaSet) bool {
	return held(set) > 0 || terminating(set) > 0 || set.Status.ObservedGeneration < set.Generation
}

func recreates(d *appsv1.Deployment) bool {
	return d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
}

func replicas(set *appsv1.ReplicaSet) int { return int(valueOf(set.Spec.Replicas, 1)) }

func valueOf(number *int32, otherwise int32) int32 { return *cmp.Or(number, &otherwise) }

// held returns how many pods a replica set has, or will have.
func held(set *appsv1.ReplicaSet) int { return max(replicas(set), int(set.Status.Replicas)) }

// terminating returns how many pods of a replica set are being deleted.
func terminating(set *appsv1.ReplicaSet) int { return int(valueOf(set.Status.TerminatingReplicas, 0)) }

// available returns how many available pods a replica set of a size has. The ones that are not available are deleted first.
func available(set *appsv1.ReplicaSet, size int) int {
	if set.DeletionTimestamp != nil {
		return 0
	}
	return min(int(set.Status.AvailableReplicas), size)
}

// all returns the replica sets, the current one last.
func (r *rollout) all() []*appsv1.ReplicaSet {
	if r.current == nil {
		return r.old
	}
	return append(slices.Clip(r.old), r.current)
}

// active returns the replica sets that want pods, the current one last.
func (r *rollout) active() []*appsv1.ReplicaSet {
	return slices.DeleteFunc(slices.Clone(r.all()), func(set *appsv1.ReplicaSet) bool { return replicas(set) == 0 })
}

// sum returns the sum of a number of replica sets.
func sum(sets []*appsv1.ReplicaSet, number func(*appsv1.ReplicaSet) int) (total int) {
	for _, set := range sets {
		total += number(set)
	}
	return total
}

func (r *rollout) wanted() int { return int(valueOf(r.d.Spec.Replicas, 1)) }

// isBehind reports whether a replica set may still make pods for the size that it had before: its status does not show that it
// has seen the last one.
func isBehind(set *appsv1.ReplicaSet) bool {
	return set.DeletionTimestamp == nil && set.Status.ObservedGeneration < set.Generation
}

// isShrinking reports whether pods of a replica set are still to be deleted. If it were scaled up before its status shows that
// they are, that would count them as available.
func isShrinking(set *appsv1.ReplicaSet) bool { return int(set.Status.Replicas) > replicas(set) }

// grown returns the size of a replica set that grows until there are as many pods as wanted, or as there may be.
func (r *rollout) grown(set *appsv1.ReplicaSet) int {
	others := slices.DeleteFunc(slices.Clone(r.all()), func(other *appsv1.ReplicaSet) bool { return other == set })
	if isShrinking(set) || slices.ContainsFunc(others, isBehind) {
		return replicas(set)
	}
	most, _ := r.limits()
	return replicas(set) + max(0, min(r.wanted()-replicas(set), most-sum(r.all(), held)))
}

// limits returns how many pods there may be, and how many available ones there must be.
func (r *rollout) limits() (most, least int) {
	wanted, rolling, none := r.wanted(), r.d.Spec.Strategy.RollingUpdate, intstr.FromInt32(0)
	if wanted == 0 || recreates(r.d) || rolling == nil {
		return wanted, wanted
	}
	share := func(of *intstr.IntOrString, up bool) int {
		number, _ := intstr.GetScaledValueFromIntOrPercent(cmp.Or(of, &none), wanted, up) // the server takes no other
		return number
	}
	surge, unavailable := share(rolling.MaxSurge, true), share(rolling.MaxUnavailable, false)
	if surge == 0 && unavailable == 0 { // by rounding: it could not begin
		unavailable = 1
	}
	return wanted + surge, max(0, wanted-unavailable)
}

// change is what becomes of a replica set; nothing: it is deleted.
type change struct{ from, to *appsv1.ReplicaSet }

// plan returns the replica sets that must be created, changed or deleted.
func (r *rollout) plan() (changes []change) {
	if r.d.DeletionTimestamp != nil || r.current != nil && r.current.DeletionTimestamp != nil { // its successor has the same name
		return nil
	}
	isScaled := r.isScaled()
	if r.current == nil && !r.d.Spec.Paused && !isScaled && !r.mustWait() {
		next := *r
		next.current = r.makeSet()
		return next.plan()
	}
	var sizes map[types.UID]int
	switch {
	case r.d.Spec.Paused || isScaled:
		sizes = r.scale()
	case recreates(r.d):
		sizes = r.recreate()
	default:
		sizes = r.roll()
	}
	for _, set := range r.all() {
		size, decided := sizes[set.UID]
		if !decided {
			size = replicas(set)
		}
		if to := r.changed(set, size, decided && (isScaled || r.d.Spec.Paused)); set.UID == "" || !isSame(set, to) {
			changes = append(changes, change{set, to})
		}
	}
	slices.Reverse(changes) // the current one first: its pods take the longest
	if len(changes) > 0 || isScaled || !r.d.Spec.Paused && !r.isComplete(r.counts()) {
		return changes
	}
	for _, set := range r.outdated() {
		changes = append(changes, change{set, nil})
	}
	return changes
}

// changed returns a replica set with another size. If noted is false, what the deployment wants is only noted with the size.
func (r *rollout) changed(set *appsv1.ReplicaSet, size int, noted bool) *appsv1.ReplicaSet {
	to := *set
	to.Annotations = maps.Clone(set.Annotations)
	if set == r.current {
		r.annotate(&to)
		to.Spec.MinReadySeconds = r.d.Spec.MinReadySeconds
	}
	if noted || size != replicas(set) {
		to.Spec.Replicas = new(int32(size))
		r.noteSize(&to)
	}
	return &to
}

// isSame reports whether two states of a replica set have the same of all that a rollout changes.
func isSame(a, b *appsv1.ReplicaSet) bool {
	return replicas(a) == replicas(b) && a.Spec.MinReadySeconds == b.Spec.MinReadySeconds && maps.Equal(a.Annotations, b.Annotations)
}

// roll returns the sizes of the next step of a rolling update.
func (r *rollout) roll() map[types.UID]int {
	_, least := r.limits()
	size := min(r.wanted(), r.grown(r.current))
	sizes := map[types.UID]int{r.current.UID: size}
	old := slices.DeleteFunc(slices.Clone(r.old), func(set *appsv1.ReplicaSet) bool { return set.DeletionTimestamp != nil })
	// What is not available goes first: it may be what the update shall mend.
	spare := sum(old, replicas) + available(r.current, size) - least
	for _, set := range old {
		bad := max(0, min(spare, replicas(set)-available(set, replicas(set))))
		sizes[set.UID] = replicas(set) - bad
		spare -= bad
	}
	surplus := sum(old, func(set *appsv1.ReplicaSet) int { return available(set, replicas(set)) }) + available(r.current, size) - least
	for _, set := range old {
		good := max(0, min(surplus, sizes[set.UID]))
		sizes[set.UID] -= good
		surplus -= good
	}
	return sizes
}

// recreate returns the sizes of the next step of the strategy Recreate.
func (r *rollout) recreate() map[types.UID]int {
	sizes := noPods(r.old)
	if r.current != nil && !r.mustWait() {
		sizes[r.current.UID] = r.wanted()
	}
	return sizes
}

// mustWait reports whether the strategy Recreate waits until there are no old pods.
func (r *rollout) mustWait() bool { return recreates(r.d) && slices.ContainsFunc(r.old, mayHavePods) }

// noPods returns the size 0 for replica sets.
func noPods(sets []*appsv1.ReplicaSet) map[types.UID]int {
	sizes := map[types.UID]int{}
	for _, set := range sets {
		sizes[set.UID] = 0
	}
	return sizes
}
