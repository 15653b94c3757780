package conversion_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/rest/customresource/conversion"
	"kube2014/pkg/webhook/webhooktest"
)

var (
	v1 = schema.GroupVersion{Group: "example.com", Version: "v1"}
	v2 = schema.GroupVersion{Group: "example.com", Version: "v2"}
)

// gadget is an object in a version.
func gadget(version schema.GroupVersion, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": version.String(), "kind": "Gadget", "spec": map[string]any{"size": int64(1)},
		"metadata": map[string]any{"name": name, "namespace": "default", "uid": "u", "generation": int64(3), "labels": map[string]any{"a": "b"}}}}
}

// answers is a webhook's answer to a review of some objects, in JSON.
type answers func(uid string, objects []map[string]any) string

// converted is the right answer; change makes it a wrong one.
func converted(change func(object map[string]any)) answers {
	return func(uid string, objects []map[string]any) string {
		for _, object := range objects {
			object["apiVersion"] = "example.com/v2"
			change(object)
		}
		text, _ := json.Marshal(objects)
		return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"` + uid + `","result":{"status":"Success"},"convertedObjects":` + string(text) + `}}`
	}
}

func asIs(map[string]any) {}

// caller returns a converter by a webhook, and the reviews that this gets.
func caller(t *testing.T, answer answers, versions ...string) (conversion.Converter, *atomic.Int64) {
	calls := &atomic.Int64{}
	server := webhooktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var review struct {
			APIVersion string
			Request    struct {
				UID, DesiredAPIVersion string
				Objects                []map[string]any
			}
		}
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&review))
		assert.Equal(t, "example.com/v2", review.Request.DesiredAPIVersion)
		_, _ = w.Write([]byte(answer(review.Request.UID, review.Request.Objects)))
	})
	return of(server, versions...), calls
}

func of(server *httptest.Server, versions ...string) conversion.Converter {
	if len(versions) == 0 {
		versions = []string{"v9", "v1"}
	}
	return conversion.New(definition(&apiextensionsv1.WebhookConversion{ConversionReviewVersions: versions,
		ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &server.URL, CABundle: webhooktest.CA(server)}}), nil)
}

func definition(webhook *apiextensionsv1.WebhookConversion) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: webhook}
	return crd
}

func TestWithoutAWebhookOnlyTheVersionChanges(t *testing.T) {
	t.Parallel()
	before := gadget(v1, "a")
	after, err := conversion.New(&apiextensionsv1.CustomResourceDefinition{}, nil).Convert(t.Context(), []*unstructured.Unstructured{before}, v2)
	require.NoError(t, err)
	assert.Equal(t, []*unstructured.Unstructured{gadget(v2, "a")}, after)
	assert.Equal(t, gadget(v1, "a"), before)
}

func TestAWebhookConvertsAllObjectsInOneCall(t *testing.T) {
	t.Parallel()
	c, calls := caller(t, converted(func(object map[string]any) {
		object["spec"] = map[string]any{"length": 2}
		metadata := object["metadata"].(map[string]any)
		metadata["generation"], metadata["labels"] = 99, map[string]any{"c": "d"}
	}))
	objects := []*unstructured.Unstructured{gadget(v1, "a"), gadget(v2, "b"), gadget(v1, "c")}
	after, err := c.Convert(t.Context(), objects, v2)
	require.NoError(t, err)
	assert.EqualValues(t, 1, calls.Load())
	want := gadget(v2, "a")
	want.Object["spec"] = map[string]any{"length": int64(2)}
	want.SetLabels(map[string]string{"c": "d"})
	assert.Equal(t, want, after[0], "it may change labels, but not the generation")
	assert.Same(t, objects[1], after[1])
	assert.Equal(t, "c", after[2].GetName())
	assert.Equal(t, gadget(v1, "a"), objects[0])
	_, err = c.Convert(t.Context(), objects[1:2], v2)
	assert.NoError(t, err)
	assert.EqualValues(t, 1, calls.Load(), "nothing is to be converted")
}

func TestAWebhookMayKnowOnlyTheFirstVersionOfReviews(t *testing.T) {
	t.Parallel()
	c, _ := caller(t, func(_ string, objects []map[string]any) string {
		return strings.Replace(converted(asIs)("no uid", objects), "/v1", "/v1beta1", 1)
	}, "v1beta1", "v1")
	after, err := c.Convert(t.Context(), []*unstructured.Unstructured{gadget(v1, "a")}, v2)
	require.NoError(t, err)
	assert.Equal(t, gadget(v2, "a"), after[0])
}

func TestAWebhookThatLiesIsAnError(t *testing.T) {
	t.Parallel()
	text := func(text string) answers {
		return func(uid string, _ []map[string]any) string { return strings.ReplaceAll(text, "UID", uid) }
	}
	in := func(member string, value any) answers {
		return converted(func(object map[string]any) { object["metadata"].(map[string]any)[member] = value })
	}
	const review = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"`
	for want, answer := range map[string]answers{
		"failed: no response provided":          text(review + `}`),
		`got "other"`:                           text(review + `,"response":{"uid":"other"}}`),
		"failed: too old":                       text(review + `,"response":{"uid":"UID","result":{"status":"Failure","message":"too old"}}}`),
		"failed: response.result.status was ''": text(review + `,"response":{"uid":"UID"}}`),
		"returned 0 objects, expected 1":        text(review + `,"response":{"uid":"UID","result":{"status":"Success"}}}`),
		"failed: the answer is of another kind": text(`{"apiVersion":"v1","kind":"Pod"}`),
		"failed: ":                              text("no JSON"),
		"returned invalid converted object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v3)": converted(func(object map[string]any) { object["apiVersion"] = "example.com/v3" }),
		"invalid kind (expected Gadget, received Other)":                                                                        converted(func(object map[string]any) { object["kind"] = "Other" }),
		"must have the same name: a != b":                                                                                       in("name", "b"),
		"must have the same namespace: default != other":                                                                        in("namespace", "other"),
		"must have the same UID: u != x":                                                                                        in("uid", "x"),
		"invalid metadata.labels of type string in converted object":                                                            in("labels", "x"),
		"metadata.labels[a] must be a string, but is int64":                                                                     in("labels", map[string]any{"a": 1}),
		"metadata.labels: Invalid value":                                                                                        in("labels", map[string]any{"a": "not a label"}),
		"metadata.annotation: Invalid value":                                                                                    in("annotations", map[string]any{"not a name": "x"}),
		"must have the same name: a != \n":                                                                                      converted(func(object map[string]any) { delete(object, "metadata") }),
		"returned invalid converted object at index 0: Object 'Kind' is missing":                                                converted(func(object map[string]any) { delete(object, "kind") }),
	} {
		c, _ := caller(t, answer)
		_, err := c.Convert(t.Context(), []*unstructured.Unstructured{gadget(v1, "a")}, v2)
		require.Error(t, err, want)
		assert.Contains(t, err.Error()+"\n", want)
		assert.True(t, strings.HasPrefix(err.Error(), "conversion webhook for example.com/v1, Kind=Gadget "), err)
	}
}

