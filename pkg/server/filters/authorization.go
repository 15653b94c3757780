package filters

import (
	"log"
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util"
)

// WithAuthorization answers 403 unless the authorizer allows a request.
func WithAuthorization(next http.Handler, rights authorizer.Authorizer) http.Handler {
	if rights == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		wanted := attributes(req, request.UserFrom(req.Context()))
		reason, err := authorize(req, rights, wanted)
		if wanted.Verb == "update" || wanted.Verb == "patch" || request.RecordOf(req.Context()).Info.Connects() {
			request.RecordOf(req.Context()).Authorize = func(verb string) error {
				wanted.Verb = verb
				_, err := authorize(req, rights, wanted)
				return err
			}
		}
		observer := request.ObserverFrom(req.Context())
		if err != nil {
			observer.Annotate("authorization.k8s.io/decision", "forbid")
			observer.Annotate("authorization.k8s.io/reason", reason)
			fail(w, req, err)
			return
		}
		observer.Annotate("authorization.k8s.io/decision", "allow")
		observer.Annotate("authorization.k8s.io/reason", reason)
		next.ServeHTTP(w, req)
	})
}

// authorize returns the reason of the decision, and an error unless that is Allow.
func authorize(req *http.Request, rights authorizer.Authorizer, wanted authorizer.Attributes) (reason string, err error) {
	decision, reason, err := rights.Authorize(req.Context(), wanted)
	if decision == authorizer.Allow {
		return reason, nil
	}
	if err != nil {
		log.Printf("%s %s: not authorized: %s", util.Loggable(req.Method), util.Loggable(req.RequestURI), api.Line(err.Error()))
	}
	denied := &authorizer.Denied{Attributes: wanted, Reason: reason}
	return reason, &api.Error{Kind: api.Forbidden, Message: denied.Error(), Err: denied}
}

// attributes returns the attributes of a request for an authorizer.
func attributes(req *http.Request, who *user.Info) authorizer.Attributes {
	info := &request.RecordOf(req.Context()).Info
	wanted := authorizer.Attributes{User: who, Verb: info.Verb, IsResource: info.IsResource, APIGroup: info.APIGroup, APIVersion: info.APIVersion,
		Resource: info.Resource, Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name, Path: info.Path}
	if info.Selects && req.URL.RawQuery != "" {
		addSelectors(&wanted, req.URL.Query())
	}
	if info.Resource == "namespaces" && info.APIGroup == "" && info.Namespace == "" {
		wanted.Namespace = info.Name // a namespace object is in the namespace of its name, as in today's server
	}
	return wanted
}

// addSelectors adds the selectors of a query. The name that a list or a watch requires is that of the request; it does not permit to
// delete a collection. What cannot be parsed selects nothing.
func addSelectors(wanted *authorizer.Attributes, query url.Values) {
	wanted.FieldSelector, _ = authorizer.ParseFieldSelector(query.Get("fieldSelector"))
	wanted.LabelSelector, _ = authorizer.ParseLabelSelector(query.Get("labelSelector"))
	if wanted.Verb == "deletecollection" || wanted.Name != "" {
		return
	}
	for _, required := range wanted.FieldSelector {
		if required.Key == "metadata.name" && required.Operator == metav1.FieldSelectorOpIn {
			if name := required.Values[0]; len(content.IsPathSegmentName(name)) == 0 {
				wanted.Name = name
			}
			return
		}
	}
}
