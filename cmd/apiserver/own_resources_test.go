package main

import (
	"bufio"
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
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/util/certtest"
)

const (
	crds    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	gadgets = "/apis/example.com/v1/namespaces/default/gadgets"
)

// aDefinition is a definition of gadgets. More are members of its spec, and its versions.
func aDefinition(more string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com",
"names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","shortNames":["gd"]},"scope":"Namespaced",` + more + `}}`
}

// aVersion is a version of a definition, with the properties of its spec.
func aVersion(name string, stored bool, properties string) string {
	return fmt.Sprintf(`{"name":%q,"served":true,"storage":%t,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","properties":{%s}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}`, name, stored, properties)
}

const oneSize = `"size":{"type":"integer","default":1,"maximum":9}`

var oneVersion = `"versions":[` + aVersion("v1", true, oneSize) + `]`

func aGadget(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":%q},"spec":%s}`, name, spec)
}

// extended is a server that runs, with its loops.
type extended struct {
	t   *testing.T
	url string
}

func startExtended(t *testing.T, flags ...string) extended {
	_, log, address := unhurriedProgram(t, flags...)
	go log.end() // nobody reads it, and a full pipe would stop the server
	return extended{t, "http://" + address}
}

func (e extended) do(method, path, mediaType, body string) (status int, text string) {
	req, err := http.NewRequestWithContext(unhurriedContext(e.t), method, e.url+path, strings.NewReader(body))
	require.NoError(e.t, err)
	req.Header.Set("Content-Type", mediaType)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(e.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(e.t, err)
	return resp.StatusCode, string(answer)
}

// send sends JSON, and returns the answer, which has the wanted status.
func (e extended) send(wanted int, method, path, body string) string {
	e.t.Helper()
	status, text := e.do(method, path, map[bool]string{true: mergePatch, false: "application/json"}[method == "PATCH"], body)
	require.Equal(e.t, wanted, status, "%s %s: %s", method, path, text)
	return text
}

func (e extended) object(path string) *unstructured.Unstructured {
	e.t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(e.t, json.Unmarshal([]byte(e.send(http.StatusOK, "GET", path, "")), object))
	return object
}

// condition returns the status and the reason of a condition of a definition, "" for none.
func (e extended) condition(name, condition string) string {
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(e.t, json.Unmarshal([]byte(e.send(http.StatusOK, "GET", crds+"/"+name, "")), &crd))
	for _, c := range crd.Status.Conditions {
		if string(c.Type) == condition {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

func (e extended) established(name string) {
	e.t.Helper()
	eventually(e.t, func() bool { return e.condition(name, "Established") == "True InitialNamesAccepted" }, name+" is established")
}

func (e extended) ready() {
	e.t.Helper()
	eventually(e.t, func() bool {
		status, _ := e.do("GET", "/readyz", "", "")
		return status == http.StatusOK
	}, "it is ready")
}

func (e extended) gone(path string) {
	e.t.Helper()
	eventually(e.t, func() bool {
		status, _ := e.do("GET", path, "", "")
		return status == http.StatusNotFound
	}, path+" is gone")
}

// onEachServer runs a test on a server on each store.
func onEachServer(t *testing.T, test func(t *testing.T, e extended)) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			test(t, startExtended(t, flags(t)...))
		})
	}
}

func TestADefinitionMakesAKindThatIsGoneWhenItIsDeleted(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		e.send(201, "POST", crds, aDefinition(oneVersion))
		e.send(201, "POST", gadgets, aGadget("a", `{"unknown":1}`)) // before the definition is established
		assert.Equal(t, map[string]any{"size": int64(1)}, e.object(gadgets + "/a").Object["spec"], "unknown fields are dropped, others have defaults")
		assert.Contains(t, e.send(422, "POST", gadgets, aGadget("b", `{"size":10}`)), "spec.size in body should be less than or equal to 9")
		assert.Contains(t, e.send(400, "POST", gadgets+"?fieldValidation=Strict", aGadget("b", `{"unknown":1}`)), `strict decoding error: unknown field \"spec.unknown\"`)
		assert.Contains(t, e.send(200, "GET", "/apis/example.com/v1", ""), `"gadgets/status"`)
		e.send(200, "PATCH", gadgets+"/a", `{"metadata":{"finalizers":["example.com/hold"]}}`)

		e.send(200, "DELETE", crds+"/gadgets.example.com", "")
		assert.Contains(t, e.send(403, "POST", gadgets, aGadget("c", `{}`)), "create not allowed while custom resource definition is terminating")
		eventually(t, func() bool { return e.object(gadgets+"/a").GetDeletionTimestamp() != nil }, "its objects are deleted")
		assert.Equal(t, "True InstanceDeletionInProgress", e.condition("gadgets.example.com", "Terminating"))
		e.send(200, "PATCH", gadgets+"/a", `{"metadata":{"finalizers":null}}`)
		e.gone(crds + "/gadgets.example.com")
		e.gone(gadgets)

		e.send(201, "POST", crds, aDefinition(oneVersion))
		e.established("gadgets.example.com")
		assert.NotContains(t, e.send(200, "GET", gadgets, ""), `"name"`, "objects of the first definition are not those of the second one")
	})
}

