// Package measure has what programs that measure servers share: a minimal client, the
// starting of servers, medians, plots.
package measure

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Median returns the middle one of the values, of which there is at least one.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// Ratios divides the values run by run, because a noisy machine slows both sides
// of a run.
func Ratios(a, b []float64) []float64 {
	quotients := make([]float64, len(a))
	for i := range a {
		quotients[i] = a[i] / b[i]
	}
	return quotients
}

// Milliseconds is a duration as a figure.
func Milliseconds(took time.Duration) float64 { return float64(took.Microseconds()) / 1000 }

// Number is a figure with three digits that count, or more before the point.
func Number(value float64) string {
	switch {
	case value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0")
	}
	return fmt.Sprintf("%.3g", value)
}

// Machine is what the system calls the processor, how many cores there are, and the
// version of Go.
func Machine() string {
	return fmt.Sprintf("%s, %d cores,\n%s", processor(), runtime.NumCPU(), runtime.Version())
}

func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	match := regexp.MustCompile(`model name\s*:\s*(.*)`).FindSubmatch(data)
	if err != nil || match == nil {
		return runtime.GOARCH
	}
	return string(match[1])
}
