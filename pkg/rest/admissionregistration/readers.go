package admissionregistration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// Readers decides who may make objects the parameters of policies, which may tell what is in them: who may read them, and
// the members of system:masters. All fields must be set. It is safe for concurrent use.
type Readers struct {
	Authorizer authorizer.Authorizer
	Catalogs   rest.Catalogs
}

// permission returns an error if the caller may not store a valid object. Old is nil for a new one.
type permission func(ctx context.Context, now, old rest.Object) *field.Error

// ofPolicy is the permission for a policy: the caller must be allowed to read all objects of its kind of parameters, if that is another one than before.
func (r *Readers) ofPolicy(ctx context.Context, now, old rest.Object) *field.Error {
	kind, before := paramKindOf(now), paramKindOf(old)
	if kind == nil || before != nil && *kind == *before {
		return nil
	}
	wanted := authorizer.Attributes{Verb: "get", Name: "*", Namespace: "*"}
	_ = r.find(kind, &wanted) // as in today's server, an unknown kind is no mistake
	mayRead, err := r.mayRead(ctx, wanted)
	if err == nil && !mayRead {
		err = fmt.Errorf(`user %q must have "get" permission on all objects of the referenced paramKind (kind=%s, apiVersion=%s)`, request.UserFrom(ctx).Name, kind.Kind, kind.APIVersion)
	}
	return forbidden("paramKind", err)
}

// ofBinding returns the permission for a binding to one of the policies: the caller must be allowed to read its parameters. As in today's
// server, that is so for each update.
func (r *Readers) ofBinding(policies rest.Getter) permission {
	return func(ctx context.Context, now, _ rest.Object) *field.Error {
		name, ref := refOf(now)
		if ref == nil {
			return nil
		}
		wanted := authorizer.Attributes{Verb: "get", Name: ref.Name, Namespace: ref.Namespace}
		if ref.Name == "" {
			wanted.Verb = "list"
		}
		unknown := r.findOfPolicy(ctx, policies, name, &wanted)
		mayRead, err := r.mayRead(ctx, wanted)
		switch who := request.UserFrom(ctx).Name; {
		case err != nil:
			err = fmt.Errorf("failed to authorize request: %w", err)
		case mayRead:
		case unknown != nil:
			err = fmt.Errorf(`%w to determine minimum required permissions and user %q does not have "%s" permission for all groups, versions and resources`, unknown, who, wanted.Verb)
		default:
			err = fmt.Errorf(`user %q does not have "%s" permission on the object referenced by paramRef`, who, wanted.Verb)
		}
		return forbidden("paramRef", err)
	}
}

// findOfPolicy is find for the kind of the parameters of a policy.
func (r *Readers) findOfPolicy(ctx context.Context, policies rest.Getter, name string, wanted *authorizer.Attributes) error {
	var policy rest.Object
	answer, err := policies.Get(ctx, rest.Key{Name: name})
	if err == nil {
		object, readErr := answer.Object()
		policy, _ = object.(rest.Object)
		err = readErr
	}
	kindErr := r.find(paramKindOf(policy), wanted)
	if err != nil {
		return fmt.Errorf("unable to get policy %s", name)
	}
	return kindErr
}

// find sets the resource of a kind, "*" for what is not known. The kind may be nil.
func (r *Readers) find(kind *admissionregistrationv1.ParamKind, wanted *authorizer.Attributes) error {
	wanted.APIGroup, wanted.APIVersion, wanted.Resource = "*", "*", "*"
	if kind == nil {
		return nil
	}
	version, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return fmt.Errorf("unable to parse paramKind %s, Kind=%s", kind.APIVersion, kind.Kind)
	}
	wanted.APIGroup, wanted.APIVersion = version.Group, version.Version
	for row := range r.Catalogs.Rows() {
		if row.GroupVersion == version && row.Kind == version.WithKind(kind.Kind) && !strings.Contains(row.Name, "/") {
			wanted.Resource = row.Name
			return nil
		}
	}
	return fmt.Errorf("unable to resolve paramKind %s, Kind=%s", kind.APIVersion, kind.Kind)
}

func (r *Readers) mayRead(ctx context.Context, wanted authorizer.Attributes) (bool, error) {
	wanted.User, wanted.IsResource = request.UserFrom(ctx), true
	if slices.Contains(wanted.User.Groups, user.Masters) {
		return true, nil
	}
	decision, _, err := r.Authorizer.Authorize(ctx, wanted)
	return decision == authorizer.Allow, err
}

func forbidden(name string, why error) *field.Error {
	if why == nil {
		return nil
	}
	return field.Forbidden(field.NewPath("spec", name), why.Error())
}

// paramKindOf returns the kind of the parameters of a policy, nil for none or without a policy.
func paramKindOf(policy rest.Object) *admissionregistrationv1.ParamKind {
	switch policy := policy.(type) {
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		return policy.Spec.ParamKind
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return policy.Spec.ParamKind
	}
	return nil
}

func refOf(binding rest.Object) (policy string, ref *admissionregistrationv1.ParamRef) {
	switch binding := binding.(type) {
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		return binding.Spec.PolicyName, binding.Spec.ParamRef
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		return binding.Spec.PolicyName, binding.Spec.ParamRef
	}
	return "", nil
}
