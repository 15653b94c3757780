package webhook

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// service is one, with its endpoints.
type service struct {
	spec    corev1.ServiceSpec
	subsets []corev1.EndpointSubset
}

func (s service) Service(context.Context, string, string) (*corev1.Service, error) {
	return &corev1.Service{Spec: s.spec}, nil
}

func (s service) Endpoints(context.Context, string, string) (*corev1.Endpoints, error) {
	return &corev1.Endpoints{Subsets: s.subsets}, nil
}

func TestAServiceBecomesAnAddress(t *testing.T) {
	t.Parallel()
	ports := []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "b", Port: 443}}
	ready := []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.0.0.1"}}, Ports: []corev1.EndpointPort{{Name: "a", Port: 1}, {Name: "b", Port: 8443}}},
		{NotReadyAddresses: []corev1.EndpointAddress{{IP: "10.0.0.2"}}, Ports: []corev1.EndpointPort{{Name: "b", Port: 8443}}}}
	for _, test := range []struct {
		of         service
		want, fail string
	}{
		{service{spec: corev1.ServiceSpec{Type: "ExternalName", ExternalName: "example.com"}}, "example.com:443", ""},
		{service{spec: corev1.ServiceSpec{Type: "ClusterIP", ClusterIP: "fd00::1", Ports: ports}, subsets: ready}, "[fd00::1]:443", ""},
		{service{spec: corev1.ServiceSpec{Type: "ClusterIP", ClusterIP: "10.1.1.1", Ports: ports[:1]}}, "", `no service port 443 found for service "s"`},
		{service{spec: corev1.ServiceSpec{Ports: ports}, subsets: ready}, "10.0.0.1:8443", ""},
		{service{spec: corev1.ServiceSpec{ClusterIP: "None", Ports: ports}, subsets: ready[1:]}, "", `no endpoints available for service "s"`},
		{service{spec: corev1.ServiceSpec{Type: "Other", Ports: ports}}, "", `unsupported service type "Other"`},
	} {
		got, err := NewServiceResolver(test.of)(t.Context(), "ns", "s", 443)
		assert.Equal(t, test.want, got)
		if test.fail == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, test.fail)
		assert.Equal(t, test.of.spec.Type != "Other", apierrors.IsServiceUnavailable(err))
	}
}

func TestTheConfigurationOfAWebhookLeadsToItsServer(t *testing.T) {
	t.Parallel()
	at := field.NewPath("clientConfig")
	service := func(path *string, port *int32) *admissionregistrationv1.ServiceReference {
		return &admissionregistrationv1.ServiceReference{Namespace: "ns", Name: "s", Path: path, Port: port}
	}
	for _, row := range []struct {
		config    admissionregistrationv1.WebhookClientConfig
		url, fail string
	}{
		{admissionregistrationv1.WebhookClientConfig{URL: new("https://a:1//b/")}, "https://a:1/b?timeout=5s", ""},
		{admissionregistrationv1.WebhookClientConfig{URL: new("https://a"), CABundle: []byte(" ")}, "https://a/?timeout=5s", ""},
		{admissionregistrationv1.WebhookClientConfig{Service: service(nil, nil)}, "https://s.ns.svc:443/?timeout=5s", ""},
		{admissionregistrationv1.WebhookClientConfig{Service: service(new("c/d"), new(int32(8443)))}, "https://s.ns.svc:8443/c/d?timeout=5s", ""},
		{admissionregistrationv1.WebhookClientConfig{}, "", "webhook configuration must have either service or URL"},
		{admissionregistrationv1.WebhookClientConfig{URL: new("http://s3cret")}, "", "clientConfig.url: is no URL of https"},
		{admissionregistrationv1.WebhookClientConfig{URL: new("https://%s3cret")}, "", "clientConfig.url: is no URL of https"},
		{admissionregistrationv1.WebhookClientConfig{URL: new("https://a"), CABundle: []byte("s3cret")}, "", "clientConfig.caBundle has no certificate (BEGIN CERTIFICATE)"},
	} {
		_, url, err := NewConfigured(at, row.config, 5*time.Second, nil)
		if assert.Equal(t, row.url, url); row.fail != "" {
			assert.EqualError(t, err, row.fail)
		} else {
			assert.NoError(t, err)
		}
	}
}
