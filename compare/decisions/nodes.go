package main

import (
	"context"

	"kube2014/pkg/auth/authorizer/authorizertest"
)

// askNodes sends whole requests to a server with the Node authorizer and the plugin NodeRestriction.
func askNodes(ctx context.Context, r *recorder, recording *authorizertest.Recording) error {
	s, err := r.start("--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction")
	if err != nil {
		return err
	}
	defer s.stop()
	return recording.Exchange(func(who *authorizertest.Who, method, url string, body []byte) (int, []byte, error) {
		return s.do(ctx, token, who, method, url, body)
	})
}
