package main

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/util/certtest"
	"kube2014/pkg/webhook/webhooktest"
)

const (
	registrations = "/apis/admissionregistration.k8s.io/v1/"
	mutating      = registrations + "mutatingwebhookconfigurations"
	validating    = registrations + "validatingwebhookconfigurations"
	configMaps    = "/api/v1/namespaces/default/configmaps"
)

// asksAbout is a configuration of one webhook at a server about a resource, GROUP/NAME. More are fields of the webhook.
func asksAbout(resource string, server *httptest.Server, more string) string {
	return asks("hooks", resource, fmt.Sprintf(`"url":%q,"caBundle":%q`, server.URL, base64.StdEncoding.EncodeToString(webhooktest.CA(server))), more)
}

func asks(name, resource, at, more string) string {
	group, plural, _ := strings.Cut(resource, "/")
	return fmt.Sprintf(`{"metadata":{"name":%q},"webhooks":[{"name":"%[1]s.example.com","clientConfig":{%[2]s},"sideEffects":"None","admissionReviewVersions":["v1"],"timeoutSeconds":30,
"rules":[{"operations":["*"],"apiGroups":[%[3]q],"apiVersions":["*"],"resources":[%[4]q]}]%[5]s}]}`, name, at, group, plural, more)
}

func aConfigMap(name, more string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q}%s}`, name, more)
}

// refusesAll is a webhook that refuses everything.
func refusesAll(t *testing.T) *httptest.Server {
	return hook(t, func(_ *admissionv1.AdmissionRequest, says *admissionv1.AdmissionResponse) {
		says.Allowed, says.Result = false, &metav1.Status{Message: "not so", Code: 403}
	})
}

func TestWebhooksOfObjectsAreObeyedAtOnceUntilTheyAreDeleted(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		e.ready()
		marks := hook(t, func(asked *admissionv1.AdmissionRequest, says *admissionv1.AdmissionResponse) {
			if asked.Operation != admissionv1.Delete {
				patch(says, `[{"op":"add","path":"/data","value":{"by":"webhook"}}]`)
			}
		})
		refuses := refusesAll(t)
		for round := range 5 { // a change that is late would be seen in one of them
			e.send(201, "POST", mutating, asksAbout("/configmaps", marks, ""))
			name := fmt.Sprint("a", round)
			e.send(201, "POST", configMaps, aConfigMap(name, ""))
			assert.Equal(t, map[string]any{"by": "webhook"}, e.object(configMaps + "/" + name).Object["data"])
			assert.NotContains(t, e.send(201, "POST", "/api/v1/namespaces/default/secrets", aConfigMap(name, "")), "webhook")

			e.send(201, "POST", validating, asksAbout("/configmaps", refuses, ""))
			for _, request := range [][]string{{"POST", "", aConfigMap("b", "")}, {"POST", "?dryRun=All", aConfigMap("b", "")}, {"PATCH", "/" + name, `{"data":{"a":"b"}}`}, {"DELETE", "/" + name, ""}} {
				assert.Contains(t, e.send(403, request[0], configMaps+request[1], request[2]), `admission webhook \"hooks.example.com\" denied the request: not so`)
			}
			e.send(200, "PATCH", validating+"/hooks", `{"webhooks":null}`)
			e.send(200, "DELETE", configMaps+"/"+name, "")
			e.send(200, "DELETE", validating+"/hooks", "")
			e.send(200, "DELETE", mutating+"/hooks", "")
			assert.NotContains(t, e.send(201, "POST", configMaps, aConfigMap(name, "")), `"by"`)
		}
	})
}

// A server asks those that were there before it as soon as it says that it is ready.
func TestWebhooksOfObjectsAreKnownBeforeAServerIsReady(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"etcd", "etcd3"} {
		t.Run("backend="+backend, func(t *testing.T) {
			t.Parallel()
			flags := flagsFor[backend](t)
			first := startExtended(t, flags...)
			first.ready()
			first.send(201, "POST", validating, asksAbout("/configmaps", refusesAll(t), ""))
			first.send(201, "POST", mutating, asks("broken", "/configmaps", `"url":"https://127.0.0.1","caBundle":"eA=="`, `,"failurePolicy":"Ignore"`))
			second := startExtended(t, flags...)
			second.ready()
			second.send(403, "POST", configMaps, aConfigMap("a", ""))
		})
	}
}

func TestTheFirstDoorAsksWebhooksOfObjectsIfItsPluginsAreNamed(t *testing.T) {
	t.Parallel()
	for flags, status := range map[string]int{"": 200, "-admission_control ValidatingAdmissionWebhook": 403} {
		d := openDoors(t, append(strings.Fields(flags), "-scheduler", "none")...)
		d.send(http.StatusCreated, "POST", validating, asksAbout("/pods", refusesAll(t), ""))
		d.send(http.StatusForbidden, "POST", todaysPods, fmt.Sprintf(aPodOf, "i"))
		d.send(status, "POST", tasksPath, fmt.Sprintf(taskOf, "i"))
	}
}

