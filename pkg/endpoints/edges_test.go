package endpoints_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

const twoOwners = `"ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":"1"},{"apiVersion":"v1","kind":"X","name":"x","uid":"1"}]`

func TestAnOwnerThatIsNamedTwiceIsKeptOnceWithAWarning(t *testing.T) {
	t.Parallel()
	d := Open(t)
	created := d.Must("POST", Pods, Pod("web", twoOwners))
	assert.Len(t, created.Meta().OwnerReferences, 1)
	assert.Contains(t, created.Header.Get("Warning"), "299 - \".metadata.ownerReferences contains duplicate entries; API server dedups owner references")
	patched := d.Patch(Pods+"/web", MergePatch, `{"metadata":{"labels":{"a":"b"},`+twoOwners+`}}`)
	assert.Len(t, patched.Meta().OwnerReferences, 1)
	assert.Contains(t, patched.Header.Get("Warning"), "contains duplicate entries after mutating admission happens; API server")
	assert.Len(t, d.Must("PUT", Pods+"/web", Pod("web", twoOwners)).Meta().OwnerReferences, 1)
	assert.Empty(t, d.Must("PUT", Pods+"/web", Pod("web", `"ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":"1"},{"apiVersion":"v1","kind":"Y","name":"x","uid":"1"}]`)).Header["Warning"])
}

func TestANameThatIsNoPartOfAPathIsABadRequest(t *testing.T) {
	t.Parallel()
	d := Open(t)
	for name, why := range map[string]string{"..": "may not be '..'", "%2e": "may not be '.'", "a%25b": "may not contain '%'"} {
		for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
			plain, _ := url.PathUnescape(name)
			answer := d.Do(method, Pods+"/"+name, "{}", "Content-Type", MergePatch)
			assert.Equal(t, 400, answer.Status, "%s %s", method, name)
			assert.Equal(t, fmt.Sprintf("Name parameter invalid: %q: %s", plain, why), answer.Error().Message)
		}
	}
}

