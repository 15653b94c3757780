package policy

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/admission/plugin/expressions"
)

// mutating is the plugin MutatingAdmissionPolicy.
type mutating struct{ *common }

// Handles implements admission.Interface. A delete has no object to change, and what connects has only options.
func (*mutating) Handles(operation admission.Operation) bool {
	return admission.Writes.Handles(operation)
}

// Admit implements admission.MutationInterface. One policy after another changes the object; those that fail are told together.
func (p *mutating) Admit(ctx context.Context, a *admission.Attributes) error {
	uses, err := p.uses(a)
	if err != nil {
		return err
	}
	state := admission.Memory[plugin.Reinvocation[useKey]](a, p)
	state.Begin(a)
	defer state.End(a)
	before, problems := a.Object, failures{}
	for _, u := range uses {
		if u.wrong != nil {
			problems.add(u, u.wrong, "")
		}
	}
	for _, u := range uses {
		if u.wrong != nil {
			continue
		}
		errs := p.change(ctx, u, a, state)
		if err := inTime(ctx); err != nil {
			return err
		}
		for _, err := range errs {
			if status := (*apierrors.StatusError)(nil); errors.As(err, &status) {
				return err
			}
			problems.add(u, err, metav1.StatusReasonInvalid)
		}
	}
	if a.Object != before { // as in today's server, also a policy to be called again that was the last
		state.Changed()
		a.Reinvoke()
	}
	return problems.status(a)
}

// change lets a policy change the object. A mutation that fails changes nothing.
func (p *mutating) change(ctx context.Context, u use, a *admission.Attributes, state *plugin.Reinvocation[useKey]) (errs []error) {
	in, change, err := p.input(ctx, u, a)
	if err != nil {
		return []error{err}
	}
	switch meets, err := in.Meets(u.conditions); {
	case err != nil:
		return []error{err}
	case !meets, a.Reinvoked() && !state.Again[u.key()]:
		return nil
	case u.ifNeeded:
		state.Called[u.key()] = true
	}
	for i := range u.mutations {
		if err := p.mutate(&u.mutations[i], in, change, a); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// mutate replaces the object of a change, also for the expressions that follow.
func (p *mutating) mutate(m *mutation, in *expressions.Input, change *expressions.Change, a *admission.Attributes) error {
	object, err := p.patch(m, in, change, a)
	if err == nil {
		err = p.matcher.Replace(object, change.Version, a)
	}
	if err != nil {
		return err
	}
	view, err := p.matcher.View(change.Version, a)
	if err == nil {
		in.SetObject(view.Object)
	}
	return err
}

// failures are the errors of policies, of which the failure policy is *Fail*.
type failures struct {
	all    []metav1.StatusCause
	reason metav1.StatusReason // of the first
}

func (f *failures) add(u use, err error, reason metav1.StatusReason) {
	if u.failOpen {
		return
	}
	message := fmt.Sprintf("policy %q denied request: %s", u.name, err)
	if u.binding != nil {
		message = fmt.Sprintf("policy '%s' with binding '%s' denied request: %s", u.name, u.binding.name, err)
	}
	if len(f.all) == 0 {
		f.reason = reason
	}
	f.all = append(f.all, metav1.StatusCause{Message: message})
}

// status returns the error of the request, in the form of today's server: its code is that of a forbidden request, whatever the reason.
func (f *failures) status(a *admission.Attributes) error {
	if len(f.all) == 0 {
		return nil
	}
	err := admission.Forbidden(a, errors.New("admission request denied by policy")).(*apierrors.StatusError)
	err.ErrStatus.Message = f.all[0].Message
	if f.reason != "" {
		err.ErrStatus.Reason = f.reason
	}
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, f.all...)
	return err
}

// useKey tells the uses of a request apart.
type useKey struct {
	policy, binding string
	params          types.NamespacedName
}

func (u use) key() useKey {
	key := useKey{policy: u.name, binding: u.binding.name}
	if u.params != nil {
		if of, err := meta.Accessor(u.params); err == nil {
			key.params = types.NamespacedName{Namespace: of.GetNamespace(), Name: of.GetName()}
		}
	}
	return key
}
