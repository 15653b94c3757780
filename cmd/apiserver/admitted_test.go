package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/admission"
	v1door "kube2014/pkg/admission/v1beta1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/server/request"
)

// refusing is a plugin that refuses everything, in one of the steps.
type refusing struct{ step admission.Step }

func (refusing) Handles(admission.Operation) bool { return true }

func (r refusing) Admit(_ context.Context, a *admission.Attributes) error {
	return r.refuse(a, admission.Admit)
}

func (r refusing) Validate(_ context.Context, a *admission.Attributes) error {
	return r.refuse(a, admission.Validate)
}

func (r refusing) refuse(a *admission.Attributes, step admission.Step) error {
	if step != r.step {
		return nil
	}
	return admission.Forbidden(a, errors.New("the plugin of the test refuses it"))
}

// admitBy lets a plugin decide about the changes at both doors.
func (d *doors) admitBy(plugin admission.Interface) {
	plugins := admission.Plugins{}
	plugins["Test"] = func(json.RawMessage) (admission.Interface, error) { return plugin, nil }
	chain, err := plugins.New([]string{"Test"}, nil)
	require.NoError(d.t, err)
	d.Today.Admission = chain
	d.June2014.Admission = &v1door.Admission{Chain: chain, Objects: d.Stores.Objects}
}

// changeable are objects x of the resources that can be changed, by the collection's path.
var changeable = map[string]string{
	todaysPods:                                                                   `{"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}`,
	todaysControllers:                                                            `{"metadata": {"name": "x"}, "spec": {"selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}`,
	todaysServices:                                                               `{"metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}]}}`,
	"/api/v1/namespaces/default/endpoints":                                       `{"metadata": {"name": "x"}}`,
	"/api/v1/namespaces/default/events":                                          `{"metadata": {"name": "x"}, "involvedObject": {"namespace": "default"}}`,
	"/api/v1/nodes":                                                              `{"metadata": {"name": "x"}}`,
	"/api/v1/namespaces":                                                         `{"metadata": {"name": "x"}}`,
	"/api/v1/namespaces/x/finalize":                                              `{"metadata": {"name": "x"}}`,
	"/api/v1/namespaces/default/configmaps":                                      `{"metadata": {"name": "x"}}`,
	"/api/v1/namespaces/default/secrets":                                         `{"metadata": {"name": "x"}}`,
	"/api/v1/namespaces/default/serviceaccounts":                                 `{"metadata": {"name": "x"}}`,
	"/api/v1/namespaces/default/serviceaccounts/x/token":                         `{"metadata": {"name": "x"}, "spec": {"audiences": ["a"]}}`,
	"/api/v1/namespaces/default/podtemplates":                                    `{"metadata": {"name": "x"}, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}`,
	todaysLimits:                                                                 `{"metadata": {"name": "x"}, "spec": {"limits": []}}`,
	todaysQuotas:                                                                 `{"metadata": {"name": "x"}, "spec": {"hard": {"secrets": "100"}}}`,
	roleAPI + "/clusterroles":                                                    `{"metadata": {"name": "x"}, "rules": []}`,
	roleAPI + "/namespaces/default/roles":                                        `{"metadata": {"name": "x"}, "rules": []}`,
	roleAPI + "/clusterrolebindings":                                             `{"metadata": {"name": "x"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"}}`,
	roleAPI + "/namespaces/default/rolebindings":                                 `{"metadata": {"name": "x"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"}}`,
	"/api/v1/namespaces/default/pods/x/binding":                                  `{"metadata": {"name": "x"}, "target": {"kind": "Node", "name": "x"}}`,
	"/api/v1/namespaces/default/pods/x/eviction":                                 `{"metadata": {"name": "x"}}`,
	"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices":                `{"metadata": {"name": "x"}, "addressType": "IPv4", "endpoints": []}`,
	"/apis/policy/v1/namespaces/default/poddisruptionbudgets":                    `{"metadata": {"name": "x"}}`,
	"/apis/coordination.k8s.io/v1/namespaces/default/leases":                     `{"metadata": {"name": "x"}}`,
	"/apis/scheduling.k8s.io/v1/priorityclasses":                                 `{"metadata": {"name": "x"}, "value": 1}`,
	"/apis/node.k8s.io/v1/runtimeclasses":                                        `{"metadata": {"name": "x"}, "handler": "x"}`,
	"/apis/events.k8s.io/v1/namespaces/default/events":                           `{"metadata": {"name": "y"}, "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "a.b/c", "reportingInstance": "i", "action": "A", "reason": "R", "type": "Normal", "regarding": {"namespace": "default"}}`,
	"/api/v1/namespaces/default/persistentvolumeclaims":                          `{"metadata": {"name": "x"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}`,
	"/api/v1/persistentvolumes":                                                  `{"metadata": {"name": "x"}, "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}}`,
	"/api/v1/namespaces/default/bindings":                                        `{"metadata": {"name": "x"}, "target": {"kind": "Node", "name": "x"}}`,
	"/apis/authentication.k8s.io/v1/tokenreviews":                                `{"spec": {"token": "x"}}`,
	"/apis/authorization.k8s.io/v1/subjectaccessreviews":                         `{"spec": {"user": "x", "resourceAttributes": {"verb": "get"}}}`,
	"/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews": `{"spec": {"user": "x", "resourceAttributes": {"namespace": "default", "verb": "get"}}}`,
	"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":                     `{"spec": {"resourceAttributes": {"verb": "get"}}}`,
	"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews":                      `{"spec": {"namespace": "default"}}`,
	"/apis/authentication.k8s.io/v1/selfsubjectreviews":                          `{}`,
}

