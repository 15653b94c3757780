package services

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// service is one, with what is behind it.
type service struct {
	spec    corev1.ServiceSpec
	subsets []corev1.EndpointSubset
	slices  []*discoveryv1.EndpointSlice
}

func (s service) Service(context.Context, string, string) (*corev1.Service, error) {
	return &corev1.Service{Spec: s.spec}, nil
}

func (s service) EndpointSlices(context.Context, string, string) ([]*discoveryv1.EndpointSlice, error) {
	return s.slices, nil
}

func (s service) Endpoints(context.Context, string, string) (*corev1.Endpoints, error) {
	return &corev1.Endpoints{Subsets: s.subsets}, nil
}

func TestAServiceBecomesAnAddress(t *testing.T) {
	t.Parallel()
	ports := []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "b", Port: 443}}
	ready := []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.0.0.1"}}, Ports: []corev1.EndpointPort{{Name: "a", Port: 1}, {Name: "b", Port: 8443}}},
		{NotReadyAddresses: []corev1.EndpointAddress{{IP: "10.0.0.2"}}, Ports: []corev1.EndpointPort{{Name: "b", Port: 8443}}}}
	slices := []*discoveryv1.EndpointSlice{{Ports: []discoveryv1.EndpointPort{{Name: new("b"), Port: new(int32(9443))}}, Endpoints: []discoveryv1.Endpoint{
		{Addresses: []string{"10.0.0.3"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}}, {Addresses: []string{"10.0.0.4"}}}}}
	for _, test := range []struct {
		of         service
		want, fail string
	}{
		{service{spec: corev1.ServiceSpec{Type: "ExternalName", ExternalName: "example.com"}}, "example.com:443", ""},
		{service{spec: corev1.ServiceSpec{Type: "ClusterIP", ClusterIP: "fd00::1", Ports: ports}, subsets: ready}, "[fd00::1]:443", ""},
		{service{spec: corev1.ServiceSpec{Type: "ClusterIP", ClusterIP: "10.1.1.1", Ports: ports[:1]}}, "", `no service port 443 found for service "s"`},
		{service{spec: corev1.ServiceSpec{Ports: ports}, subsets: ready}, "10.0.0.1:8443", ""},
		{service{spec: corev1.ServiceSpec{ClusterIP: "None", Ports: ports}, subsets: ready[1:]}, "", `no endpoints available for service "s"`},
		{service{spec: corev1.ServiceSpec{Ports: ports}, subsets: ready, slices: slices}, "10.0.0.4:9443", ""},
		{service{spec: corev1.ServiceSpec{Ports: ports}, slices: slices[:0]}, "", `no endpoints available for service "s"`},
		{service{spec: corev1.ServiceSpec{Type: "Other", Ports: ports}}, "", `unsupported service type "Other"`},
	} {
		got, err := NewResolver(test.of, false)(t.Context(), "ns", "s", 443)
		assert.Equal(t, test.want, strings.Join(got, " "))
		if test.fail == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, test.fail)
		assert.Equal(t, test.of.spec.Type != "Other", apierrors.IsServiceUnavailable(err))
	}
}

func TestEndpointsAreReachedPastTheClusterIPIfOnlyTheyAreWanted(t *testing.T) {
	t.Parallel()
	of := service{spec: corev1.ServiceSpec{ClusterIP: "10.1.1.1", Ports: []corev1.ServicePort{{Port: 443}}},
		subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.0.0.1"}}, Ports: []corev1.EndpointPort{{Port: 8443}}}}}
	got, err := NewResolver(of, true)(t.Context(), "ns", "s", 443)
	require.NoError(t, err)
	assert.Equal(t, []string{"10.0.0.1:8443"}, got)
}
