package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	authorization "k8s.io/api/authorization/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/authorizer/authorizertest"
)

const reviews = "/apis/authorization.k8s.io/v1/"

// ask asks what is the same for all authorizers.
func (s *server) ask(ctx context.Context, r *authorizertest.Recording) error {
	for i := range r.Reviews {
		if err := s.review(ctx, &r.Reviews[i]); err != nil {
			return fmt.Errorf("review %d: %w", i, err)
		}
	}
	for i := range r.Rules {
		if err := s.rules(ctx, &r.Rules[i]); err != nil {
			return fmt.Errorf("rules %d: %w", i, err)
		}
	}
	for i := range r.Requests {
		request := &r.Requests[i]
		var err error
		if request.Code, request.Message, err = s.send(ctx, &request.Who, request.Method, request.URL, nil, nil); err != nil {
			return err
		}
		if request.Code != http.StatusForbidden {
			request.Code, request.Message = http.StatusOK, "" // what is behind authorization is of no interest
		}
	}
	return nil
}

func (s *server) review(ctx context.Context, r *authorizertest.Review) error {
	review := authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{User: r.User, Groups: r.Groups}}
	if a := r.Attributes(r.Who); a.IsResource {
		review.Spec.ResourceAttributes = &authorization.ResourceAttributes{Verb: a.Verb, Group: a.APIGroup, Resource: a.Resource,
			Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name}
	} else {
		review.Spec.NonResourceAttributes = &authorization.NonResourceAttributes{Verb: a.Verb, Path: a.Path}
	}
	if err := s.must(ctx, http.MethodPost, reviews+"subjectaccessreviews", review, &review); err != nil {
		return err
	}
	r.Allowed, r.Denied, r.Reason, r.Error = review.Status.Allowed, review.Status.Denied, review.Status.Reason, review.Status.EvaluationError
	return nil
}

// rules asks in the name of whom it is about, who may do that.
func (s *server) rules(ctx context.Context, r *authorizertest.RulesReview) error {
	review := authorization.SelfSubjectRulesReview{Spec: authorization.SelfSubjectRulesReviewSpec{Namespace: r.Namespace}}
	code, message, err := s.send(ctx, &r.Who, http.MethodPost, reviews+"selfsubjectrulesreviews", review, &review)
	if err != nil {
		return err
	}
	if code != http.StatusCreated {
		return fmt.Errorf("%s: %d: %s", r.User, code, message)
	}
	var rules []authorizer.Rule
	for _, rule := range review.Status.ResourceRules {
		rules = append(rules, authorizer.Rule{Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames})
	}
	for _, rule := range review.Status.NonResourceRules {
		rules = append(rules, authorizer.Rule{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
	}
	r.Rules, r.Incomplete, r.Error = authorizertest.Sorted(rules), review.Status.Incomplete, review.Status.EvaluationError
	return nil
}

// object is what is needed to send one.
type object struct {
	Kind     string
	Metadata struct{ Namespace string }
}

// collectionOf returns the path of the collection of an object of RBAC.
func collectionOf(text json.RawMessage) (string, error) {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return "", err
	}
	resource, ok := map[string]string{"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "Role": "roles", "RoleBinding": "rolebindings"}[o.Kind]
	if !ok {
		return "", fmt.Errorf("%q is no kind of RBAC", o.Kind)
	}
	if o.Metadata.Namespace != "" {
		resource = "namespaces/" + o.Metadata.Namespace + "/" + resource
	}
	return "/apis/rbac.authorization.k8s.io/v1/" + resource, nil
}