func TestNamesOfAGroupAreTakenOnce(t *testing.T) {
	t.Parallel()
	e := startExtended(t)
	e.send(201, "POST", crds, aDefinition(oneVersion))
	e.established("gadgets.example.com")
	other := strings.NewReplacer("gadgets", "others", `"gadget"`, `"other"`).Replace(aDefinition(oneVersion))
	e.send(201, "POST", crds, other)
	eventually(t, func() bool { return e.condition("others.example.com", "NamesAccepted") == "False ListKindConflict" }, "its kind is taken")
	assert.Equal(t, "False NotAccepted", e.condition("others.example.com", "Established"))
	e.send(404, "GET", "/apis/example.com/v1/others", "")
	e.send(200, "DELETE", crds+"/gadgets.example.com", "")
	e.established("others.example.com")
	e.send(200, "GET", "/apis/example.com/v1/others", "")
}

func TestANewSchemaIsObeyedAtOnceAndEndsWatches(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		e.send(201, "POST", crds, aDefinition(oneVersion))
		e.established("gadgets.example.com")
		e.send(201, "POST", gadgets, aGadget("a", `{"size":2}`))
		watch, err := http.Get(e.url + gadgets + "?watch=1")
		require.NoError(t, err)
		defer watch.Body.Close()
		events := bufio.NewScanner(watch.Body)
		require.True(t, events.Scan())
		assert.Contains(t, events.Text(), `"ADDED"`)
		for limit := range 5 {
			e.send(200, "PATCH", crds+"/gadgets.example.com", fmt.Sprintf(`{"spec":{"versions":[%s]}}`, aVersion("v1", true, fmt.Sprintf(`"size":{"type":"integer","maximum":%d},"color%d":{"type":"string","default":"red"}`, limit, limit))))
			e.send(422, "POST", gadgets, aGadget("b", fmt.Sprintf(`{"size":%d}`, limit+1)))
			assert.Equal(t, map[string]any{"size": int64(2), fmt.Sprint("color", limit): "red"}, e.object(gadgets + "/a").Object["spec"], "an object of an earlier schema has the new defaults")
		}
		for events.Scan() {
			assert.NotContains(t, events.Text(), "ERROR")
		}
		assert.NoError(t, events.Err(), "a watch by the earlier schema has ended")
	})
}

func TestAnObjectIsServedInAllVersions(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		both := func(first, second bool) string {
			return `"versions":[` + aVersion("v1", first, `"size":{"type":"integer"},"old":{"type":"string","default":"o"}`) + `,` + aVersion("v2", second, `"size":{"type":"integer"},"new":{"type":"string"}`) + `]`
		}
		e.send(201, "POST", crds, aDefinition(both(true, false)))
		e.established("gadgets.example.com")
		e.send(201, "POST", gadgets, aGadget("a", `{"size":1}`))
		inV2 := strings.Replace(gadgets, "/v1/", "/v2/", 1)
		assert.Equal(t, map[string]any{"size": int64(1)}, e.object(inV2 + "/a").Object["spec"], "v2 has no field old")
		e.send(200, "PATCH", crds+"/gadgets.example.com", `{"spec":{`+both(false, true)+`}}`)
		e.send(200, "PATCH", inV2+"/a", `{"spec":{"new":"n"}}`)
		assert.Equal(t, map[string]any{"size": int64(1)}, e.object(gadgets + "/a").Object["spec"], "as in today's server, defaults are those of the stored version")
		assert.Equal(t, "example.com/v2", e.object(inV2+"/a").GetAPIVersion())
		var crd apiextensionsv1.CustomResourceDefinition
		require.NoError(t, json.Unmarshal([]byte(e.send(200, "GET", crds+"/gadgets.example.com", "")), &crd))
		assert.Equal(t, []string{"v1", "v2"}, crd.Status.StoredVersions)
		assert.Contains(t, e.send(422, "PATCH", crds+"/gadgets.example.com", `{"spec":{"versions":[`+aVersion("v2", true, oneSize)+`]}}`),
			`status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version`)
		assert.Regexp(t, `(?s)"preferredVersion":\{[^}]*"version":"v2"`, e.send(200, "GET", "/apis/example.com", ""))
	})
}

