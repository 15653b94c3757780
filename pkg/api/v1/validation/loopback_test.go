package validation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// K69: the machines of June 2014's examples are there, and hollow pods.
func TestK69EndpointsMayBeAtLoopbackAddresses(t *testing.T) {
	t.Parallel()
	endpoints := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "127.1.2.3"}, {IP: "::1"}},
			Ports: []corev1.EndpointPort{{Port: 80, Protocol: corev1.ProtocolTCP}}}}}
	assert.Empty(t, ValidateEndpoints(endpoints))
	endpoints.Subsets[0].Addresses[0].IP = "169.254.0.1"
	assert.NotEmpty(t, ValidateEndpoints(endpoints), "not those of other kinds that only one machine has")
}