// discover returns what discovery tells of the resources: the path of each collection or subresource
// of an object x, with the verbs.
func (d *doors) discover() map[string][]string {
	found := map[string][]string{}
	for _, root := range []string{"/api/v1", "/apis/discovery.k8s.io/v1", "/apis/policy/v1", "/apis/coordination.k8s.io/v1", "/apis/scheduling.k8s.io/v1", "/apis/node.k8s.io/v1", "/apis/events.k8s.io/v1", roleAPI, "/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1"} {
		for _, resource := range read[metav1.APIResourceList](d, root).APIResources {
			path := root
			if resource.Namespaced {
				path += "/namespaces/default"
			}
			name, sub, isSub := strings.Cut(resource.Name, "/")
			if path += "/" + name; isSub {
				path += "/x/" + sub
			}
			found[path] = resource.Verbs
		}
	}
	return found
}

// Whoever adds a resource is told by this test to ask the plugins.
func TestNothingIsChangedUnlessThePluginsLetIt(t *testing.T) {
	t.Parallel()
	for _, step := range []admission.Step{admission.Admit, admission.Validate} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			d := openDoors(t, append(filesOf(t).signingFlags(), "-secure_port", "0", "-cert_dir", t.TempDir(), "-authorization_mode", "RBAC", "-scheduler", "none")...)
			require.NoError(t, d.BootstrapRoles(t.Context()))
			for path, body := range changeable {
				if strings.Contains(body, `"metadata"`) && !strings.Contains(body, `"target"`) && !strings.Contains(path, "/x/") {
					d.send(http.StatusCreated, "POST", path, body)
				}
			}
			d.send(http.StatusOK, "POST", "/api/v1beta1/services", `{"id": "old"}`)
			d.admitBy(refusing{step})
			before := d.version()
			asked := 0
			refused := func(method, path, mediaType, body string) {
				status, answer := d.do(method, path, mediaType, body)
				assert.Equal(t, http.StatusForbidden, status, method+" "+path+" "+answer)
				assert.Contains(t, answer, "the plugin of the test refuses it", method+" "+path)
				asked++
			}
			for path, verbs := range d.discover() {
				one := path + "/x"
				if strings.Contains(path, "/x/") { // a subresource
					one = path
				}
				for _, verb := range verbs {
					switch verb {
					case "create":
						refused("POST", path, "application/json", changeable[path])
					case "update":
						stored, isKnown := changeable[one]
						if !isKnown {
							_, stored = d.do("GET", one, "", "")
						}
						refused("PUT", one, "application/json", stored)
					case "patch":
						refused("PATCH", one, mergePatch, `{"metadata": {"labels": {"a": "b"}}}`)
					case "delete":
						refused("DELETE", one, "application/json", "")
					case "deletecollection":
						refused("DELETE", path, "application/json", "")
					}
				}
			}
			for resource, body := range map[string]string{"tasks": `{"id": "new", "desiredState": {"manifest": {"version": "v1beta1"}}}`,
				"services": `{"id": "new"}`, "replicationControllers": `{"id": "new"}`} {
				path := "/api/v1beta1/" + resource
				refused("POST", path, "application/json", body)
				refused("DELETE", path+"/x", "", "")
				refused("PUT", path+"/x", "application/json", strings.ReplaceAll(body, "new", "x"))
			}
			refused("PUT", "/api/v1beta1/services/new", "application/json", `{"id": "new"}`)
			refused("DELETE", "/api/v1beta1/services/old", "", "")
			assert.Greater(t, asked, 60)
			assert.Equal(t, before, d.version(), "nothing was changed")
		})
	}
}

// witness is an admission at the first door that notes when a request came.
type witness struct{ received time.Time }

// Admit implements apiserver.Admission.
func (w *witness) Admit(ctx context.Context, change apiserver.Change) (interface{}, func(error), error) {
	if record := request.RecordOf(ctx); record != nil {
		w.received = record.Received
	}
	return change.Object, func(error) {}, nil
}

// The time that the plugins have counts from then, and not from the end of a slow body.
func TestAdmissionAtTheFirstDoorKnowsWhenARequestCame(t *testing.T) {
	t.Parallel()
	d, w := openDoors(t, "-admission_control", "AlwaysPullImages"), new(witness)
	d.June2014.Admission = w
	d.createTask("web", 0)
	assert.NotZero(t, w.received)
}