// A new object is stored together with a check of its definition: an object that is left over would be one of the next
// definition.
func TestNoObjectIsLeftOverWhenItsDefinitionIsGone(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		for round := range 3 {
			e.send(201, "POST", crds, aDefinition(oneVersion))
			e.established("gadgets.example.com")
			assert.NotContains(t, e.send(200, "GET", gadgets, ""), `"name"`)
			var writers sync.WaitGroup
			var stop atomic.Bool
			for writer := range 4 {
				writers.Go(func() {
					for i := 0; !stop.Load(); i++ {
						status, text := e.do("POST", gadgets, "application/json", aGadget(fmt.Sprintf("g-%d-%d-%d", round, writer, i), `{}`))
						assert.Contains(t, []int{201, 403, 404}, status, text)
					}
				})
			}
			eventually(t, func() bool { return strings.Contains(e.send(200, "GET", gadgets, ""), `"name"`) }, "there are objects")
			e.send(200, "DELETE", crds+"/gadgets.example.com", "")
			e.gone(crds + "/gadgets.example.com")
			stop.Store(true)
			writers.Wait()
		}
	})
}

// The objects of the first definition have a version that the second one does not know. A watch that just ended would be begun
// again from the same version, for ever.
func TestAWatchFromBeforeADefinitionWasMadeAgainSaysWhyItEnds(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		e.send(201, "POST", crds, aDefinition(`"versions":[`+aVersion("v1", false, oneSize)+`,`+aVersion("v2", true, oneSize)+`]`))
		e.established("gadgets.example.com")
		e.send(201, "POST", gadgets, aGadget("a", `{}`))
		version := e.object(gadgets + "/a").GetResourceVersion()
		e.send(200, "DELETE", crds+"/gadgets.example.com", "")
		e.gone(crds + "/gadgets.example.com")
		e.send(201, "POST", crds, aDefinition(oneVersion))
		e.established("gadgets.example.com")
		assert.Contains(t, e.send(200, "GET", gadgets+"?watch=1&timeoutSeconds=60&resourceVersion="+version, ""), `"type":"ERROR"`)
	})
}

func TestAListWithAnObjectOfAVersionThatIsGoneIsToBeTriedAgain(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		second := aVersion("v2", true, oneSize)
		e.send(201, "POST", crds, aDefinition(`"versions":[`+aVersion("v1", false, oneSize)+`,`+second+`]`))
		e.send(201, "POST", gadgets, aGadget("a", `{}`))
		e.established("gadgets.example.com")
		e.send(200, "PATCH", crds+"/gadgets.example.com", `{"spec":{`+oneVersion[:len(oneVersion)-1]+`,`+strings.Replace(second, `"storage":true`, `"storage":false`, 1)+`]}}`)
		e.send(200, "PATCH", crds+"/gadgets.example.com/status", `{"status":{"storedVersions":["v1"]}}`)
		e.send(200, "GET", gadgets, "")
		e.send(200, "PATCH", crds+"/gadgets.example.com", `{"spec":{`+oneVersion+`}}`)
		assert.Contains(t, e.send(429, "GET", gadgets, ""), "storage is (re)initializing: request to convert CR from an invalid group/version: example.com/v2")
		e.send(500, "GET", gadgets+"/a", "")
	})
}

// A request that begins with one definition, and ends with the next one, could leave an object that nobody can reach.
func TestAnObjectIsNotStoredForTheNextDefinition(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		e.send(201, "POST", crds, aDefinition(oneVersion))
		e.established("gadgets.example.com")
		conn, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		body, answers := aGadget("late", `{"size":9}`), bufio.NewReader(conn)
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", gadgets, len(body))
		require.NoError(t, err)
		begun, err := http.ReadResponse(answers, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusContinue, begun.StatusCode, "the handler reads the body")
		e.send(200, "DELETE", crds+"/gadgets.example.com", "")
		e.gone(crds + "/gadgets.example.com")
		e.send(201, "POST", crds, strings.Replace(aDefinition(`"versions":[`+aVersion("v1", true, `"size":{"type":"integer","maximum":1}`)+`]`), "Namespaced", "Cluster", 1))
		e.established("gadgets.example.com")
		_, err = fmt.Fprint(conn, body)
		require.NoError(t, err)
		answer, err := http.ReadResponse(answers, nil)
		require.NoError(t, err)
		defer answer.Body.Close()
		assert.Equal(t, http.StatusForbidden, answer.StatusCode)
		assert.Contains(t, e.send(200, "GET", "/apis/example.com/v1/gadgets", ""), `"items":[]`)
	})
}

