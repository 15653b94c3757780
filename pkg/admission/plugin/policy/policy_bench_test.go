package policy

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

func BenchmarkRequestThatNoneOf100PoliciesMatches(b *testing.B) {
	for _, count := range []int{0, 100} {
		b.Run(fmt.Sprint(count, " policies"), func(b *testing.B) {
			w := newWorld(b)
			for i := range count {
				w.validates(fmt.Sprint("p", i), checks("secrets", "object.data.size() > 0"))
			}
			pod := newPod()
			for b.Loop() {
				_, err := w.decide(b.Context(), "Pod", "pods", pod)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkOnePolicyDecides(b *testing.B) {
	for name, spec := range map[string]admissionregistrationv1.ValidatingAdmissionPolicySpec{
		"nothing": {}, "a pod": checks("pods", "object.spec.containers.all(c, c.image.contains(':'))"), "a config map": checks("configmaps", "object.data.a == 'b'"),
	} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b)
			if spec.MatchConstraints != nil {
				w.validates("p", spec)
			}
			for b.Loop() {
				var err error
				if name == "a config map" {
					_, err = w.decide(b.Context(), "ConfigMap", "configmaps", newConfigMap(map[string]string{"a": "b"}))
				} else {
					_, err = w.decide(b.Context(), "Pod", "pods", newPod())
				}
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkMemoryOfPolicies tells the bytes that a policy keeps.
func BenchmarkMemoryOfPolicies(b *testing.B) {
	for _, withVariables := range []bool{false, true} {
		b.Run(fmt.Sprint("variables=", withVariables), func(b *testing.B) {
			const count = 100
			w := newWorld(b)
			_, err := w.decide(b.Context(), "Pod", "pods", newPod())
			require.NoError(b, err)
			before := heap()
			for i := range count {
				spec := checks("pods", fmt.Sprintf("object.spec.containers.size() < %d", i+5))
				if withVariables {
					spec.Variables = []admissionregistrationv1.Variable{{Name: "count", Expression: "object.spec.containers.size()"}}
					spec.Validations[0].Expression = fmt.Sprintf("variables.count < %d", i+5)
				}
				w.validates(fmt.Sprint("p", i), spec)
			}
			_, err = w.decide(b.Context(), "Pod", "pods", newPod())
			require.NoError(b, err)
			kept := heap() - before
			for b.Loop() { // what is measured is above
			}
			b.ReportMetric(float64(kept)/count, "bytes/policy")
			runtime.KeepAlive(w)
		})
	}
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
