package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"kube2014/compare/today"
	"kube2014/pkg/webhook/webhooktest"
)

// The recorded server takes seconds to obey a change of a policy, ours obeys with the next request.
func TestWebhooksAndPoliciesDecideAsOnTodaysServer(t *testing.T) {
	t.Parallel()
	requests, err := today.LoadRequests("../../testdata/today/policies.json")
	require.NoError(t, err)
	for name, store := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			f := filesOf(t)
			flags, authority := f.secureFlags()
			_, _, _, url := secureProgram(t, unhurried, slices.Concat(flags, store(t), likeRecorded, []string{"-authorization_mode", "RBAC", "-controllers", "validatingadmissionpolicy-status-controller",
				"-token_auth_file", f.write("tokens", "admin-token,admin,1,system:masters\n")})...)
			hooks := &today.Webhooks{}
			server := webhooktest.Serve(t, hooks.ServeHTTP)
			hooks.URL, hooks.CA = server.URL, base64.StdEncoding.EncodeToString(webhooktest.CA(server))
			client := clientWith(t, authority.Pool(), nil)
			client.Transport = unbusy{client.Transport, "admin-token", &atomic.Int64{}}
			steps, err := hooks.Replay(t.Context(), client, url, requests, today.KnownOfPolicies)
			require.NoError(t, err)
			noneDiffers(t, steps, today.KnownOfPolicies)
		})
	}
}

func TestTheFirstDoorAsksPoliciesIfTheirPluginsAreNamed(t *testing.T) {
	t.Parallel()
	for flags, refuses := range map[string]bool{"": false, "-admission_control MutatingAdmissionPolicy,ValidatingAdmissionPolicy": true} {
		d := openDoors(t, append(strings.Fields(flags), "-scheduler", "none")...)
		spec := func(rest string) string {
			return `{"metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["*"],"resources":["pods"]}]},` + rest + `}}`
		}
		d.send(http.StatusCreated, "POST", registrations+"mutatingadmissionpolicies", spec(`"reinvocationPolicy":"Never","mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":
			"[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'by': 'policy'}}]"}}]`))
		d.send(http.StatusCreated, "POST", registrations+"mutatingadmissionpolicybindings", `{"metadata":{"name":"p"},"spec":{"policyName":"p"}}`)
		d.send(http.StatusCreated, "POST", registrations+"validatingadmissionpolicies", spec(`"validations":[{"expression":"object == null ? oldObject.metadata.name != 'kept' : object.metadata.name != 'refused'"}]`))
		d.send(http.StatusCreated, "POST", registrations+"validatingadmissionpolicybindings", `{"metadata":{"name":"p"},"spec":{"policyName":"p","validationActions":["Deny"]}}`)
		status := http.StatusOK
		if refuses {
			status = http.StatusBadRequest
		}
		d.send(http.StatusOK, "POST", tasksPath, taskNamed("kept"))
		assert.Equal(t, refuses, d.pod("kept").Annotations["by"] == "policy", "the first door knows no annotations")
		d.send(status, "POST", tasksPath, taskNamed("refused"))
		d.send(status, "DELETE", taskPath("kept"), "")
	}
}

// Who makes a config map in order to decide about one is asked about that too.
func TestAWebhookThatCallsBackIsEndedByTheNumberOfRequests(t *testing.T) {
	t.Parallel()
	const most = 20
	e := startExtended(t, "-max_mutating_requests_inflight", strconv.Itoa(most), "-controllers=")
	e.ready()
	var asked atomic.Int64
	calls := hook(t, func(_ *admissionv1.AdmissionRequest, says *admissionv1.AdmissionResponse) {
		name := fmt.Sprint("map-", asked.Add(1))
		resp, err := http.Post(e.url+configMaps, "application/json", strings.NewReader(aConfigMap(name, "")))
		says.Allowed = err == nil && resp.StatusCode == http.StatusCreated
		if err == nil {
			_ = resp.Body.Close()
		}
	})
	e.send(201, "POST", validating, asksAbout("/configmaps", calls, ""))
	e.send(400, "POST", configMaps, aConfigMap("first", ""))
	assert.LessOrEqual(t, asked.Load(), int64(most))
	assert.GreaterOrEqual(t, asked.Load(), int64(most/2), "it did call back")
	e.send(200, "DELETE", validating, "")
	e.send(201, "POST", configMaps, aConfigMap("first", ""))
}