func TestOwnResourcesTakePartInEverything(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		const namespace = "/api/v1/namespaces/dev"
		inDev := strings.Replace(gadgets, "default", "dev", 1)
		e.send(201, "POST", "/api/v1/namespaces", `{"metadata":{"name":"dev"}}`)
		e.send(201, "POST", namespace+"/resourcequotas", `{"metadata":{"name":"q"},"spec":{"hard":{"count/gadgets.example.com":"2"}}}`)
		e.send(201, "POST", crds, aDefinition(oneVersion))
		e.established("gadgets.example.com")
		e.send(201, "POST", inDev, aGadget("owner", `{}`))
		uid := e.object(inDev + "/owner").GetUID()
		e.send(201, "POST", inDev, strings.Replace(aGadget("owned", `{}`), `"metadata":{`, `"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Gadget","name":"owner","uid":"`+string(uid)+`"}],`, 1))
		assert.Contains(t, e.send(403, "POST", inDev, aGadget("third", `{}`)), "exceeded quota: q, requested: count/gadgets.example.com=1, used: count/gadgets.example.com=2, limited: count/gadgets.example.com=2")
		e.send(200, "DELETE", inDev+"/owner", "")
		e.gone(inDev + "/owned")
		assert.Contains(t, e.send(404, "POST", strings.Replace(gadgets, "default", "nowhere", 1), aGadget("a", `{}`)), `namespaces \"nowhere\" not found`)
		e.send(201, "POST", inDev, aGadget("last", `{}`))
		e.send(200, "DELETE", namespace, "")
		e.gone(namespace)
		assert.NotContains(t, e.send(200, "GET", "/apis/example.com/v1/gadgets", ""), `"name"`)
		assert.Contains(t, e.send(200, "GET", "/metrics", ""), `group="example.com",resource="gadgets"`)
	})
}

func TestOwnResourcesAreThereAfterARestart(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, flags []string) {
		e := startExtended(t, flags...)
		e.send(201, "POST", crds, aDefinition(oneVersion))
		e.established("gadgets.example.com")
		e.send(201, "POST", gadgets, aGadget("a", `{"size":3}`))
		before := e.object(gadgets + "/a")
		other := startExtended(t, flags...)
		other.ready()
		assert.Equal(t, before, other.object(gadgets+"/a"), "an apiserver that is ready serves all kinds")
		other.send(200, "PATCH", crds+"/gadgets.example.com", `{"spec":{"versions":[`+aVersion("v1", true, `"size":{"type":"integer","maximum":3}`)+`]}}`)
		eventually(t, func() bool {
			status, _ := e.do("POST", gadgets+"?dryRun=All", "application/json", aGadget("b", `{"size":4}`))
			return status == http.StatusUnprocessableEntity
		}, "the other apiserver obeys too")
	})
}

func TestATableHasTheColumnsOfTheDefinition(t *testing.T) {
	t.Parallel()
	e := startExtended(t)
	columns := `"additionalPrinterColumns":[{"name":"Size","type":"integer","jsonPath":".spec.size"},{"name":"Half","type":"number","jsonPath":".spec.half"},{"name":"On","type":"boolean","jsonPath":".spec.on"},
{"name":"Since","type":"date","jsonPath":".spec.since"},{"name":"Never","type":"date","jsonPath":".spec.never"},{"name":"List","type":"string","jsonPath":".spec.list"},{"name":"Wrong","type":"integer","jsonPath":".spec.on"},{"name":"None","type":"string","jsonPath":".spec.none"}],`
	version := strings.Replace(aVersion("v1", true, `"size":{"type":"integer"},"half":{"type":"number"},"on":{"type":"boolean"},"since":{"type":"string"},"never":{"type":"string"},"list":{"type":"array","items":{"type":"string"}}`), `"served"`, columns+`"served"`, 1)
	e.send(201, "POST", crds, aDefinition(`"versions":[`+version+`]`))
	e.established("gadgets.example.com")
	e.send(201, "POST", gadgets, aGadget("a", `{"size":2,"half":0.5,"on":true,"since":"2014-06-06T00:00:00Z","never":"soon","list":["x","y"]}`))
	req, err := http.NewRequest("GET", e.url+gadgets, nil)
	require.NoError(t, err)
	req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	var table metav1.Table
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&table))
	require.Len(t, table.Rows, 1)
	cells := table.Rows[0].Cells
	assert.Regexp(t, `^1[0-9]y`, cells[4])
	cells[4] = "years"
	assert.Equal(t, []any{"a", 2.0, 0.5, true, "years", "<invalid>", `["x","y"]`, nil, nil}, cells)
}