func TestAWebhookIsAskedAboutOwnResources(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		var mu sync.Mutex
		var asked []string
		server := hook(t, func(about *admissionv1.AdmissionRequest, says *admissionv1.AdmissionResponse) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, string(about.Operation)+" "+about.Kind.Kind+" "+about.SubResource)
			raw := about.Object.Raw
			if about.Operation == admissionv1.Delete {
				raw = about.OldObject.Raw
			}
			assert.Contains(t, string(raw), `"apiVersion":"example.com/v1"`)
			assert.Contains(t, string(raw), `"size":`)
			if about.Operation == admissionv1.Create {
				patch(says, `[{"op":"replace","path":"/spec/size","value":7},{"op":"add","path":"/metadata/labels","value":{"by":"webhook"}}]`)
			}
		})
		e.send(201, "POST", crds, aDefinition(oneVersion))
		e.established("gadgets.example.com")
		e.send(201, "POST", mutating, asksAbout("example.com/*/*", server, ""))
		e.send(201, "POST", gadgets, aGadget("a", `{}`))
		object := e.object(gadgets + "/a")
		assert.Equal(t, map[string]any{"size": int64(7)}, object.Object["spec"])
		assert.Equal(t, map[string]string{"by": "webhook"}, object.GetLabels())
		e.send(200, "PATCH", gadgets+"/a", `{"spec":{"size":2}}`)
		e.send(200, "PATCH", gadgets+"/a/status", `{"status":{"ok":true}}`)
		e.send(200, "DELETE", gadgets+"/a", "")
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, []string{"CREATE Gadget ", "UPDATE Gadget ", "UPDATE Gadget status", "DELETE Gadget "}, asked)
	})
}

func TestSelectorsAndConditionsSayWhatAWebhookIsAskedAbout(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		e.ready()
		refuses := refusesAll(t)
		about := func(more string) { e.send(201, "POST", validating, asksAbout("/configmaps", refuses, more)) }
		done := func() { e.send(200, "DELETE", validating+"/hooks", "") }

		about(`,"objectSelector":{"matchLabels":{"guarded":"yes"}}`)
		e.send(201, "POST", configMaps, aConfigMap("a", ""))
		e.send(403, "PATCH", configMaps+"/a", `{"metadata":{"labels":{"guarded":"yes"}}}`)
		done()
		about(`,"namespaceSelector":{"matchLabels":{"guarded":"yes"}}`)
		e.send(200, "PATCH", configMaps+"/a", `{"data":{"a":"b"}}`)
		answers := func(want int) func() bool {
			return func() bool {
				status, _ := e.do("PATCH", configMaps+"/a", mergePatch, `{"data":{"a":"c"}}`)
				return status == want
			}
		}
		e.send(200, "PATCH", "/api/v1/namespaces/default", `{"metadata":{"labels":{"guarded":"yes"}}}`)
		eventually(t, answers(403), "the label is known")
		e.send(200, "PATCH", "/api/v1/namespaces/default", `{"metadata":{"labels":{"guarded":null}}}`)
		eventually(t, answers(200), "the label is gone")
		done()
		about(`,"matchConditions":[{"name":"large","expression":"has(object.data) && object.data.size() > 1"},
{"name":"may","expression":"authorizer.group('').resource('configmaps').namespace(request.namespace).check('delete').allowed() && request.userInfo.username != ''"}]`)
		e.send(200, "PATCH", configMaps+"/a", `{"data":{"a":"d"}}`)
		e.send(403, "PATCH", configMaps+"/a", `{"data":{"b":"d"}}`)
		done()
		about(`,"matchConditions":[{"name":"wrong","expression":"object.nothing == 1"}]`)
		assert.Contains(t, e.send(403, "PATCH", configMaps+"/a", `{"data":{"a":"e"}}`), "no such key: nothing")
		done()
		about(`,"failurePolicy":"Ignore","matchConditions":[{"name":"wrong","expression":"object.nothing == 1"}]`)
		e.send(200, "PATCH", configMaps+"/a", `{"data":{"a":"e"}}`)
		done()

		e.send(201, "POST", validating, asksAbout("/namespaces", refuses, `,"namespaceSelector":{"matchLabels":{"guarded":"yes"}}`))
		e.send(201, "POST", "/api/v1/namespaces", `{"metadata":{"name":"free"}}`)
		e.send(403, "POST", "/api/v1/namespaces", `{"metadata":{"name":"guarded","labels":{"guarded":"yes"}}}`)
	})
}

// Who registers a webhook that refuses everything can still remove it.
func TestNoWebhookIsAskedAboutItsOwnConfiguration(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		e.ready()
		everything := asksAbout("*/*/*", refusesAll(t), "")
		e.send(201, "POST", validating, everything)
		e.send(201, "POST", mutating, everything)
		e.send(403, "POST", configMaps, aConfigMap("a", ""))
		e.send(200, "PATCH", mutating+"/hooks", `{"metadata":{"labels":{"a":"b"}}}`)
		e.send(201, "POST", registrations+"validatingadmissionpolicies", `{"metadata":{"name":"a"},"spec":{"validations":[{"expression":"true"}],"matchConstraints":{"resourceRules":[
{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}]}}}`)
		e.send(200, "DELETE", registrations+"validatingadmissionpolicies/a", "")
		e.send(200, "DELETE", mutating+"/hooks", "")
		e.send(200, "DELETE", validating, "")
		e.send(201, "POST", configMaps, aConfigMap("a", ""))
	})
}

