package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/expressions"
	"kube2014/pkg/admission/plugin/matching"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/webhooks"
	"kube2014/pkg/webhook"
)

const maxAnswer = 6 << 20

// hook is a webhook.
type hook struct {
	name          string
	configuration string // the name of its object
	version       string // of its reviews
	post          func(ctx context.Context, review, answer any) error
	criteria      matching.Criteria
	conditions    expressions.Conditions
	failOpen      bool // a request is admitted if the webhook fails
	ifNeeded      bool // it is called again after later changes by others
	hasEffects    bool // also in a dry run, which it cannot be asked about
}

// configure adds the webhooks of the objects in the configuration of the plugin. The error names a field.
func configure[T any, P interface {
	*T
	admission.Object
}](p *common, configuration json.RawMessage) error {
	configured, err := admission.ObjectsIn[T, P](configuration, p.kind)
	for i := 0; i < len(configured) && err == nil; i++ {
		object := P(&configured[i].Object)
		err = p.add(configured[i].Path, object.GetName(), webhooksIn(object))
	}
	return err
}

// webhooksIn returns the webhooks of a configuration.
func webhooksIn(configuration runtime.Object) []admissionregistrationv1.MutatingWebhook {
	switch of := configuration.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return of.Webhooks
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return webhooks.OfValidating(of.Webhooks)
	}
	return nil
}

// add adds the webhooks of one object, at a path.
func (p *common) add(path *field.Path, name string, configured []admissionregistrationv1.MutatingWebhook) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return wrong(path.Child("metadata", "name"), "is no name")
	}
	if slices.ContainsFunc(p.file, func(other *hook) bool { return other.configuration == name }) {
		return wrong(path.Child("metadata", "name"), "is also that of another object")
	}
	var c check.Errors
	for i := range configured {
		webhooks.Default(&configured[i])
	}
	if webhooks.Check(&c, path.Child("webhooks"), configured); len(c.List) > 0 {
		return withoutValues(c.List[0])
	}
	for i := range configured {
		h, err := p.newHook(path.Child("webhooks").Index(i), name, &configured[i])
		if err != nil {
			return err
		}
		p.file = append(p.file, h)
	}
	return nil
}

// storedHooks returns the webhooks of a stored configuration, which may be one that is not valid.
func (p *common) storedHooks(configuration runtime.Object) (hooks []*hook) {
	of := webhooksIn(configuration)
	for i := range of {
		h, err := p.newHook(field.NewPath("webhooks").Index(i), configuration.(admission.Object).GetName(), &of[i])
		if err != nil {
			h.fails(err)
		}
		hooks = append(hooks, h)
	}
	return hooks
}

// withoutValues returns an error that tells only what is wrong: a value, also one that a text repeats, may be a secret.
func withoutValues(of *field.Error) error {
	why := of.Type.String()
	if of.Type == field.ErrorTypeNotSupported {
		why += ": " + of.Detail
	}
	return wrong(field.NewPath(of.Field), why)
}

// newHook returns the webhook at a path, which gets its defaults. The error names a field, and contains no values. A webhook with
// an error is complete but for its selectors and how to call it.
func (p *common) newHook(at *field.Path, configuration string, w *admissionregistrationv1.MutatingWebhook) (*hook, error) {
	webhooks.Default(w)
	h := &hook{name: w.Name, configuration: configuration, conditions: newConditions(w)}
	h.criteria.Equivalent = *w.MatchPolicy == admissionregistrationv1.Equivalent
	for _, rule := range w.Rules {
		h.criteria.Rules = append(h.criteria.Rules, matching.Rule{RuleWithOperations: rule})
	}
	h.failOpen = *w.FailurePolicy == admissionregistrationv1.Ignore
	h.ifNeeded = *w.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy
	h.hasEffects = w.SideEffects == nil || *w.SideEffects != admissionregistrationv1.SideEffectClassNone && *w.SideEffects != admissionregistrationv1.SideEffectClassNoneOnDryRun
	for _, version := range slices.Backward(w.AdmissionReviewVersions) { // the first that is known
		if slices.Contains(webhooks.ReviewVersions, version) {
			h.version = version
		}
	}
	if h.version == "" {
		return h, wrong(at.Child("admissionReviewVersions"), "has none that is known here")
	}
	var err error
	if h.criteria.Namespaces, err = selector(at.Child("namespaceSelector"), w.NamespaceSelector); err != nil {
		return h, err
	}
	if h.criteria.Objects, err = selector(at.Child("objectSelector"), w.ObjectSelector); err != nil {
		return h, err
	}
	timeout := time.Duration(min(*w.TimeoutSeconds, webhooks.MaxTimeout)) * time.Second
	server, _, err := webhook.NewConfigured(at.Child("clientConfig"), w.ClientConfig, timeout, func(ctx context.Context, namespace, name string, port int32) ([]string, error) {
		return p.resolve(ctx, namespace, name, port) // which is set after the configuration of the plugin is read
	})
	if err != nil {
		return h, err
	}
	h.post = func(ctx context.Context, review, answer any) error {
		return server.PostOnce(ctx, timeout, maxAnswer, review, answer)
	}
	return h, nil
}

// fails lets each call fail, whatever the selectors are.
func (h *hook) fails(why error) {
	log.Printf("the admission webhook %q of %q cannot be called: %v", h.name, h.configuration, why)
	h.criteria.Namespaces, h.criteria.Objects = labels.Everything(), labels.Everything()
	h.post = func(context.Context, any, any) error { return why }
}

func selector(at *field.Path, of *metav1.LabelSelector) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil {
		return nil, wrong(at, "is wrong")
	}
	return selector, nil
}

// wrong returns the error of a field. Why must not contain its value.
func wrong(at *field.Path, why string) error { return errors.New(at.String() + ": " + why) }
