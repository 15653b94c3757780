package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/util/pems"
	"kube2014/pkg/webhook"
)

const (
	defaultTimeout = 10 // seconds
	maxTimeout     = 30 // seconds
	maxAnswer      = 6 << 20
)

// hook is a webhook.
type hook struct {
	name          string
	configuration string // the name of its object of the configuration
	post          func(ctx context.Context, review, answer any) error
	rules         []admissionregistrationv1.RuleWithOperations
	namespaces    labels.Selector
	objects       labels.Selector
	failOpen      bool // a request is admitted if the webhook fails
	ifNeeded      bool // it is called again after later changes by others
}

// addHooks adds the hooks of one object of the configuration.
func addHooks(hooks []*hook, path *field.Path, name string, configured []admissionregistrationv1.MutatingWebhook) ([]*hook, error) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, wrong(path.Child("metadata", "name"), "is no name")
	}
	if slices.ContainsFunc(hooks, func(other *hook) bool { return other.configuration == name }) {
		return nil, wrong(path.Child("metadata", "name"), "is also that of another object")
	}
	for i := range configured {
		at := path.Child("webhooks").Index(i)
		hasName := func(other admissionregistrationv1.MutatingWebhook) bool { return other.Name == configured[i].Name }
		if slices.ContainsFunc(configured[:i], hasName) {
			return nil, wrong(at.Child("name"), "is also that of another webhook")
		}
		h, err := newHook(at, &configured[i])
		if err != nil {
			return nil, err
		}
		h.configuration = name
		hooks = append(hooks, h)
	}
	return hooks, nil
}

// newHook returns the webhook at a path of the configuration. The error names the field, and contains
// no values.
func newHook(at *field.Path, w *admissionregistrationv1.MutatingWebhook) (*hook, error) {
	h := &hook{name: w.Name, rules: w.Rules}
	h.failOpen = w.FailurePolicy != nil && *w.FailurePolicy == admissionregistrationv1.Ignore
	h.ifNeeded = w.ReinvocationPolicy != nil && *w.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy
	if err := checkNameAndPolicies(at, w); err != nil {
		return nil, err
	}
	for i := range w.Rules {
		if err := checkRule(at.Child("rules").Index(i), &w.Rules[i]); err != nil {
			return nil, err
		}
	}
	var err error
	if h.namespaces, err = selector(at.Child("namespaceSelector"), w.NamespaceSelector); err != nil {
		return nil, err
	}
	if h.objects, err = selector(at.Child("objectSelector"), w.ObjectSelector); err != nil {
		return nil, err
	}
	timeout := int32(defaultTimeout)
	if w.TimeoutSeconds != nil {
		timeout = *w.TimeoutSeconds
	}
	if timeout < 1 || timeout > maxTimeout {
		return nil, wrong(at.Child("timeoutSeconds"), fmt.Sprintf("is not between 1 and %d", maxTimeout))
	}
	if h.post, err = client(at.Child("clientConfig"), &w.ClientConfig, time.Duration(timeout)*time.Second); err != nil {
		return nil, err
	}
	return h, nil
}

// client returns a function that calls the server of a webhook once.
func client(at *field.Path, config *admissionregistrationv1.WebhookClientConfig, timeout time.Duration) (func(context.Context, any, any) error, error) {
	switch {
	case config.Service != nil:
		return nil, wrong(at.Child("service"), "is not supported: only a url is")
	case config.URL == nil:
		return nil, wrong(at.Child("url"), "is missing")
	}
	target, err := url.Parse(*config.URL)
	switch {
	case err != nil, target.Scheme != "https", target.Host == "":
		return nil, wrong(at.Child("url"), "is no URL of the form https://host[/path]")
	case target.User != nil:
		return nil, wrong(at.Child("url"), "has a user")
	case target.Fragment != "":
		return nil, wrong(at.Child("url"), "has a fragment")
	case target.RawQuery != "":
		return nil, wrong(at.Child("url"), "has a query")
	}
	target.RawQuery = "timeout=" + timeout.String() // as today's server does
	var authorities *x509.CertPool                  // nil for those of the system
	if config.CABundle != nil {
		if authorities, err = pems.Pool(at.Child("caBundle").String(), config.CABundle); err != nil {
			return nil, err
		}
	}
	server := webhook.NewAt(target.String(), authorities)
	return func(ctx context.Context, review, answer any) error {
		return server.PostOnce(ctx, timeout, maxAnswer, review, answer)
	}, nil
}

func selector(at *field.Path, of *metav1.LabelSelector) (labels.Selector, error) {
	if of == nil {
		return labels.Everything(), nil
	}
	if errs := metav1validation.ValidateLabelSelector(of, metav1validation.LabelSelectorValidationOptions{}, at); len(errs) > 0 {
		return nil, fmt.Errorf("%s: is wrong", errs[0].Field)
	}
	return metav1.LabelSelectorAsSelector(of)
}

// wrong returns the error of a field. Why must not contain its value.
func wrong(at *field.Path, why string) error { return errors.New(at.String() + ": " + why) }
