package expressions

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiuser "k8s.io/apiserver/pkg/authentication/user"
	apiauthorizer "k8s.io/apiserver/pkg/authorization/authorizer"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/matching"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// rights lets expressions ask the server's authorizer.
type rights struct{ authorizer.Authorizer }

// Authorize implements the interface of the library.
func (r rights) Authorize(ctx context.Context, a apiauthorizer.Attributes) (apiauthorizer.Decision, string, error) {
	who := a.GetUser()
	decision, why, err := r.Authorizer.Authorize(ctx, authorizer.Attributes{
		User: &user.Info{Name: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: who.GetExtra()},
		Verb: a.GetVerb(), IsResource: a.IsResourceRequest(), APIGroup: a.GetAPIGroup(), APIVersion: a.GetAPIVersion(), Resource: a.GetResource(),
		Subresource: a.GetSubresource(), Namespace: a.GetNamespace(), Name: a.GetName(), Path: a.GetPath(),
	})
	if decision == authorizer.Allow {
		return apiauthorizer.DecisionAllow, why, err
	}
	return apiauthorizer.DecisionNoOpinion, why, err
}

func userOf(a *admission.Attributes) apiuser.Info {
	return &apiuser.DefaultInfo{Name: a.User.Name, UID: a.User.UID, Groups: a.User.Groups, Extra: a.User.Extra}
}

// requested is the resource of a request, as the library asks for it.
type requested struct{ of *admission.Attributes }

func (r requested) GetName() string                          { return r.of.Name }
func (r requested) GetNamespace() string                     { return matching.NamespaceOf(r.of) }
func (r requested) GetResource() schema.GroupVersionResource { return r.of.Resource }
func (r requested) GetSubresource() string                   { return r.of.Subresource }
