package kubelet

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestAddressesAreGivenFromTheLowestOneOn(t *testing.T) {
	t.Parallel()
	a := newAddresses(netip.MustParsePrefix("127.1.2.0/29"))
	var all []string
	for range 7 {
		all = append(all, a.take().String())
	}
	assert.Equal(t, []string{"127.1.2.1", "127.1.2.2", "127.1.2.3", "127.1.2.4", "127.1.2.5", "127.1.2.6", "invalid IP"}, all)
	a.giveBack(netip.MustParseAddr("127.1.2.4"))
	assert.Equal(t, "127.1.2.4", a.take().String())
	assert.False(t, newAddresses(netip.Prefix{}).take().IsValid())
	assert.False(t, newAddresses(netip.MustParsePrefix("127.1.2.3/32")).take().IsValid())
}

func TestContainersOfATaskHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range containersOf(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}, {}, {Name: "web"}, {Name: "web"}}}}) {
		names = append(names, c.name)
	}
	assert.Equal(t, []string{"0", "1", "web", "web-3"}, names)
}
