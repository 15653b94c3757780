// Package conversion converts own resources between the versions of their CustomResourceDefinition.
package conversion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/util/services"
	"kube2014/pkg/webhook"
)

// Converter converts the objects of one CustomResourceDefinition between its versions. It is safe for concurrent use.
type Converter struct {
	group    string
	versions map[string]bool
	hook     *hook // nil for strategy None
}

// New returns the converter of a CustomResourceDefinition, which must be valid and have its defaults. It keeps nothing of it.
// An error is of a CA bundle or a URL that cannot be used.
func New(crd *apiextensionsv1.CustomResourceDefinition, resolve services.Resolver) (*Converter, error) {
	c := &Converter{group: crd.Spec.Group, versions: map[string]bool{}}
	for i := range crd.Spec.Versions {
		c.versions[crd.Spec.Versions[i].Name] = true
	}
	conversion := crd.Spec.Conversion
	if conversion == nil || conversion.Strategy == apiextensionsv1.NoneConverter {
		return c, nil
	}
	if conversion.Strategy != apiextensionsv1.WebhookConverter || conversion.Webhook == nil {
		return nil, fmt.Errorf("unknown conversion strategy %q for CRD %s", conversion.Strategy, crd.Name)
	}
	var err error
	c.hook, err = newHook(conversion.Webhook, resolve)
	return c, err
}

// Convert returns the objects in a version of their group, in the same order. It does not change the given ones; objects that
// have that version already are returned as they are. A webhook is called once for all others together. It ends with its context.
//
// An error is an internal one (500), has no values of objects but their names, and is not remembered.
func (c *Converter) Convert(ctx context.Context, objects []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	if !c.has(to) {
		return nil, fmt.Errorf("request to convert CR to an invalid group/version: %s", to)
	}
	converted := make([]*unstructured.Unstructured, len(objects))
	var others []*unstructured.Unstructured
	var places []int // of the others
	for i, object := range objects {
		from := object.GroupVersionKind().GroupVersion()
		switch {
		case !c.has(from):
			return nil, fmt.Errorf("request to convert CR from an invalid group/version: %s", from)
		case from == to:
			converted[i] = object
		case c.hook == nil:
			converted[i] = object.DeepCopy()
			converted[i].SetAPIVersion(to.String())
		default:
			others, places = append(others, object), append(places, i)
		}
	}
	if len(others) == 0 {
		return converted, nil
	}
	answered, err := c.hook.convert(ctx, others, to)
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		converted[place] = answered[i]
	}
	return converted, nil
}

func (c *Converter) has(version schema.GroupVersion) bool {
	return version.Group == c.group && c.versions[version.Version]
}

// timeout bounds a call.
const timeout = 30 * time.Second

// hook is a conversion webhook.
type hook struct {
	client  *webhook.Client
	url     string
	version string // of its reviews, "" if it has none that is known here
}

func newHook(config *apiextensionsv1.WebhookConversion, resolve services.Resolver) (*hook, error) {
	h := &hook{}
	for _, version := range config.ConversionReviewVersions {
		if version == "v1" || version == "v1beta1" {
			h.version = version
			break
		}
	}
	var at admissionregistrationv1.WebhookClientConfig
	if client := config.ClientConfig; client != nil {
		at.URL, at.Service, at.CABundle = client.URL, (*admissionregistrationv1.ServiceReference)(client.Service), client.CABundle
	}
	var err error
	h.client, h.url, err = webhook.NewConfigured(field.NewPath("spec", "conversion", "webhook", "clientConfig"), at, timeout, resolve)
	return h, err
}

// review is a ConversionReview of any version. The versions differ in name only.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *apiextensionsv1.ConversionRequest  `json:"request,omitempty"`
	Response        *apiextensionsv1.ConversionResponse `json:"response,omitempty"`
}

// reviewKind is the kind of the reviews of a version.
func reviewKind(version string) schema.GroupVersionKind {
	return apiextensionsv1.SchemeGroupVersion.WithKind("ConversionReview").GroupKind().WithVersion(version)
}

// convert converts objects, at least one, by one call. They are of other versions.
func (h *hook) convert(ctx context.Context, objects []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	if h.version == "" {
		return nil, errors.New("no supported conversion review versions")
	}
	of := objects[0].GroupVersionKind()
	response, err := h.call(ctx, objects, to)
	if err != nil {
		return nil, fmt.Errorf("conversion webhook for %v failed: %w", of, err)
	}
	if got, expected := len(response), len(objects); got != expected {
		return nil, fmt.Errorf("conversion webhook for %v returned %d objects, expected %d", of, got, expected)
	}
	converted := make([]*unstructured.Unstructured, len(objects))
	for i, object := range objects {
		if converted[i], err = accept(object, response[i].Raw, to, i); err != nil {
			return nil, fmt.Errorf("conversion webhook for %v returned invalid %w", of, err)
		}
	}
	return converted, nil
}

// call asks the webhook, and returns what it calls the converted objects.
func (h *hook) call(ctx context.Context, objects []*unstructured.Unstructured, to schema.GroupVersion) ([]runtime.RawExtension, error) {
	request := &apiextensionsv1.ConversionRequest{UID: uuid.NewUUID(), DesiredAPIVersion: to.String()}
	for _, object := range objects {
		request.Objects = append(request.Objects, runtime.RawExtension{Object: object})
	}
	apiVersion, kind := reviewKind(h.version).ToAPIVersionAndKind()
	body, err := json.Marshal(&review{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, Request: request})
	if err != nil {
		return nil, errors.New("the review cannot be encoded")
	}
	text, err := h.client.CallOnce(ctx, timeout, maxAnswer(len(body)), body)
	var answered webhook.Answered
	switch {
	case errors.As(err, &answered):
		return nil, apierrors.NewGenericServerResponse(int(answered), "post", schema.GroupResource{}, "", "unknown", 0, true)
	case err != nil:
		return nil, &url.Error{Op: "Post", URL: h.url, Err: err}
	}
	return h.objectsOf(text, request.UID)
}

// maxAnswer bounds an answer to a review of some bytes: objects grow when they are converted, but not without bounds.
func maxAnswer(bytes int) int64 { return 4*int64(bytes) + 4<<20 }

// objectsOf returns the converted objects of an answer.
func (h *hook) objectsOf(text []byte, uid types.UID) ([]runtime.RawExtension, error) {
	var answer review
	if len(text) == 0 {
		return nil, errors.New("0-length response")
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, errors.New("the answer is no ConversionReview")
	}
	if want, got := reviewKind(h.version), answer.GroupVersionKind(); h.version == "v1" && got != want {
		return nil, fmt.Errorf("expected webhook response of %v, got %v", want, got)
	}
	response := answer.Response
	switch {
	case response == nil:
		return nil, errors.New("no response provided")
	case h.version == "v1" && response.UID != uid: // webhooks of v1beta1 need not repeat it
		return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, response.UID)
	case response.Result.Status == metav1.StatusSuccess:
		return response.ConvertedObjects, nil
	case response.Result.Message != "":
		return nil, errors.New(response.Result.Message)
	}
	return nil, fmt.Errorf("response.result.status was '%s', not 'Success'", response.Result.Status)
}
