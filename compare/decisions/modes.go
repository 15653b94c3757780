package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"kube2014/bench/measure"
	"kube2014/pkg/auth/authorizer/authorizertest"
)

// askABAC tries the lines that may be bad, and asks a server with a policy file.
func askABAC(ctx context.Context, r *recorder, recording *authorizertest.Recording) error {
	for i := range recording.Lines {
		line := &recording.Lines[i]
		s, err := r.startABAC(ctx, line.Line)
		line.Starts = err == nil
		if err == nil {
			s.stop()
		} else if !errors.Is(err, measure.ErrEnded) || !strings.Contains(err.Error(), "policy file") {
			return err
		}
	}
	s, err := r.startABAC(ctx, recording.Policy...)
	if err != nil {
		return err
	}
	defer s.stop()
	return s.ask(ctx, recording)
}

func (r *recorder) startABAC(ctx context.Context, lines ...string) (*server, error) {
	file := filepath.Join(r.Dir, "policy.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		return nil, err
	}
	return r.start("--authorization-mode", "ABAC", "--authorization-policy-file", file)
}

// askRBAC asks a server that has the objects of the recording and no others.
func askRBAC(ctx context.Context, r *recorder, recording *authorizertest.Recording) error {
	s, err := r.start("--authorization-mode", "RBAC")
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.compareDefaults(ctx); err != nil {
		return err
	}
	for _, all := range []string{"clusterrolebindings", "clusterroles", "namespaces/kube-system/rolebindings", "namespaces/kube-system/roles",
		"namespaces/kube-public/rolebindings", "namespaces/kube-public/roles"} {
		if err := s.must(ctx, http.MethodDelete, "/apis/rbac.authorization.k8s.io/v1/"+all, nil, nil); err != nil {
			return err
		}
	}
	for _, object := range append(recording.Objects, canaries...) {
		collection, err := collectionOf(object)
		if err != nil {
			return err
		}
		if err := s.must(ctx, http.MethodPost, collection, object, nil); err != nil {
			return err
		}
	}
	if err := s.until(ctx, func() (bool, error) { return s.knowsCanaries(ctx) }); err != nil {
		return err
	}
	if err := s.ask(ctx, recording); err != nil {
		return err
	}
	for i := range recording.Grants {
		if err := s.grant(ctx, &recording.Grants[i]); err != nil {
			return err
		}
	}
	return nil
}

// canaries are the last objects of each kind: when the authorizer knows them, it knows all.
var canaries = []json.RawMessage{
	[]byte(`{"kind":"ClusterRole","metadata":{"name":"canary"},"rules":[{"verbs":["sing"],"nonResourceURLs":["/canary"]}]}`),
	[]byte(`{"kind":"ClusterRoleBinding","metadata":{"name":"canary"},"subjects":[{"kind":"User","name":"canary"}],"roleRef":{"kind":"ClusterRole","name":"canary"}}`),
	[]byte(`{"kind":"Role","metadata":{"name":"canary","namespace":"canary"},"rules":[{"verbs":["sing"],"apiGroups":[""],"resources":["songs"]}]}`),
	[]byte(`{"kind":"RoleBinding","metadata":{"name":"canary","namespace":"canary"},"subjects":[{"kind":"User","name":"canary"}],"roleRef":{"kind":"Role","name":"canary"}}`),
}

func (s *server) knowsCanaries(ctx context.Context) (bool, error) {
	canary := authorizertest.Who{User: "canary"}
	for _, what := range []authorizertest.What{{Verb: "sing", Path: "/canary"}, {Verb: "sing", Resource: "songs", Namespace: "canary"}} {
		review := authorizertest.Review{Who: canary, What: what}
		if err := s.review(ctx, &review); err != nil || !review.Allowed {
			return false, err
		}
	}
	return true, nil
}

func (s *server) grant(ctx context.Context, g *authorizertest.Grant) error {
	collection, err := collectionOf(g.Object)
	if err != nil {
		return err
	}
	g.Code, g.Message, err = s.send(ctx, &g.Who, http.MethodPost, collection+"?dryRun=All", g.Object, nil)
	return err
}
