package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/util/pems"
	"kube2014/pkg/util/services"
)

// NewConfigured returns a client of the server that the configuration of a webhook names, and its URL. The query tells the
// server the timeout of each call. An error names a field at the path, and contains no values. The host of a service in the URL is
// SERVICE.NAMESPACE.svc, the name in the certificate of the server; each connection goes to one of its addresses of that time.
func NewConfigured(at *field.Path, config admissionregistrationv1.WebhookClientConfig, timeout time.Duration, resolve services.Resolver) (*Client, string, error) {
	var authorities *x509.CertPool // nil for those of the system
	if len(bytes.TrimSpace(config.CABundle)) > 0 {
		var err error
		if authorities, err = pems.Pool(at.Child("caBundle").String(), config.CABundle); err != nil {
			return nil, "", err
		}
	}
	target := &url.URL{Scheme: "https", RawQuery: url.Values{"timeout": {timeout.String()}}.Encode()}
	service := config.Service
	if service == nil {
		if config.URL == nil {
			return nil, "", errors.New("webhook configuration must have either service or URL")
		}
		given, err := url.Parse(*config.URL)
		if err != nil || given.Scheme != "https" {
			return nil, "", fmt.Errorf("%s: is no URL of https", at.Child("url"))
		}
		target.Host, target.Path = given.Host, path.Join("/", given.Path) // as today's server does: envtest has //
		return NewAt(target.String(), authorities), target.String(), nil
	}
	port := int32(443)
	if service.Port != nil {
		port = cmp.Or(*service.Port, port)
	}
	target.Host = services.Address(service.Name+"."+service.Namespace+".svc", port)
	target.Path = "/"
	if service.Path != nil {
		target.Path = path.Join("/", *service.Path)
	}
	client := NewAt(target.String(), authorities)
	dial, namespace, name := client.http.DialContext, service.Namespace, service.Name
	client.http.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) { // the address of now
		addresses, err := resolve(ctx, namespace, name, port)
		if err != nil {
			return nil, err
		}
		return dial(ctx, network, services.Any(addresses))
	}
	return client, target.String(), nil
}
