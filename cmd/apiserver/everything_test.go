package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/client"
	"kube2014/pkg/util/certtest"
)

// everything is what a server has on: TLS, users, rights, plugins and an audit.
type everything struct {
	flags     []string
	authority *certtest.Pair
	log       string // of the audit
}

const farAwayLimits = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: LimitRanger
  configuration: {apiVersion: v1, kind: LimitRange, metadata: {name: far}, spec: {limits: [{type: Container}]}}
- name: ResourceQuota
  configuration: {apiVersion: v1, kind: ResourceQuota, metadata: {name: far}, spec: {hard: {pods: "100000", services: "100000", replicationcontrollers: "100000"}}}
`

func everythingOn(t *testing.T) everything {
	f := filesOf(t)
	flags, authority := f.secureFlags()
	log := f.path("audit.log")
	return everything{append(flags, "-token_auth_file", f.write("tokens.csv", "worker-token,worker,1,system:masters\n"), "-authorization_mode", "RBAC",
		"-admission_control", "NamespaceExists,AlwaysPullImages,LimitRanger,ResourceQuota", "-admission_control_config_file", f.write("admission.yaml", farAwayLimits),
		"-audit_log_path", log, "-audit_policy_file", f.write("policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request}]\n"),
	), authority, log}
}

// client returns a client of the first door at a URL of the secure port.
func (e everything) client(t *testing.T, url string) *client.Client {
	return &client.Client{Host: url, HTTP: &http.Client{Transport: unbusy{clientWith(t, e.authority.Pool(), nil).Transport}}}
}

// unbusy sends requests as the worker, and again if the server is too busy, as clients of
// Kubernetes do: then nothing was changed.
type unbusy struct{ next http.RoundTripper }

func (p unbusy) RoundTrip(req *http.Request) (*http.Response, error) {
	for {
		attempt := req.Clone(req.Context())
		attempt.Header.Set("Authorization", "Bearer worker-token")
		if req.GetBody != nil {
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			attempt.Body = body
		}
		resp, err := p.next.RoundTrip(attempt)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests {
			return resp, err
		}
		_ = resp.Body.Close()
		select {
		case <-req.Context().Done():
			return nil, req.Context().Err()
		case <-time.After(time.Second):
		}
	}
}

// audited returns how many requests the audit has seen come in, and how many it has seen answered.
func (e everything) audited(t *testing.T) (received, complete int) {
	file, err := os.Open(e.log)
	require.NoError(t, err)
	defer file.Close()
	stages := map[string]string{} // by request
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return received, complete
		}
		var event struct{ AuditID, Stage string }
		require.NoError(t, json.Unmarshal(line, &event))
		switch before := stages[event.AuditID]; event.Stage {
		case "RequestReceived":
			assert.Empty(t, before)
			received++
		case "ResponseComplete":
			assert.Equal(t, "RequestReceived", before)
			complete++
		}
		stages[event.AuditID] = event.Stage
	}
}