func TestAWebhookThatCannotBeCalledIsAnError(t *testing.T) {
	t.Parallel()
	server := webhooktest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		http.Redirect(w, &http.Request{}, "https://127.0.0.1/", http.StatusFound)
	})
	broken := webhooktest.Serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	noPEM, unknown := definition(&apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &server.URL, CABundle: []byte("x")}}),
		definition(&apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &server.URL}})
	ofService := definition(&apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{
		Service: &apiextensionsv1.ServiceReference{Namespace: "n", Name: "s"}}})
	nowhere := func(_ context.Context, namespace, name string, port int32) (string, error) {
		assert.Equal(t, []any{"n", "s", int32(443)}, []any{namespace, name, port})
		return "", errors.New("no such service")
	}
	for want, c := range map[string]conversion.Converter{
		"it answered 302": of(server), "EOF": of(broken), "no supported conversion review versions": of(server, "v9"), "unable to parse bytes as PEM block": conversion.New(noPEM, nil),
		"certificate": conversion.New(unknown, nil), "no such service": conversion.New(ofService, nowhere),
	} {
		_, err := c.Convert(t.Context(), []*unstructured.Unstructured{gadget(v1, "a")}, v2)
		assert.ErrorContains(t, err, want)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 1)
	server := webhooktest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // net/http detects a closed connection only after the body has been read
		called <- struct{}{}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-called
		cancel()
	}()
	_, err := of(server).Convert(ctx, []*unstructured.Unstructured{gadget(v1, "a")}, v2)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestAConverterIsForManyGoroutines(t *testing.T) {
	t.Parallel()
	c, _ := caller(t, converted(asIs))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			after, err := c.Convert(t.Context(), []*unstructured.Unstructured{gadget(v1, "a")}, v2)
			if assert.NoError(t, err) {
				assert.Equal(t, gadget(v2, "a"), after[0])
			}
		})
	}
	all.Wait()
}
