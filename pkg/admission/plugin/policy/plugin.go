// Package policy has the plugins MutatingAdmissionPolicy and ValidatingAdmissionPolicy of today's server. They change or refuse objects by
// the CEL expressions of policies, which are objects of admissionregistration.k8s.io/v1. A policy decides by its bindings: which say about
// what, and by which parameters.
package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/admission/plugin/expressions"
	"kube2014/pkg/admission/plugin/matching"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// The names of the plugins.
const (
	NameMutating   = "MutatingAdmissionPolicy"
	NameValidating = "ValidatingAdmissionPolicy"
)

// NewMutating creates the plugin that changes objects. It is an admission.Factory.
func NewMutating(configuration json.RawMessage) (admission.Interface, error) {
	p := &mutating{newCommon(NameMutating, "mutatingadmissionpolicies", "mutatingadmissionpolicybindings")}
	return p, plugin.CheckNoConfiguration(configuration, NameMutating)
}

// NewValidating creates the plugin that checks objects. It is an admission.Factory.
func NewValidating(configuration json.RawMessage) (admission.Interface, error) {
	p := &validating{newCommon(NameValidating, "validatingadmissionpolicies", "validatingadmissionpolicybindings")}
	return p, plugin.CheckNoConfiguration(configuration, NameValidating)
}

// common is the common part of both plugins.
type common struct {
	policies *plugin.Compiled[*policy]
	bindings *plugin.Compiled[*binding]
	latest   atomic.Pointer[bound]

	matcher matching.Matcher
	params  params
	rights  authorizer.Authorizer
}

// bound is the policies of one moment that have bindings. It is immutable.
type bound struct {
	policies *plugin.CompiledSet[*policy]
	bindings *plugin.CompiledSet[*binding]
	all      []boundPolicy
}

type boundPolicy struct {
	*policy
	bindings []*binding
}

var (
	_ plugin.WantsObjects        = (*common)(nil)
	_ plugin.WantsAuthorizer     = (*common)(nil)
	_ plugin.ReadsOnce           = (*common)(nil)
	_ admission.SkipsNamespaces  = (*common)(nil)
	_ admission.SelectsResources = (*common)(nil)
)

func newCommon(kind, policies, bindings string) *common {
	p := &common{
		policies: plugin.NewCompiled(policies, admissionregistrationv1.SchemeGroupVersion.WithKind(kind), newPolicy),
		bindings: plugin.NewCompiled(bindings, admissionregistrationv1.SchemeGroupVersion.WithKind(kind+"Binding"), newBinding),
	}
	p.latest.Store(&bound{})
	return p
}

// SetObjects implements plugin.WantsObjects.
func (p *common) SetObjects(_, untraced storage.Interface, catalogs rest.Catalogs) {
	p.policies.Store, p.bindings.Store = untraced, untraced
	p.matcher, p.params = matching.NewMatcher(untraced, catalogs), newParams(untraced, catalogs)
}

// SetAuthorizer implements plugin.WantsAuthorizer.
func (p *common) SetAuthorizer(of authorizer.Authorizer) { p.rights = of }

// ReadOnce implements plugin.ReadsOnce.
func (p *common) ReadOnce() error {
	_, err := p.bound()
	return err
}

// Idle implements admission.SkipsNamespaces.
func (p *common) Idle(string) bool {
	all, err := p.bound()
	return err == nil && len(all) == 0
}

// Selects implements admission.SelectsResources. Nobody's policy can keep a policy from being changed, or anybody from asking who and what he may be.
func (*common) Selects(resource schema.GroupResource, _ string) bool {
	switch resource.Group {
	case authenticationv1.GroupName, authorizationv1.GroupName:
		return false
	case admissionregistrationv1.GroupName:
		return resource.Resource == "mutatingwebhookconfigurations" || resource.Resource == "validatingwebhookconfigurations"
	}
	return true
}

// bound returns the policies of now that have bindings, sorted by name.
func (p *common) bound() ([]boundPolicy, error) {
	policies, err := p.policies.Now()
	if err != nil {
		return nil, err
	}
	bindings, err := p.bindings.Now()
	if err != nil {
		return nil, err
	}
	if last := p.latest.Load(); last.policies == policies && last.bindings == bindings {
		return last.all, nil
	}
	next, of := &bound{policies: policies, bindings: bindings}, map[string][]*binding{}
	for _, b := range bindings.All {
		of[b.policy] = append(of[b.policy], b)
	}
	for _, one := range policies.All {
		if len(of[one.name]) > 0 {
			next.all = append(next.all, boundPolicy{one, of[one.name]})
		}
	}
	p.latest.Store(next)
	return next.all, nil
}

// use is a policy that is to decide about a change by a binding, and by one of its parameters.
type use struct {
	*policy
	binding *binding // nil if the policy is wrong
	in      matching.Version
	params  runtime.Object // nil for none
	wrong   error          // why it cannot decide
}

// uses returns who is to decide about a change, in order. The error is that of the store.
func (p *common) uses(a *admission.Attributes) (all []use, err error) {
	policies, err := p.bound()
	if err != nil {
		return nil, err
	}
	reader := &paramReader{params: p.params}
	for _, one := range policies {
		wrong, in := one.broken, matching.Version{}
		if wrong == nil {
			var matches bool
			if in, matches, err = p.matcher.Match(&one.criteria, a); err != nil {
				return nil, err
			} else if !matches {
				continue
			}
			_, wrong = p.params.find(one.paramKind)
		}
		if wrong != nil {
			all = append(all, use{policy: one.policy, wrong: fmt.Errorf("failed to configure policy: %w", wrong)})
			continue
		}
		for _, b := range one.bindings {
			if b.broken == nil && b.criteria != nil {
				if _, matches, err := p.matcher.Match(b.criteria, a); err != nil {
					return nil, err
				} else if !matches {
					continue
				}
			}
			own := use{policy: one.policy, binding: b, in: in}
			params, wrong := reader.of(one.paramKind, b, a)
			if wrong == nil && len(params) > 0 {
				if _, err := p.matcher.View(in, a); err != nil {
					wrong = fmt.Errorf("failed to convert object version: %w", err)
				}
			}
			if wrong = cmp.Or(b.broken, wrong); wrong != nil {
				own.wrong = fmt.Errorf("failed to configure binding: %w", wrong)
				all = append(all, own)
				continue
			}
			for _, own.params = range params {
				all = append(all, own)
			}
		}
	}
	return all, nil
}

// input returns what the expressions of a use read. The error is about a conversion or the parameters.
func (p *common) input(ctx context.Context, u use, a *admission.Attributes) (*expressions.Input, *expressions.Change, error) {
	view, err := p.matcher.View(u.in, a)
	if err != nil {
		return nil, nil, err
	}
	change := expressions.NewChange(view, a, func() (*corev1.Namespace, error) { return p.matcher.Namespace(a) }, p.rights)
	in, err := expressions.NewInput(ctx, change, u.params, u.variables)
	return in, change, err
}

// inTime returns an error if the request has no time left: what its expressions say is not what they would have said.
func inTime(ctx context.Context) error {
	if ctx.Err() != nil {
		return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	}
	return nil
}