// A webhook renames the field of the older version, size, to length. It is reached by the endpoints of its service.
func TestAConversionWebhookConvertsOnTheWay(t *testing.T) {
	onEachServer(t, func(t *testing.T, e extended) {
		authority := certtest.Authority(t, "authority")
		var calls atomic.Int64
		var away atomic.Bool
		hook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls.Add(1)
			if away.Load() {
				http.Error(w, "away", http.StatusServiceUnavailable)
				return
			}
			var review apiextensionsv1.ConversionReview
			assert.NoError(t, json.NewDecoder(r.Body).Decode(&review))
			response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: "Success"}}
			for _, raw := range review.Request.Objects {
				text := strings.Replace(string(raw.Raw), `"size"`, `"length"`, 1)
				if review.Request.DesiredAPIVersion == "example.com/v1" {
					text = strings.Replace(string(raw.Raw), `"length"`, `"size"`, 1)
				}
				text = strings.NewReplacer("example.com/v1", review.Request.DesiredAPIVersion, "example.com/v2", review.Request.DesiredAPIVersion).Replace(text)
				response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Raw: []byte(text)})
			}
			review.Request, review.Response = nil, response
			assert.NoError(t, json.NewEncoder(w).Encode(review))
		}))
		hook.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Server(t, "hook.default.svc").Certificate}}
		hook.StartTLS()
		t.Cleanup(hook.Close)
		_, port, err := net.SplitHostPort(hook.Listener.Addr().String())
		require.NoError(t, err)
		e.send(201, "POST", "/api/v1/namespaces/default/services", `{"metadata":{"name":"hook"},"spec":{"ports":[{"port":443}]}}`)
		e.send(201, "POST", "/api/v1/namespaces/default/endpoints", `{"metadata":{"name":"hook"},"subsets":[{"addresses":[{"ip":"127.0.0.1"}],"ports":[{"port":`+port+`}]}]}`)

		e.send(201, "POST", crds, aDefinition(`"versions":[`+aVersion("v1", false, `"size":{"type":"integer"}`)+`,`+aVersion("v2", true, `"length":{"type":"integer"}`)+`],
"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"caBundle":"`+base64.StdEncoding.EncodeToString(authority.CertPEM)+`",
"service":{"namespace":"default","name":"hook","path":"/convert"}}}}`))
		e.established("gadgets.example.com")
		for i := range 5 {
			e.send(201, "POST", gadgets, aGadget(fmt.Sprint("g", i), `{"size":3}`))
		}
		inV2 := strings.Replace(gadgets, "/v1/", "/v2/", 1)
		assert.Equal(t, map[string]any{"length": int64(3)}, e.object(inV2 + "/g1").Object["spec"])
		e.send(200, "PATCH", inV2+"/g1", `{"spec":{"length":4}}`)
		assert.Equal(t, map[string]any{"size": int64(4)}, e.object(gadgets + "/g1").Object["spec"])
		e.send(200, "GET", gadgets, "")
		before := calls.Load()
		e.send(200, "GET", gadgets, "")
		assert.Equal(t, before, calls.Load(), "each version of an object is converted once")

		away.Store(true)
		e.send(201, "POST", inV2+"?dryRun=All", strings.Replace(aGadget("new", `{"length":1}`), "/v1", "/v2", 1))
		e.send(201, "POST", inV2, strings.Replace(aGadget("new", `{"length":1}`), "/v1", "/v2", 1))
		answer := e.send(500, "GET", gadgets, "")
		assert.Contains(t, answer, "conversion webhook for example.com/v2, Kind=Gadget failed: ")
		away.Store(false)
		assert.Contains(t, e.send(200, "GET", gadgets, ""), `"new"`, "a failure is not kept")
		away.Store(true)
		e.send(200, "DELETE", crds+"/gadgets.example.com", "")
		e.gone(crds + "/gadgets.example.com")
	})
}

func TestOwnResourcesCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	d := openDoors(t, "-runtime_config", "apiextensions.k8s.io/v1=false,apiregistration.k8s.io/v1=false")
	d.send(http.StatusNotFound, "GET", crds, "")
	d.send(http.StatusNotFound, "GET", gadgets, "")
	d.send(http.StatusOK, "GET", todaysPods, "")
}