// The authorities of the last one are broken: no request reaches it.
func TestAWebhookOfAnObjectThatFailsDecidesByItsPolicy(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		e.ready()
		hangs := webhooktest.Serve(t, func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body) // else net/http does not tell that the client has gone
			<-req.Context().Done()
		})
		rubbish := webhooktest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("rubbish")) })
		away := webhooktest.Serve(t, nil)
		away.Close()
		for name, configuration := range map[string]string{
			"hangs":   strings.Replace(asksAbout("/configmaps", hangs, ""), `"timeoutSeconds":30`, `"timeoutSeconds":1`, 1),
			"rubbish": asksAbout("/configmaps", rubbish, ""),
			"away":    asksAbout("/configmaps", away, ""),
			"broken":  asks("hooks", "/configmaps", `"url":"https://127.0.0.1","caBundle":"eA=="`, ""),
		} {
			for _, path := range []string{mutating, validating} {
				e.send(201, "POST", path, configuration)
				assert.Contains(t, e.send(500, "POST", configMaps, aConfigMap("a", "")), `failed calling webhook \"hooks.example.com\": `, name)
				e.send(201, "POST", "/api/v1/namespaces/default/secrets?dryRun=All", aConfigMap("a", ""))
				e.send(200, "DELETE", path+"/hooks", "")
				e.send(201, "POST", path, strings.Replace(configuration, `"sideEffects"`, `"failurePolicy":"Ignore","sideEffects"`, 1))
				e.send(201, "POST", configMaps, aConfigMap("a", ""))
				e.send(200, "DELETE", path+"/hooks", "")
				e.send(200, "DELETE", configMaps+"/a", "")
			}
		}
	})
}

// It is reached by the endpoints of its service, under the name of that.
func TestAWebhookMayBeAService(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		e.ready()
		authority := certtest.Authority(t, "authority")
		var path atomic.Value
		server := webhooktest.Serve(t, func(w http.ResponseWriter, req *http.Request) {
			path.Store(req.URL.Path)
			var review admissionv1.AdmissionReview
			assert.NoError(t, json.NewDecoder(req.Body).Decode(&review))
			fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":false}}`, review.Request.UID)
		}, func(s *httptest.Server) {
			s.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Server(t, "hook.default.svc").Certificate}}
		})
		_, port, err := net.SplitHostPort(server.Listener.Addr().String())
		require.NoError(t, err)
		at := fmt.Sprintf(`"service":{"namespace":"default","name":"hook","path":"/check"},"caBundle":%q`, base64.StdEncoding.EncodeToString(authority.CertPEM))
		e.send(201, "POST", validating, asks("hooks", "/configmaps", at, ""))
		assert.Contains(t, e.send(500, "POST", configMaps, aConfigMap("a", "")), `services \"hook\" not found`)
		e.send(201, "POST", "/api/v1/namespaces/default/services", `{"metadata":{"name":"hook"},"spec":{"ports":[{"port":443}]}}`)
		e.send(201, "POST", "/api/v1/namespaces/default/endpoints", `{"metadata":{"name":"hook"},"subsets":[{"addresses":[{"ip":"127.0.0.1"}],"ports":[{"port":`+port+`}]}]}`)
		assert.Contains(t, e.send(400, "POST", configMaps, aConfigMap("a", "")), "denied the request without explanation")
		assert.Equal(t, "/check", path.Load())
	})
}

// Each request of the webhook asks the webhook: the first that has no time left ends them all.
func TestAWebhookThatCallsTheServerWithoutEndIsEnded(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		e.ready()
		var asked atomic.Int64
		server := webhooktest.Serve(t, func(w http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			if asked.Add(1) == 20 {
				<-req.Context().Done()
				return
			}
			again, err := http.NewRequestWithContext(req.Context(), "POST", e.url+configMaps, strings.NewReader(aConfigMap("a", "")))
			assert.NoError(t, err)
			again.Header.Set("Content-Type", "application/json")
			if answer, err := http.DefaultClient.Do(again); err == nil {
				_ = answer.Body.Close()
				w.WriteHeader(answer.StatusCode)
			}
		})
		e.send(201, "POST", validating, strings.Replace(asksAbout("/configmaps", server, ""), `"timeoutSeconds":30`, `"timeoutSeconds":1`, 1))
		e.send(500, "POST", configMaps, aConfigMap("a", ""))
		e.send(200, "DELETE", validating+"/hooks", "")
		e.send(201, "POST", configMaps, aConfigMap("b", "")) // one of its requests may have made a meanwhile
	})
}
