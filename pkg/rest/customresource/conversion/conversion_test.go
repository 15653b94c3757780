package conversion

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/util/certtest"
	"kube2014/pkg/webhook/webhooktest"
)

var v2 = schema.GroupVersion{Group: "example.com", Version: "v2"}

func widget(name, version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/" + version, "kind": "Widget",
		"metadata": map[string]any{"name": name, "namespace": "default", "uid": "u-" + name, "generation": int64(3)}}}
}

// definition returns a definition of widgets, versions v1 and v2. A nil configuration means strategy None.
func definition(config *apiextensionsv1.WebhookConversion) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name, crd.Spec.Group = "widgets.example.com", "example.com"
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1"}, {Name: "v2"}}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	if config != nil {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: config}
	}
	return crd
}

func at(t *testing.T, server *httptest.Server, versions ...string) *Converter {
	target := server.URL + "/convert"
	c, err := New(definition(&apiextensionsv1.WebhookConversion{ConversionReviewVersions: versions,
		ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &target, CABundle: webhooktest.CA(server)}}), nil)
	require.NoError(t, err)
	return c
}

// convertAll is a webhook that does as it should.
func convertAll(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		APIVersion, Kind string
		Request          struct {
			UID, DesiredAPIVersion string
			Objects                []map[string]any
		}
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, object := range asked.Request.Objects {
		object["apiVersion"] = asked.Request.DesiredAPIVersion
		object["count"] = len(asked.Request.Objects)
		delete(object["metadata"].(map[string]any), "generation")
		object["metadata"].(map[string]any)["labels"] = map[string]any{"is": "new"}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": asked.APIVersion, "kind": asked.Kind, "response": map[string]any{
		"uid": asked.Request.UID, "result": map[string]any{"status": "Success"}, "convertedObjects": asked.Request.Objects}})
}

func TestStrategyNoneChangesTheVersionOnly(t *testing.T) {
	t.Parallel()
	c, err := New(definition(nil), nil)
	require.NoError(t, err)
	given := []*unstructured.Unstructured{widget("a", "v1"), widget("b", "v2")}
	converted, err := c.Convert(t.Context(), given, v2)
	require.NoError(t, err)
	assert.Equal(t, []*unstructured.Unstructured{widget("a", "v2"), widget("b", "v2")}, converted)
	assert.Equal(t, widget("a", "v1"), given[0])
	assert.Same(t, given[1], converted[1])

	_, err = c.Convert(t.Context(), given, schema.GroupVersion{Group: "example.com", Version: "v3"})
	require.EqualError(t, err, "request to convert CR to an invalid group/version: example.com/v3")
	_, err = c.Convert(t.Context(), []*unstructured.Unstructured{widget("a", "v3")}, v2)
	require.EqualError(t, err, "request to convert CR from an invalid group/version: example.com/v3")
}

func TestAWebhookConvertsAllOthersTogether(t *testing.T) {
	t.Parallel()
	for _, versions := range [][]string{{"v1"}, {"v3", "v1beta1", "v1"}} {
		c := at(t, webhooktest.Serve(t, convertAll), versions...)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				given := []*unstructured.Unstructured{widget("a", "v1"), widget("b", "v2"), widget("c", "v1")}
				converted, err := c.Convert(t.Context(), given, v2)
				if !assert.NoError(t, err) {
					return
				}
				for i, name := range []string{"a", "", "c"} {
					if name == "" {
						assert.Same(t, given[i], converted[i])
						continue
					}
					want := widget(name, "v2")
					want.SetLabels(map[string]string{"is": "new"})
					want.Object["count"] = int64(2)
					assert.Equal(t, want, converted[i])
					assert.Equal(t, widget(name, "v1"), given[i])
				}
			})
		}
		all.Wait()
	}
}

func TestAServiceIsResolvedAndNamedInItsCertificate(t *testing.T) {
	t.Parallel()
	authority := certtest.Authority(t, "ca")
	pair := authority.Server(t, "hook.system.svc")
	server := webhooktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "hook.system.svc:8443/x?timeout=30s", r.Host+r.URL.String())
		convertAll(w, r)
	}, func(s *httptest.Server) { s.TLS = &tls.Config{Certificates: []tls.Certificate{pair.Certificate}} })
	path, port := "/x", int32(8443)
	away := true
	c, err := New(definition(&apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{
		CABundle: authority.CertPEM, Service: &apiextensionsv1.ServiceReference{Namespace: "system", Name: "hook", Path: &path, Port: &port}}}),
		func(_ context.Context, namespace, name string, port int32) ([]string, error) {
			assert.Equal(t, "system/hook:8443", fmt.Sprintf("%s/%s:%d", namespace, name, port))
			if away {
				return nil, fmt.Errorf("no endpoints available for service %q", name)
			}
			return []string{server.Listener.Addr().String()}, nil
		})
	require.NoError(t, err)
	_, err = c.Convert(t.Context(), []*unstructured.Unstructured{widget("a", "v1")}, v2)
	require.EqualError(t, err, `conversion webhook for example.com/v1, Kind=Widget failed: Post "https://hook.system.svc:8443/x?timeout=30s": no endpoints available for service "hook"`)
	away = false // a failure is not remembered
	_, err = c.Convert(t.Context(), []*unstructured.Unstructured{widget("a", "v1")}, v2)
	require.NoError(t, err)
}

func TestAConversionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := at(t, webhooktest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that the client has gone
		cancel()
		<-r.Context().Done()
	}), "v1")
	_, err := c.Convert(ctx, []*unstructured.Unstructured{widget("a", "v1")}, v2)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAWebhookThatIsAwayPanicsOrAnswersTooMuchIsTold(t *testing.T) {
	t.Parallel()
	broken := webhooktest.Serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := at(t, broken, "v1").Convert(t.Context(), []*unstructured.Unstructured{widget("a", "v1")}, v2)
	require.ErrorContains(t, err, `conversion webhook for example.com/v1, Kind=Widget failed: Post "`+broken.URL+`/convert?timeout=30s": `)

	large := webhooktest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 5<<20)) })
	_, err = at(t, large, "v1").Convert(t.Context(), []*unstructured.Unstructured{widget("a", "v1")}, v2)
	require.ErrorContains(t, err, "the answer has more than")

	large.Close()
	_, err = at(t, large, "v1").Convert(t.Context(), []*unstructured.Unstructured{widget("a", "v1")}, v2)
	require.ErrorContains(t, err, `dial tcp `+strings.TrimPrefix(large.URL, "https://")+`: connect: connection refused`)

	_, err = at(t, broken, "v3").Convert(t.Context(), []*unstructured.Unstructured{widget("a", "v1")}, v2)
	require.EqualError(t, err, "no supported conversion review versions")
}

// otherwise has the errors that are told in other words here: those of today's server name types of Go, or come from a decoder.
var otherwise = map[string]string{
	"another kind":             failed + "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=Review",
	"another version":          failed + "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1beta1, Kind=ConversionReview",
	"no JSON":                  failed + "the answer is no ConversionReview",
	"nothing":                  failed + "0-length response",
	"HTTP 204":                 failed + "0-length response",
	"HTTP 307":                 failed + "the server responded with the status code 307 but did not return more information",
	"an object without a kind": of + "returned invalid object at index 0: Object 'Kind' is missing in '{}'",
	"null":                     of + "returned invalid object at index 0: unexpected end of JSON input",
}

const (
	of     = "conversion webhook for example.com/v1, Kind=Widget "
	failed = of + "failed: "
)

func TestAnswersOfWebhooksAreJudgedAsRecorded(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/answers.json")
	require.NoError(t, err)
	var cases []struct {
		Note, Answer, Message string
		Code                  int
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	for _, test := range cases {
		t.Run(test.Note, func(t *testing.T) {
			t.Parallel()
			var uid string
			c := at(t, webhooktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
				var asked review
				assert.NoError(t, json.NewDecoder(r.Body).Decode(&asked))
				uid = string(asked.Request.UID)
				if test.Code != 0 {
					w.WriteHeader(test.Code)
				}
				_, _ = fmt.Fprint(w, strings.NewReplacer("$UID", uid, "$OBJECTUID", "u-a").Replace(test.Answer))
			}), "v1")
			_, err := c.Convert(t.Context(), []*unstructured.Unstructured{widget("a", "v1")}, v2)
			want := test.Message
			if other := otherwise[test.Note]; other != "" {
				want = other
			}
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, strings.NewReplacer("$UID", uid, "$OBJECTUID", "u-a").Replace(want))
		})
	}
}

func TestAWebhookOfABrokenDefinitionIsRefused(t *testing.T) {
	t.Parallel()
	wrong := "https://%zz"
	for _, config := range []*apiextensionsv1.WebhookClientConfig{nil, {}, {URL: &wrong}, {URL: new(string), CABundle: []byte("rubbish")}} {
		_, err := New(definition(&apiextensionsv1.WebhookConversion{ClientConfig: config}), nil)
		require.Error(t, err)
	}
}

// FuzzAnswers checks that no answer makes a converter panic, or changes the identity of an object.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"response":{"result":{"status":"Success"},"convertedObjects":[{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"a","namespace":"default","uid":"u-a","labels":{"a":"b"}}}]}}`))
	f.Add([]byte(`{"response":{"result":{"status":"Success"},"convertedObjects":[null,{},{"metadata":1}]}}`))
	f.Add([]byte(`{"response":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		answer, err := (&hook{version: "v1beta1"}).objectsOf(text, "")
		if err != nil {
			return
		}
		for _, object := range answer {
			original := widget("a", "v1")
			converted, err := accept(original, object.Raw, v2, 0)
			if err != nil {
				continue
			}
			assert.Equal(t, "a u-a default 3", fmt.Sprint(converted.GetName(), " ", converted.GetUID(), " ", converted.GetNamespace(), " ", converted.GetGeneration()))
			assert.Equal(t, widget("a", "v1"), original)
		}
	})
}
