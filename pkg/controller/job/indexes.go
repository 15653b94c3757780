package job

import (
	"math"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// interval is a run of indexes.
type interval struct{ first, last int }

// intervals are indexes, in order. Between two of them at least one index is missing.
type intervals []interval

// parseIntervals reads indexes like "1,3-5" that are below a limit. It leaves out what makes no sense.
func parseIntervals(text string, limit int) (read intervals) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRun := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if isRun {
			if last, err = strconv.Atoi(to); err != nil {
				continue
			}
		}
		if last = min(last, limit-1); first <= last {
			read = append(read, interval{first, last})
		}
	}
	return read.union(nil)
}

func (i intervals) String() string {
	var parts []string
	for _, run := range i {
		switch run.last - run.first {
		case 0:
			parts = append(parts, strconv.Itoa(run.first))
		case 1:
			parts = append(parts, strconv.Itoa(run.first), strconv.Itoa(run.last))
		default:
			parts = append(parts, strconv.Itoa(run.first)+"-"+strconv.Itoa(run.last))
		}
	}
	return strings.Join(parts, ",")
}

func (i intervals) total() (total int) {
	for _, run := range i {
		total += run.last - run.first + 1
	}
	return total
}

func (i intervals) has(index int) bool {
	_, found := slices.BinarySearchFunc(i, index, func(run interval, index int) int {
		switch {
		case run.last < index:
			return -1
		case run.first > index:
			return 1
		}
		return 0
	})
	return found
}

// with returns the indexes and some more.
func (i intervals) with(indexes []int) intervals {
	more := make(intervals, 0, len(indexes))
	for _, index := range indexes {
		more = append(more, interval{index, index})
	}
	return i.union(more)
}

// union returns the indexes that are in one of the two, or in both.
func (i intervals) union(other intervals) (joined intervals) {
	all := slices.Concat(i, other)
	slices.SortFunc(all, func(a, b interval) int { return a.first - b.first })
	for _, run := range all {
		if end := len(joined) - 1; end >= 0 && run.first <= joined[end].last+1 {
			joined[end].last = max(joined[end].last, run.last)
		} else {
			joined = append(joined, run)
		}
	}
	return joined
}

// common returns how many indexes are in both.
func (i intervals) common(other intervals) int {
	return i.total() + other.total() - i.union(other).total()
}

// indexOf returns the index of a pod, -1 if it has none.
func indexOf(pod *corev1.Pod) int {
	if index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil && index >= 0 {
		return index
	}
	return -1
}

// failuresOf returns how often the pods of an index had failed before a pod, which is in one of its
// annotations.
func failuresOf(pod *corev1.Pod, annotation string) int {
	if count, err := strconv.Atoi(pod.Annotations[annotation]); err == nil && count >= 0 && count <= math.MaxInt32 {
		return count
	}
	return 0
}

// allFailuresOf is failuresOf, with those that the failure policy ignored.
func allFailuresOf(pod *corev1.Pod) int {
	return failuresOf(pod, batchv1.JobIndexFailureCountAnnotation) + failuresOf(pod, batchv1.JobIndexIgnoredFailureCountAnnotation)
}
