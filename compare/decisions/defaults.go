package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/authorizer/authorizertest"
	rbacauthorizer "kube2014/pkg/auth/authorizer/rbac"
	"kube2014/pkg/rest/rbac"
	"kube2014/pkg/storage/memory"
)

// made is a role or a binding, as far as all servers make the same.
type made struct {
	Metadata struct {
		Namespace, Name     string
		Labels, Annotations map[string]string
	}
	Rules           []rbacv1.PolicyRule
	AggregationRule *rbacv1.AggregationRule
	RoleRef         rbacv1.RoleRef
	Subjects        []rbacv1.Subject
}

func (m made) String() string {
	return fmt.Sprintf("%s/%s of %q", m.Metadata.Namespace, m.Metadata.Name, m.RoleRef.Name)
}

// compareDefaults returns an error that names the roles and bindings that ours and a new server do not make alike, or
// what their subjects may do on one of them only.
func (s *server) compareDefaults(ctx context.Context) error {
	text, err := json.Marshal(rbac.Defaults())
	if err != nil {
		return err
	}
	var ours, theirs []made
	if err := json.Unmarshal(text, &ours); err != nil {
		return err
	}
	for _, resource := range []string{"clusterroles", "clusterrolebindings", "roles", "rolebindings"} {
		var list struct{ Items []made }
		if err := s.must(ctx, http.MethodGet, "/apis/rbac.authorization.k8s.io/v1/"+resource, nil, &list); err != nil {
			return err
		}
		theirs = append(theirs, list.Items...)
	}
	var wrong []string
	for _, pair := range [][2][]made{{ours, theirs}, {theirs, ours}} {
		for _, one := range pair[0] {
			if !slices.ContainsFunc(pair[1], func(other made) bool { return equality.Semantic.DeepEqual(one, other) }) {
				wrong = append(wrong, one.String())
			}
		}
	}
	asked, different, err := s.compareSubjects(ctx, ours)
	if wrong = append(wrong, different...); err == nil && len(wrong) > 0 {
		err = fmt.Errorf("the default roles and bindings are not the same: %q", wrong)
	}
	if err == nil {
		fmt.Printf("%d default roles and bindings: kube-apiserver makes the same, and answers %d questions about their subjects as this server does\n", len(ours), asked)
	}
	return err
}

// questions are asked about each subject of a default binding.
var questions = []authorizertest.What{
	{Verb: "get", Resource: "secrets", Namespace: "kube-system", Name: "x"}, {Verb: "list", Resource: "pods"}, {Verb: "delete", Resource: "pods", Namespace: "default"},
	{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "status", Namespace: "default"}, {Verb: "create", Resource: "events", Namespace: "default"},
	{Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system", Name: "kube-scheduler"}, {Verb: "patch", Resource: "nodes", Subresource: "status"},
	{Verb: "create", Resource: "pods", Subresource: "binding", Namespace: "default"}, {Verb: "get", Path: "/healthz"}, {Verb: "get", Path: "/metrics"},
	{Verb: "escalate", Group: rbacv1.GroupName, Resource: "clusterroles"}, {Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
}

// compareSubjects asks a server, and the authorizer of ours with the default objects, what subjects may do.
func (s *server) compareSubjects(ctx context.Context, objects []made) (asked int, different []string, err error) {
	store := memory.New(1)
	if err := rbac.Bootstrap(ctx, store, time.Now); err != nil {
		return 0, nil, err
	}
	ours := rbacauthorizer.New(rbac.NewPolicy(store))
	for _, object := range objects {
		for _, subject := range object.Subjects {
			who := authorizertest.Who{User: subject.Name}
			switch subject.Kind {
			case rbacv1.ServiceAccountKind:
				who.User = "system:serviceaccount:" + subject.Namespace + ":" + subject.Name
			case rbacv1.GroupKind:
				who = authorizertest.Who{User: "somebody", Groups: []string{subject.Name}}
			}
			for _, what := range questions {
				review := authorizertest.Review{Who: who, What: what}
				if err := s.review(ctx, &review); err != nil {
					return asked, nil, err
				}
				decision, _, err := ours.Authorize(ctx, what.Attributes(who))
				if err != nil || review.Allowed != (decision == authorizer.Allow) {
					different = append(different, fmt.Sprintf("%v may %v: %t", who, what, review.Allowed))
				}
				asked++
			}
		}
	}
	return asked, different, nil
}
