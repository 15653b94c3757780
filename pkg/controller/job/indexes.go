package job

import (
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
		if !isRun {
			to = from
		}
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if last = min(last, limit-1); err == nil && err2 == nil && first <= last {
			read = append(read, interval{first, last})
		}
	}
	return read.with(nil)
}

func (i intervals) String() string {
	var parts []string
	for _, run := range i {
		parts = append(parts, strconv.Itoa(run.first))
		switch last := strconv.Itoa(run.last); run.last - run.first {
		case 0:
		case 1:
			parts = append(parts, last)
		default:
			parts[len(parts)-1] += "-" + last
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
	return slices.ContainsFunc(i, func(run interval) bool { return run.first <= index && index <= run.last })
}

// with returns the indexes and some more.
func (i intervals) with(indexes []int) (joined intervals) {
	all := slices.Clone(i)
	for _, index := range indexes {
		all = append(all, interval{index, index})
	}
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

// indexOf returns the index of a pod, -1 if it has none.
func indexOf(pod *corev1.Pod) int {
	if index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation]); err == nil && index >= 0 {
		return index
	}
	return -1
}
