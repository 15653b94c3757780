package endpointslice

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/master/controllertest"
)

// bench is a server with two controllers.
type bench struct{ *controllertest.Bench }

func inBubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	controllertest.InBubble(t, func(t *testing.T, shared *controllertest.Bench) {
		for range 2 {
			controllertest.Run(shared, 0, NewMirroringController)
		}
		test(t, &bench{shared})
	})
}

// has asserts what the slices say once nothing happens any more.
func (b *bench) has(want map[string]string) {
	b.T.Helper()
	time.Sleep(time.Second)
	synctest.Wait()
	has := map[string]string{}
	for slice, err := range b.API.EndpointSlices().All(b.T.Context(), metav1.ListOptions{}) {
		require.NoError(b.T, err)
		has[slice.Name] = inShort(slice)
	}
	assert.Equal(b.T, want, has)
}

func inShort(slice *discoveryv1.EndpointSlice) string {
	var addresses []string
	for _, endpoint := range slice.Endpoints {
		addresses = append(addresses, endpoint.Addresses...)
	}
	return fmt.Sprint(slice.AddressType, " ", addresses, " of ", slice.Labels[discoveryv1.LabelServiceName], " by ", slice.Labels[discoveryv1.LabelManagedBy])
}

func at(ips ...string) *corev1.Endpoints {
	endpoints := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "db", Labels: map[string]string{"a": "b"}}}
	for _, ip := range ips {
		endpoints.Subsets = append(endpoints.Subsets, corev1.EndpointSubset{Addresses: []corev1.EndpointAddress{{IP: ip}}, Ports: []corev1.EndpointPort{{Port: 80}}})
	}
	return endpoints
}

func TestSlicesSayWhatEndpointsSay(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		created, err := b.API.Endpoints().Create(t.Context(), at("10.0.0.1"))
		require.NoError(t, err)
		b.has(map[string]string{"db": "IPv4 [10.0.0.1] of db by endpointslice.kube2014"})
		second := SlicesOf(&corev1.Endpoints{ObjectMeta: created.ObjectMeta, Subsets: at("1.1.1.1", "1.1.1.2").Subsets})[1].Name
		_, err = b.API.Endpoints().Update(t.Context(), at("fd00::1", "10.0.0.2"))
		require.NoError(t, err)
		b.has(map[string]string{"db": "IPv6 [fd00::1] of db by endpointslice.kube2014", second: "IPv4 [10.0.0.2] of db by endpointslice.kube2014"})
		require.NoError(t, b.API.EndpointSlices().Delete(t.Context(), second, metav1.DeleteOptions{}))
		_, err = b.API.EndpointSlices().Change(t.Context(), "db", func(slice *discoveryv1.EndpointSlice) error {
			slice.Endpoints = nil
			return nil
		})
		require.NoError(t, err)
		b.has(map[string]string{"db": "IPv6 [fd00::1] of db by endpointslice.kube2014", second: "IPv4 [10.0.0.2] of db by endpointslice.kube2014"})
		_, err = b.API.Endpoints().Update(t.Context(), at())
		require.NoError(t, err)
		b.has(map[string]string{"db": "IPv4 [] of db by endpointslice.kube2014"})
		require.NoError(t, b.API.Endpoints().Delete(t.Context(), "db", metav1.DeleteOptions{}))
		b.has(map[string]string{})
	})
}

func TestTheControllerStepsBackForTodays(t *testing.T) {
	for by, name := range map[string]string{"endpointslice-controller.k8s.io": "db-x7f3k", "": "db"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				other := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "db"}}, AddressType: discoveryv1.AddressTypeIPv4}
				if by != "" {
					other.Labels[discoveryv1.LabelManagedBy] = by
					_, err := b.API.Endpoints().Create(t.Context(), at("10.0.0.1"))
					require.NoError(t, err)
					b.has(map[string]string{"db": "IPv4 [10.0.0.1] of db by endpointslice.kube2014"})
				}
				_, err := b.API.EndpointSlices().Create(t.Context(), other)
				require.NoError(t, err)
				if by == "" {
					_, err := b.API.Endpoints().Create(t.Context(), at("10.0.0.1"))
					require.NoError(t, err)
				}
				b.has(map[string]string{name: "IPv4 [] of db by " + by})
				require.NoError(t, b.API.EndpointSlices().Delete(t.Context(), name, metav1.DeleteOptions{}))
				b.has(map[string]string{"db": "IPv4 [10.0.0.1] of db by endpointslice.kube2014"})
			})
		})
	}
}

func TestSlicesOfStaffAreBesideOurs(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		_, err := b.API.EndpointSlices().Create(t.Context(), &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
			ObjectMeta: metav1.ObjectMeta{Name: "more", Labels: map[string]string{discoveryv1.LabelServiceName: "db", discoveryv1.LabelManagedBy: "staff"}}})
		require.NoError(t, err)
		_, err = b.API.Endpoints().Create(t.Context(), at("10.0.0.1"))
		require.NoError(t, err)
		b.has(map[string]string{"more": "IPv4 [] of db by staff", "db": "IPv4 [10.0.0.1] of db by endpointslice.kube2014"})
	})
}

func TestEndpointsThatAreNotForSlicesHaveNone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		skipped, election := at("10.0.0.1"), at("10.0.0.1")
		skipped.Labels[discoveryv1.LabelSkipMirror] = "true"
		election.Name, election.Annotations = "leader", map[string]string{electionAnnotation: "{}"}
		for _, endpoints := range []*corev1.Endpoints{skipped, election} {
			_, err := b.API.Endpoints().Create(t.Context(), endpoints)
			require.NoError(t, err)
		}
		b.has(map[string]string{})
		delete(skipped.Labels, discoveryv1.LabelSkipMirror)
		_, err := b.API.Endpoints().Update(t.Context(), skipped)
		require.NoError(t, err)
		b.has(map[string]string{"db": "IPv4 [10.0.0.1] of db by endpointslice.kube2014"})
	})
}

func TestSlicesKeepTheRulesOfToday(t *testing.T) {
	t.Parallel()
	endpoints := at("m1", "0.0.0.0", "::ffff:10.0.0.1")
	endpoints.Labels["no label"] = "x"
	many := corev1.EndpointSubset{Ports: []corev1.EndpointPort{{Port: 80}}}
	for i := range 2500 {
		address := corev1.EndpointAddress{IP: fmt.Sprintf("10.0.%d.%d", i/250, i%250), Hostname: "h"}
		if i < 2400 {
			many.Addresses = append(many.Addresses, address)
		} else {
			many.NotReadyAddresses = append(many.NotReadyAddresses, address)
		}
	}
	endpoints.Subsets = append(endpoints.Subsets, many)
	names, lengths := map[string]bool{}, []int{}
	for _, slice := range SlicesOf(endpoints) {
		names[slice.Name] = true
		lengths = append(lengths, len(slice.Endpoints))
		assert.Equal(t, map[string]string{"a": "b", discoveryv1.LabelServiceName: "db"}, slice.Labels)
		last := slice.Endpoints[len(slice.Endpoints)-1]
		assert.Equal(t, len(lengths) < 4, *last.Conditions.Ready)
		assert.Equal(t, len(lengths) > 1, last.Hostname != nil)
	}
	assert.Equal(t, []int{1, 1000, 1000, 500}, lengths)
	assert.Len(t, names, 4)
	other := endpoints.DeepCopy()
	other.UID = "another"
	for _, slice := range SlicesOf(other)[1:] {
		assert.NotContains(t, slices.Collect(maps.Keys(names)), slice.Name)
	}
}
