package job

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
)

const (
	// minBackoff is the pause after the first failure since a success. It doubles with each further one.
	minBackoff = 10 * time.Second
	maxBackoff = 10 * time.Minute

	// maxName is how long a host name may be, in bytes, and numberSize the room for the last number.
	maxName    = 63
	numberSize = 5

	indexVariable = "JOB_COMPLETION_INDEX"
)

// surplus returns the active pods that the job does not need, those first that have done least.
func (v *view) surplus() (surplus []*corev1.Pod) {
	left := slices.SortedFunc(slices.Values(v.active), compareLoss)
	if isSuspended(v.job) {
		return left
	}
	if isIndexed(v.job) {
		best := map[int]*corev1.Pod{}
		for _, pod := range left {
			best[indexOf(pod)] = pod
		}
		isExtra := func(pod *corev1.Pod) bool { return !v.isValid(pod) || best[indexOf(pod)] != pod }
		for _, pod := range left {
			if isExtra(pod) {
				surplus = append(surplus, pod)
			}
		}
		left = slices.DeleteFunc(left, isExtra)
	}
	return append(surplus, left[:max(0, len(left)-v.wanted())]...)
}

// compareLoss is negative if a should be deleted before b.
func compareLoss(a, b *corev1.Pod) int {
	rank := func(pod *corev1.Pod) int {
		switch {
		case pod.Spec.NodeName == "":
			return 0
		case pod.Status.Phase != corev1.PodRunning:
			return 1
		case !isReady(pod):
			return 2
		}
		return 3
	}
	return cmp.Or(rank(a)-rank(b), b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// wanted returns how many pods should be active.
func (v *view) wanted() int {
	parallelism := int(*v.job.Spec.Parallelism)
	switch {
	case v.job.Spec.Completions != nil:
		return max(0, min(parallelism, int(*v.job.Spec.Completions-v.succeeded)))
	case v.succeeded > 0: // the others may go on, and nothing more is needed
		return len(v.active)
	}
	return parallelism
}

// missing returns the indexes of the pods to create now, -1 for each of a job that has no indexes. If
// it returns none because of failures, it returns the time until the next attempt.
func (v *view) missing() (indexes []int, wait time.Duration) {
	if isSuspended(v.job) {
		return nil, 0
	}
	count := v.wanted() - len(v.active)
	if replacesOnlyFailed(v.job) {
		count -= int(v.terminating)
	}
	if count = min(count, burstPods); count <= 0 {
		return nil, 0
	}
	perIndex := isIndexed(v.job) && v.job.Spec.BackoffLimitPerIndex != nil
	if wait := v.backoff(); wait > 0 && !perIndex {
		return nil, wait
	}
	if !isIndexed(v.job) {
		return slices.Repeat([]int{-1}, count), 0
	}
	for _, index := range v.pending(count) {
		pause := time.Duration(0)
		if last := v.kept[index]; last != nil {
			pause = backoff(allFailuresOf(last)+1, finishedAt(last), v.now)
		}
		if pause <= 0 {
			indexes = append(indexes, index)
		} else if wait == 0 || pause < wait {
			wait = pause
		}
	}
	if len(indexes) > 0 { // the others are looked at again when these are there
		wait = 0
	}
	return indexes, wait
}

// pending returns the first indexes that are neither done nor on the way.
func (v *view) pending(count int) (indexes []int) {
	var taken []int
	for _, pod := range v.pods {
		if indexOf(pod) >= 0 && (isActive(pod) || replacesOnlyFailed(v.job) && isTerminating(pod)) {
			taken = append(taken, indexOf(pod))
		}
	}
	busy := v.completed.union(v.failedIndexes).with(taken)
	next := 0
	for _, run := range append(busy, interval{first: int(*v.job.Spec.Completions)}) {
		for ; next < run.first && len(indexes) < count; next++ {
			indexes = append(indexes, next)
		}
		next = max(next, run.last+1)
	}
	return indexes
}

// backoff returns the rest of the pause after the failures since the last success. They are counted
// from the pods that are there, so that a restart changes nothing.
func (v *view) backoff() time.Duration {
	var success, last time.Time
	for _, pod := range v.pods {
		if at := finishedAt(pod); pod.Status.Phase == corev1.PodSucceeded && at.After(success) {
			success = at
		}
	}
	failures := 0
	for _, pod := range v.pods {
		if at := finishedAt(pod); hasFailed(v.job, pod) && at.After(success) {
			failures++
			if at.After(last) {
				last = at
			}
		}
	}
	return backoff(failures, last, v.now)
}

// backoff returns the rest of the pause after a number of failures.
func backoff(failures int, last, now time.Time) time.Duration {
	if failures == 0 {
		return 0
	}
	pause := min(minBackoff<<min(failures-1, 10), maxBackoff)
	return max(0, pause-now.Sub(last))
}

// Pods have numbers in their names, and the server gives a name once. So a create whose answer was
// lost is repeated, and makes no second pod.

// prefix returns what the names of a job's pods begin with, before the number.
func prefix(job *batchv1.Job, index int) string {
	end := "-"
	if index >= 0 {
		end = "-" + strconv.Itoa(index) + "-"
	}
	name := job.Name
	if most := maxName - numberSize - len(end); len(name) > most {
		name = strings.TrimRight(name[:most], "-.")
	}
	return name + end
}

// names returns free names for pods of some indexes. One that was requested without an answer comes
// first.
func (c *JobController) names(job *batchv1.Job, indexes []int) (names []string) {
	unsettled := c.unsettledOf(job)
	isFree := func(name string) bool {
		_, taken := c.pods.Store().Get(cache.KeyOf(job.Namespace, name))
		return !taken && !slices.Contains(names, name)
	}
	numbers := map[string]int{}
	for _, index := range indexes {
		before := prefix(job, index)
		name := ""
		if i := slices.IndexFunc(unsettled, func(name string) bool { return strings.HasPrefix(name, before) && isFree(name) }); i >= 0 {
			name = unsettled[i]
		}
		for name == "" || !isFree(name) {
			numbers[before]++
			name = before + strconv.Itoa(numbers[before])
		}
		names = append(names, name)
	}
	return names
}

// createPods creates pods, one after the other, until the server refuses one or the job changes.
func (c *JobController) createPods(ctx context.Context, v *view, indexes []int) (acted bool, err error) {
	var expected []cache.Expectation
	var failed error
	for i, name := range c.names(v.job, indexes) {
		if failed = c.lookAhead(v.job); failed != nil {
			break
		}
		pod, err := c.createPod(ctx, v, name, indexes[i])
		if pod != nil {
			expected = append(expected, c.pods.Shows(pod))
		}
		if failed = err; failed != nil {
			break
		}
	}
	if err := cache.Await(ctx, expected...); err != nil {
		return false, err
	}
	return len(expected) > 0, failed
}

// createPod creates the pod of a name. With errStale the name was taken: by the pod that it returns,
// or by one that is gone again.
func (c *JobController) createPod(ctx context.Context, v *view, name string, index int) (*corev1.Pod, error) {
	pods := c.config.Client.In(v.job.Namespace).Pods()
	pod, err := pods.Create(ctx, v.newPod(name, index))
	isTaken := apierrors.IsAlreadyExists(err)
	if isTaken {
		pod, err = pods.Get(ctx, name)
	}
	c.noteAnswer(v.job, name, err)
	switch {
	case isTaken && (err == nil || apierrors.IsNotFound(err)):
		return pod, errStale
	case err == nil:
		c.config.Recorder.Eventf(v.job, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", name)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause): // there will be no more pods, and no events
		return nil, nil
	case clientv1.IsRefusal(err):
		c.config.Recorder.Eventf(v.job, corev1.EventTypeWarning, "FailedCreate", "Error creating: %s", err)
	}
	return pod, err
}

// noteAnswer records the result of a request to create a pod. A refusal says nothing about an earlier
// request for the same pod.
func (c *JobController) noteAnswer(job *batchv1.Job, name string, err error) {
	names := slices.DeleteFunc(slices.Clone(c.unsettledOf(job)), func(other string) bool { return other == name })
	switch {
	case err == nil, apierrors.IsNotFound(err):
		c.unsettled.Store(job.UID, names)
	case !clientv1.IsRefusal(err):
		c.unsettled.Store(job.UID, append(names, name))
	}
}

func (c *JobController) unsettledOf(job *batchv1.Job) []string {
	if names, exists := c.unsettled.Load(job.UID); exists {
		return names.([]string)
	}
	return nil
}

// newPod returns a pod of the job's template, for an index or -1.
func (v *view) newPod(name string, index int) *corev1.Pod {
	template := v.job.Spec.Template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.job.Namespace, Name: name, Labels: template.Labels, Annotations: template.Annotations,
			Finalizers:      append(template.Finalizers, batchv1.JobTrackingFinalizer),
			OwnerReferences: []metav1.OwnerReference{controllerReference(v.job)}},
		Spec: template.Spec,
	}
	if index < 0 {
		return pod
	}
	number := strconv.Itoa(index)
	pod.Labels, pod.Annotations = with(pod.Labels, batchv1.JobCompletionIndexAnnotation, number), with(pod.Annotations, batchv1.JobCompletionIndexAnnotation, number)
	pod.Spec.Hostname = v.job.Name + "-" + number
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			addIndexVariable(&containers[i])
		}
	}
	if v.job.Spec.BackoffLimitPerIndex == nil {
		return pod
	}
	failures, ignored := 0, 0
	if last := v.kept[index]; last != nil {
		failures, ignored = failuresOf(last, batchv1.JobIndexFailureCountAnnotation), failuresOf(last, batchv1.JobIndexIgnoredFailureCountAnnotation)
		if v.counts(last) {
			failures++
		} else {
			ignored++
		}
	}
	pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(failures)
	if ignored > 0 {
		pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(ignored)
	}
	return pod
}

// with returns a map with one more value.
func with(values map[string]string, key, value string) map[string]string {
	values = maps.Clone(values)
	if values == nil {
		values = map[string]string{}
	}
	values[key] = value
	return values
}

// addIndexVariable tells a container the index of its pod, unless the job says otherwise.
func addIndexVariable(container *corev1.Container) {
	if slices.ContainsFunc(container.Env, func(variable corev1.EnvVar) bool { return variable.Name == indexVariable }) {
		return
	}
	container.Env = append(container.Env, corev1.EnvVar{Name: indexVariable, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: fmt.Sprintf("metadata.labels['%s']", batchv1.JobCompletionIndexAnnotation)}}})
}
