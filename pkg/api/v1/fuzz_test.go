package v1

import (
	"kube2014/pkg/api"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// seeds is how many objects of each kind go test makes without fuzzing.
const seeds = 32

// quantities are written in their canonical form: as a server shows them.
var quantities = []string{"0", "64Mi", "1536Mi", "100m", "1500m", "2", "-5", "-100m", "1e3", "100E", "9223372036854775807", "9223372036854775808", "-9223372036854775807"}

// newFiller returns a filler of objects that gives each field a value that JSON can say.
func newFiller(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 2).Funcs(
		func(t *metav1.Time, c randfill.Continue) { *t = metav1.Unix(1+c.Int63n(1<<33), 0) },
		func(t *metav1.MicroTime, c randfill.Continue) {
			*t = metav1.NewMicroTime(time.UnixMicro(1 + c.Int63n(1<<50)))
		},
		func(f *metav1.FieldsV1, _ randfill.Continue) { f.Raw = []byte("{}") },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse(quantities[c.Intn(len(quantities))])
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(c.Int31())
			if c.Bool() {
				*v = intstr.FromString(c.String(0))
			}
		},
		func(command *[]string, c randfill.Continue) {
			*command = [][]string{nil, {}, {""}, {"sleep"}, {"sleep", "7"}, {"echo", "a  b", ""}, {" "}, {"", ""}}[c.Intn(8)]
		},
		func(v *interface{}, c randfill.Continue) {
			*v = []interface{}{nil, c.String(0), 0.5, []interface{}{}, map[string]interface{}{c.String(0): []interface{}{nil}}}[c.Intn(5)]
		},
		// Few values, so that parts are found that mean the same.
		func(v *corev1.EnvVar, c randfill.Continue) {
			c.FillNoCustom(v)
			v.Name, v.Value = few(c), few(c)
		},
		func(p *corev1.ContainerPort, c randfill.Continue) {
			*p = corev1.ContainerPort{Name: few(c), HostPort: c.Int31n(2), ContainerPort: c.Int31n(2), Protocol: "TCP", HostIP: few(c)}
		},
		func(v *corev1.Container, c randfill.Continue) {
			c.FillNoCustom(v)
			v.Name = few(c)
		},
	)
}

func few(c randfill.Continue) string { return []string{"", "a", "b"}[c.Intn(3)] }

var v1Kinds = []string{"Pod", "ReplicationController", "Service", "Endpoints", "Node", "Event", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}

func addSeeds(f *testing.F, kinds []string) {
	for i := range kinds {
		for seed := range int64(seeds) {
			f.Add(uint(i), seed)
		}
	}
}

// What is accepted comes back whole: it has been defaulted by then, and the store sets
// its versions.
func FuzzV1IsKeptWhole(f *testing.F) {
	addSeeds(f, v1Kinds)
	f.Fuzz(func(t *testing.T, i uint, seed int64) {
		v1 := makeV1(t, v1Kinds[i%uint(len(v1Kinds))], seed)
		same := v1.DeepCopyObject()
		stored := in(t, v1)
		requireSameJSON(t, v1, out(t, stored))
		require.True(t, equality.Semantic.DeepEqual(same, v1), "conversion changed its input, but the texts of quantities")

		next := putV1(t, stored, func(object) {})
		requireSameJSON(t, v1, out(t, next), "after a PUT")
		require.Equal(t, stored.Meta().Remainder, next.Meta().Remainder)
	})
}

var v1beta1Kinds = []string{"Task", "ReplicationController", "Service", "Endpoints"}

// An update through the second door that changes only annotations leaves the JSON of
// June 2014 as it was.
func FuzzV1beta1IsKeptWhole(f *testing.F) {
	addSeeds(f, v1beta1Kinds)
	f.Fuzz(func(t *testing.T, i uint, seed int64) {
		stored := makeV1beta1(t, v1beta1Kinds[i%uint(len(v1beta1Kinds))], seed)
		before, shown := encodeV1beta1(t, stored), out(t, stored)
		next := putV1(t, stored, func(v1 object) { v1.SetAnnotations(map[string]string{"a": "b"}) })
		require.Equal(t, before, encodeV1beta1(t, next))
		require.Equal(t, before, encodeV1beta1(t, stored), "conversion changed its input")
		require.Equal(t, map[string]string{"a": "b"}, next.Meta().Annotations)

		next = putV1(t, next, func(v1 object) { v1.SetAnnotations(nil) })
		require.Equal(t, before, encodeV1beta1(t, next))
		requireSameJSON(t, shown, out(t, next))
	})
}

// What is seen and PUT through the first door keeps what only today's API can say.
func FuzzAPUTOfTheFirstDoorKeepsV1Whole(f *testing.F) {
	addSeeds(f, v1beta1Kinds[:3])
	f.Fuzz(func(t *testing.T, i uint, seed int64) {
		v1 := makeV1(t, v1Kinds[i%3], seed)
		stored := in(t, v1)
		next := putV1beta1(t, stored, func(interface{}) {})
		requireSameJSON(t, v1, out(t, next))
		require.Equal(t, stored.GetLabels(), next.GetLabels())
	})
}

// manyDigits finds quantities like 1e-999999999, for which apimachinery takes minutes.
var manyDigits = regexp.MustCompile(`[eE][+-]?[0-9]{4}|[0-9.]{100}`)

// Whatever another program writes as a remainder is an error or an object: no panic.
func FuzzRemainder(f *testing.F) {
	for i := range v1Kinds {
		f.Add(uint(i), "") // small ones: a large one takes the fuzzer a minute to make smaller
		f.Add(uint(i), `{"metadata":{"finalizers":["f/f"]},"spec":{"volumes":[{"name":"a"}],"containers":[{"name":"a","resources":{"limits":{"cpu":"1"}}}]}}`)
		for _, remainder := range malformed {
			f.Add(uint(i), remainder)
		}
	}
	f.Fuzz(func(t *testing.T, i uint, remainder string) {
		if manyDigits.MatchString(remainder) {
			t.Skip("it has a number that is too large")
		}
		stored := in(t, makeV1(t, v1Kinds[i%uint(len(v1Kinds))], 1))
		stored.Meta().Remainder = api.Remainder(remainder)
		if _, err := codecFor(stored).EncodeItem(stored); err != nil {
			require.ErrorContains(t, err, "the remainder of ")
		}
	})
}
