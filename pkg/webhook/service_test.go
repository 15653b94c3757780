package webhook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
