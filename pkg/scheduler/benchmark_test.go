package scheduler

import (
	"fmt"
	"testing"
)

// BenchmarkSchedule chooses among 200 nodes with 25 pods each.
func BenchmarkSchedule(b *testing.B) {
	c := newSchedulerCache()
	for n := range 200 {
		c.setNode(makeNode(fmt.Sprint("n", n), having("64", "256Gi")))
	}
	web := []map[string]string{{"app": "web"}}
	for n := range 5000 {
		pod := makePod(fmt.Sprint("p", n), labelled("web"), requesting("100m", "100Mi"))
		if _, err := c.assume(pod, web); err != nil {
			b.Fatal(err)
		}
	}
	pod := makePod("next", labelled("web"), requesting("100m", "100Mi"), withHostPort(80))
	for turn := 0; b.Loop(); turn++ {
		want := wantedBy(&pod.Spec)
		want.alike = c.labels.count(pod.Namespace, web)
		if _, err := schedule(want, c.known, turn); err != nil {
			b.Fatal(err)
		}
	}
}