func TestATokenForAPageThatNobodyGaveIsABadRequest(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	_, list := d.Must("GET", Pods, "").Names()
	page := func(start string) Answer {
		token := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"v":"meta.k8s.io/v1","rv":%s,"start":%q}`, list.ResourceVersion, start))
		return d.Do("GET", Pods+"?limit=1&continue="+token, "")
	}
	for _, start := range []string{"..", "../x", "../../nodes", "default/", "default/../x"} {
		assert.Equal(t, "invalid continue token: continue key is not valid: "+start, page(start).Error().Message)
	}
	assert.Equal(t, 200, page("web").Status)
}

func TestYAMLThatContainsItselfIsABadRequest(t *testing.T) {
	t.Parallel()
	d := Open(t)
	for body, want := range map[string]string{
		"a: &a [*a]": "the object provided is unrecognized (must be of type Pod): yaml: anchor 'a' value contains itself (613a202661205b2a615d)",
		"a: [":       "the object provided is unrecognized (must be of type Pod): yaml: line 1: did not find expected node content (613a205b)",
	} {
		answer := d.Do("POST", Pods, body, "Content-Type", YAML)
		assert.Equal(t, 400, answer.Status)
		assert.Equal(t, want, answer.Error().Message)
	}
}

// K84.
func TestAnOddAddressInAStatusIsTakenWithoutAWarning(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Services, `{"metadata":{"name":"x"},"spec":{"type":"LoadBalancer","ports":[{"port":80}]}}`)
	patched := d.Patch(Services+"/x/status", MergePatch, `{"status":{"loadBalancer":{"ingress":[{"ip":"010.0.0.1"}]}}}`)
	assert.Equal(t, 200, patched.Status)
	assert.Empty(t, patched.Header["Warning"])
}

// K85: a PUT is a conflict on today's server as well.
func TestAPatchThatNamesAnotherUIDIsAConflict(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	for _, path := range []string{Pods + "/web", Pods + "/web/status"} {
		assert.Equal(t, 409, d.Patch(path, MergePatch, `{"metadata":{"uid":"another"}}`).Status)
	}
}

// K87: clients go by code and reason, which are today's.
func TestAPathThatOnlyLooksLikeOneOfTodaysIsForOtherServers(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Handle("/healthz", http.NotFoundHandler())
	for path, isServed := range map[string]bool{
		"/api/v1/pods": true, "/api/v1/nothing": true, "/api": true, "//api/v1/pods": false, "/x/api/v1/pods": false, "/apiary/v1/pods": false, "/apisx/v1/y": false, "/": false,
		"/healthz": false, "/healthz?verbose": true, "/healthz?exclude=x": true, "/version": false,
	} {
		req, record := httptest.NewRequest("GET", "http://x"+path, nil), &request.Record{}
		assert.Equal(t, isServed, d.Serves(req, record), path)
		assert.Equal(t, isServed, record.IsToday, "the guards know what a request of this server asks for: %s", path)
	}
}

func TestWhatIsNotServedIsANotFoundThatNamesWhatIs(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	const resources = "there are bindings, componentstatuses, configmaps, endpoints, events, limitranges, namespaces, nodes, pods, podtemplates, replicationcontrollers, resourcequotas, secrets, serviceaccounts, services"
	const versions = "there are authentication.k8s.io/v1, authorization.k8s.io/v1, discovery.k8s.io/v1, v1"
	unknown := map[string]string{"/apis/x/v1/foos": "foos.x", "/api/v2/pods": "pods"}
	for path, known := range map[string]string{
		"/api/v1/foos":                     resources,
		"/api/v1/foos/a/status":            resources,
		"/api/v1/namespaces/default/foos":  resources,
		"/apis/discovery.k8s.io/v1/foos":   "there are endpointslices",
		"/apis/x/v1/foos":                  versions,
		"/api/v2/pods":                     versions,
		Pods + "/web/exec/ls":              "there are pods/attach, pods/binding, pods/ephemeralcontainers, pods/eviction, pods/exec, pods/log, pods/portforward, pods/proxy, pods/resize, pods/status",
		Endpoints + "/web/status":          "",
		"/api/v1/namespaces/default/nodes": "",
		"/api/v1/pods/web":                 "",
		"/api/v2":                          "",
		"/apis/x":                          "",
	} {
		for _, method := range []string{"GET", "POST"} {
			answer := d.Do(method, path, "{}")
			assert.Equal(t, 404, answer.Status, path)
			details := &metav1.StatusDetails{}
			if known != "" {
				details.Causes = []metav1.StatusCause{{Message: known}}
			}
			message := "the server could not find the requested resource"
			if known == versions {
				message += " (" + strings.ToLower(method) + " " + unknown[path] + ")"
			}
			assert.Equal(t, metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: "NotFound", Code: 404, Details: details, Message: message,
			}, answer.Error(), path)
		}
	}
}

// K88: today's server answers 500.
func TestWhatARequestSaysIsNeverAnInternalError(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	for _, row := range []struct {
		method, path, body string
		status             int
		message            string
	}{
		{"POST", Pods, Pod("db", `"resourceVersion":"5"`), 400, "resourceVersion should not be set on objects to be created"},
		{"GET", Pods + "?watch=1&resourceVersion=-1", "", 400, `resourceVersion: Invalid value: "-1"`},
		{"POST", Pods + "/web/binding", `{"metadata":{"name":"web"}}`, 422, "target.name: Required value"},
		{"PATCH", Pods + "/web", `{"spec":{"containers":[{"image":"x"}]}}`, 400, "name"},
		{"PATCH", Pods + "/web", `{"$patch":"foo"}`, 400, "foo"},
	} {
		answer := d.Do(row.method, row.path, row.body, "Content-Type", map[string]string{"PATCH": StrategicPatch}[row.method])
		assert.Equal(t, row.status, answer.Status, row.body)
		assert.Contains(t, answer.Error().Message, row.message)
	}
	assert.Equal(t, 201, d.Do("POST", Pods, Pod("db", `"resourceVersion":"0"`)).Status)
}

// K89.
func TestHEADIsAnsweredAsGETIs(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	for _, path := range []string{Pods, Pods + "/web"} {
		answer := d.Do("HEAD", path, "")
		assert.Equal(t, 200, answer.Status)
		assert.Equal(t, d.Do("GET", path, "").Header.Get("Content-Type"), answer.Header.Get("Content-Type"))
	}
}

func TestAResourceThatComesDuringARequestIsNotMissing(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Server.Incomplete = func() bool { // the last look of a request that has found nothing
		d.Server.Catalog.Install(rest.ClusterScoped(schema.GroupVersion{Group: "example.com", Version: "v1"}, "Widget", "widgets", printers.Printer{}))
		return false
	}
	assert.Equal(t, 503, d.Do("GET", "/apis/example.com/v1/widgets", "").Status)
	assert.Equal(t, 404, d.Do("GET", "/apis/example.com/v1/others", "").Status)
}

// changing is a storage that reads something of the next definition of its resource.
type changing struct {
	catalog *rest.Catalog
	row     rest.Resource
}

func (c *changing) Get(context.Context, rest.Key) (rest.Answer, error) {
	if c.catalog != nil {
		c.catalog.Install(c.row)
	}
	return nil, errors.New("a version of the next definition")
}

func TestARequestThatMeetsTheNextDefinitionIsToBeTriedAgain(t *testing.T) {
	t.Parallel()
	storage := &changing{}
	storage.row = rest.ClusterScoped(schema.GroupVersion{Group: "example.com", Version: "v1"}, "Widget", "widgets", printers.Printer{}).With(storage)
	d := OpenWith(t, storage.row)
	const path = "/apis/example.com/v1/widgets/a"
	assert.Equal(t, 500, d.Do("GET", path, "").Status, "the definition is the same")
	storage.catalog = d.Server.Catalog
	answer := d.Do("GET", path, "")
	assert.Equal(t, 503, answer.Status)
	assert.Equal(t, "1", answer.Header.Get("Retry-After"))
}
