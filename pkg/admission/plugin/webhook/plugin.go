// Package webhook has the plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook of today's
// server. They let other servers change or refuse objects, by an AdmissionReview of
// admission.k8s.io.
//
// The webhooks are those of the objects of a kind of admissionregistration.k8s.io/v1,
// MutatingWebhookConfiguration or ValidatingWebhookConfiguration: first those in the configuration of the
// plugin, which is one object or a list of them, then those in the store, sorted by name. Those of one
// object are called in its order.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/admission/plugin/expressions"
	"kube2014/pkg/admission/plugin/matching"
	"kube2014/pkg/api/v1/validation/webhooks"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/util/services"
)

// The names of the plugins.
const (
	NameMutating   = "MutatingAdmissionWebhook"
	NameValidating = "ValidatingAdmissionWebhook"
)

// Call describes a call of a webhook for metrics.
type Call struct {
	Name      string // of the webhook
	Type      string // admit or validating
	Operation admission.Operation
	Took      time.Duration
	Rejected  bool   // the request was refused
	ErrorType string // no_error if the webhook refused it, else calling_webhook_error or apiserver_internal_error
	Code      int    // of the refusal or of the failed call; otherwise 200
	FailOpen  bool   // the webhook failed, and the request was admitted
}

// Observe sets the function that is called after each call of a webhook, if the plugin is one of this
// package. It must be called before the first request. The function is called concurrently.
func Observe(plugin admission.Interface, observe func(Call)) {
	if p, ok := plugin.(interface{ set(func(Call)) }); ok {
		p.set(observe)
	}
}

// WantsServices is a plugin that needs the addresses of services before the first request.
type WantsServices interface {
	SetServices(services.Resolver)
}

// NewMutating creates the plugin that may change objects. It is an admission.Factory.
func NewMutating(configuration json.RawMessage) (admission.Interface, error) {
	p := newCommon(string(admission.Admit), "MutatingWebhookConfiguration", "mutatingwebhookconfigurations")
	return &mutating{p}, configure[admissionregistrationv1.MutatingWebhookConfiguration](p, configuration)
}

// NewValidating creates the plugin that checks objects. It is an admission.Factory.
func NewValidating(configuration json.RawMessage) (admission.Interface, error) {
	p := newCommon("validating", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations")
	return &validating{p}, configure[admissionregistrationv1.ValidatingWebhookConfiguration](p, configuration)
}

// common is the common part of both plugins.
type common struct {
	callType string
	kind     schema.GroupVersionKind // of the configurations
	file     []*hook                 // those of the configuration of the plugin
	stored   *plugin.Compiled[*hook]
	observe  func(Call) // may be nil

	objects storage.Interface // nil for none, in tests
	matcher matching.Matcher
	resolve services.Resolver
	rights  authorizer.Authorizer
}

var (
	_ plugin.WantsObjects        = (*common)(nil)
	_ plugin.WantsAuthorizer     = (*common)(nil)
	_ plugin.ReadsOnce           = (*common)(nil)
	_ WantsServices              = (*common)(nil)
	_ admission.SkipsNamespaces  = (*common)(nil)
	_ admission.SelectsResources = (*common)(nil)
)

func newCommon(callType, kind, resource string) *common {
	p := &common{callType: callType, kind: admissionregistrationv1.SchemeGroupVersion.WithKind(kind), resolve: noServices}
	p.stored = plugin.NewCompiled(resource, p.kind, p.storedHooks)
	return p
}

// noServices resolves nothing, at a server without today's API.
func noServices(context.Context, string, string, int32) ([]string, error) {
	return nil, errors.New("this server has no services")
}

func (p *common) set(observe func(Call)) { p.observe = observe }

// SetObjects implements plugin.WantsObjects.
func (p *common) SetObjects(_, untraced storage.Interface, catalogs rest.Catalogs) {
	p.objects, p.stored.Store, p.matcher = untraced, untraced, matching.NewMatcher(untraced, catalogs)
}

// SetAuthorizer implements plugin.WantsAuthorizer.
func (p *common) SetAuthorizer(of authorizer.Authorizer) { p.rights = of }

// SetServices implements WantsServices.
func (p *common) SetServices(resolve services.Resolver) { p.resolve = resolve }

// ReadOnce implements plugin.ReadsOnce.
func (p *common) ReadOnce() error {
	_, err := p.hooks()
	return err
}

// hooks returns the webhooks of now, in their order.
func (p *common) hooks() ([]*hook, error) {
	if p.objects == nil {
		return p.file, nil
	}
	stored, err := p.stored.Now()
	if err != nil {
		return nil, err
	}
	if len(p.file) == 0 {
		return stored.All, nil
	}
	return slices.Concat(p.file, stored.All), nil
}

// Handles implements admission.Interface.
func (p *common) Handles(operation admission.Operation) bool {
	hooks, err := p.hooks()
	return err != nil || slices.ContainsFunc(hooks, func(h *hook) bool { return h.criteria.Handles(operation) })
}

// Idle implements admission.SkipsNamespaces.
func (p *common) Idle(string) bool {
	hooks, err := p.hooks()
	return err == nil && len(hooks) == 0
}

// Selects implements admission.SelectsResources. Nobody's webhook can keep itself, or a policy, from being changed.
func (*common) Selects(resource schema.GroupResource, _ string) bool {
	return resource.Group != admissionregistrationv1.GroupName
}

// matches reports whether a webhook must be called for a change, and what it is to see of it.
func (p *common) matches(ctx context.Context, h *hook, a *admission.Attributes) (view matching.View, matches bool, err error) {
	in, matches, err := p.matcher.Match(&h.criteria, a)
	if err != nil || !matches {
		return view, false, err
	}
	if view, err = p.matcher.View(in, a); err != nil {
		return view, false, apierrors.NewInternalError(err)
	}
	matches, err = p.meets(ctx, h, view, a)
	return view, matches, err
}

// newConditions compiles the conditions of a webhook.
func newConditions(w *admissionregistrationv1.MutatingWebhook) (all expressions.Conditions) {
	for i := range w.MatchConditions {
		all = append(all, webhooks.Compiler().CompileCELExpression((*matchconditions.MatchCondition)(&w.MatchConditions[i]), webhooks.Variables, environment.StoredExpressions))
	}
	return all
}

// meets reports whether a change meets the conditions of a webhook. If they cannot be evaluated, the failure policy applies.
func (p *common) meets(ctx context.Context, h *hook, view matching.View, a *admission.Attributes) (bool, error) {
	if len(h.conditions) == 0 {
		return true, nil
	}
	in, err := expressions.NewInput(ctx, expressions.NewChange(view, a, nil, p.rights), nil, nil)
	if err != nil {
		return false, err
	}
	meets, err := in.Meets(h.conditions)
	if err != nil && !h.failOpen {
		return false, admission.Forbidden(a, err)
	}
	return meets, nil
}
