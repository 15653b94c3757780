package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"kube2014/pkg/auth/authorizer/authorizertest"
	"kube2014/pkg/rest/flowcontrol/flowcontroltest"
)

const flowControl = "/apis/flowcontrol.apiserver.k8s.io/v1/"

// askFlows asks a server what it classifies requests as. Only members of system:masters may do what they ask for.
func askFlows(ctx context.Context, r *recorder, file string) ([]byte, error) {
	recording, err := flowcontroltest.Read(file)
	if err != nil {
		return nil, err
	}
	s, err := r.start("--authorization-mode", "RBAC")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	for resource, objects := range map[string][]json.RawMessage{"prioritylevelconfigurations": recording.Levels, "flowschemas": recording.Schemas} {
		for _, object := range objects {
			if err := s.must(ctx, http.MethodPost, flowControl+resource, object, nil); err != nil {
				return nil, fmt.Errorf("%s: %w", object, err)
			}
		}
	}
	schemas, err := s.names(ctx, "flowschemas")
	if err != nil {
		return nil, err
	}
	levels, err := s.names(ctx, "prioritylevelconfigurations")
	if err != nil {
		return nil, err
	}
	classify := func(q *flowcontroltest.Request) error {
		header, err := s.header(ctx, q)
		q.Schema, q.Level = schemas[header.Get("X-Kubernetes-PF-FlowSchema-UID")], levels[header.Get("X-Kubernetes-PF-PriorityLevel-UID")]
		return err
	}
	// The canary is the last object of both kinds: when it is known, all are.
	canary := flowcontroltest.Request{Who: authorizertest.Who{User: "canary"}, Method: http.MethodGet, URL: "/api/v1/pods"}
	if err := s.until(ctx, func() (bool, error) {
		err := classify(&canary)
		return canary.Schema == "canary" && canary.Level == "canary", err
	}); err != nil {
		return nil, err
	}
	for i := range recording.Requests {
		if err := classify(&recording.Requests[i]); err != nil {
			return nil, err
		}
	}
	return recording.Text(), nil
}

// names returns the names of objects by their UIDs.
func (s *server) names(ctx context.Context, resource string) (map[string]string, error) {
	var list struct {
		Items []struct{ Metadata struct{ Name, UID string } }
	}
	err := s.must(ctx, http.MethodGet, flowControl+resource, nil, &list)
	names := map[string]string{}
	for _, item := range list.Items {
		names[item.Metadata.UID] = item.Metadata.Name
	}
	return names, err
}

// header sends a request in the name of somebody, and returns the header of the answer.
func (s *server) header(ctx context.Context, q *flowcontroltest.Request) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, q.Method, s.url+q.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Impersonate-User", q.User)
	req.Header["Impersonate-Group"] = q.Groups
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, err
	}
	return resp.Header, resp.Body.Close()
}
