package conversion

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/webhook"
)

const (
	// timeout bounds a call, as in today's server.
	timeout = 30 * time.Second
	// maxAnswer bounds the answer of a webhook, in bytes.
	maxAnswer = 64 << 20
)

// caller implements Converter by a webhook.
type caller struct {
	client   *webhook.Client
	invalid  error // the configuration is not valid
	versions []string
}

func newCaller(config *apiextensionsv1.WebhookConversion, resolve webhook.ServiceResolver) *caller {
	c := &caller{versions: config.ConversionReviewVersions}
	var authorities *x509.CertPool
	if bundle := bytes.TrimSpace(config.ClientConfig.CABundle); len(bundle) > 0 {
		authorities = x509.NewCertPool()
		if !authorities.AppendCertsFromPEM(bundle) {
			c.invalid = errors.New("unable to load root certificates: unable to parse bytes as PEM block")
			return c
		}
	}
	switch service := config.ClientConfig.Service; {
	case service != nil:
		port, path := int32(443), ""
		if service.Port != nil {
			port = *service.Port
		}
		if service.Path != nil {
			path = *service.Path
		}
		c.client = webhook.NewOfService(service.Namespace, service.Name, port, path, authorities, resolve)
	case config.ClientConfig.URL != nil:
		c.client = webhook.NewAt(*config.ClientConfig.URL, authorities)
	default:
		c.invalid = errors.New("webhook configuration must have either service or URL")
	}
	return c
}

// Convert implements Converter.
func (c *caller) Convert(ctx context.Context, objects []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	var sent []runtime.RawExtension
	all := slices.Clone(objects)
	var places []int // in all, of those that are sent
	for i, object := range objects {
		if object.GroupVersionKind().GroupVersion() != to {
			sent, places = append(sent, runtime.RawExtension{Object: object}), append(places, i)
		}
	}
	if len(sent) == 0 {
		return all, nil
	}
	kind := objects[places[0]].GroupVersionKind()
	received, err := c.call(ctx, sent, to)
	if err != nil {
		return nil, failed(kind, "failed: %w", err)
	}
	if len(received) != len(sent) {
		return nil, failed(kind, "returned %d objects, expected %d", len(received), len(sent))
	}
	for i, raw := range received {
		at := places[i]
		converted := &unstructured.Unstructured{}
		if err := converted.UnmarshalJSON(raw.Raw); err != nil {
			return nil, failed(kind, "returned invalid converted object at index %v: %w", i, err)
		}
		if err := c.check(objects[at], converted, to); err != nil {
			return nil, failed(kind, "returned invalid converted object at index %v: %w", i, err)
		}
		if err := keepMetadata(objects[at], converted); err != nil {
			return nil, failed(kind, "returned invalid metadata in object at index %v: %w", i, err)
		}
		all[at] = converted
	}
	return all, nil
}

// call calls the webhook once.
func (c *caller) call(ctx context.Context, objects []runtime.RawExtension, to schema.GroupVersion) ([]runtime.RawExtension, error) {
	if c.invalid != nil {
		return nil, c.invalid
	}
	uid, kind := uuid.NewUUID(), metav1.TypeMeta{Kind: "ConversionReview"}
	for _, version := range c.versions {
		switch version {
		case apiextensionsv1.SchemeGroupVersion.Version:
			kind.APIVersion = apiextensionsv1.SchemeGroupVersion.String()
			var answer apiextensionsv1.ConversionReview
			review := &apiextensionsv1.ConversionReview{TypeMeta: kind, Request: &apiextensionsv1.ConversionRequest{UID: uid, DesiredAPIVersion: to.String(), Objects: objects}}
			if err := c.client.PostOnce(ctx, timeout, maxAnswer, review, &answer); err != nil {
				return nil, err
			}
			if answer.Response == nil {
				return nil, errNoResponse
			}
			if answer.Response.UID != uid {
				return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, answer.Response.UID)
			}
			return answer.Response.ConvertedObjects, succeeded(answer.Response.Result)
		case apiextensionsv1beta1.SchemeGroupVersion.Version: // today's server does not check the uid of its answers
			kind.APIVersion = apiextensionsv1beta1.SchemeGroupVersion.String()
			var answer apiextensionsv1beta1.ConversionReview
			review := &apiextensionsv1beta1.ConversionReview{TypeMeta: kind, Request: &apiextensionsv1beta1.ConversionRequest{UID: types.UID(uid), DesiredAPIVersion: to.String(), Objects: objects}}
			if err := c.client.PostOnce(ctx, timeout, maxAnswer, review, &answer); err != nil {
				return nil, err
			}
			if answer.Response == nil {
				return nil, errNoResponse
			}
			return answer.Response.ConvertedObjects, succeeded(answer.Response.Result)
		}
	}
	return nil, errors.New("no supported conversion review versions")
}

var errNoResponse = errors.New("no response provided")

// succeeded returns an error if a webhook reports a failure.
func succeeded(result metav1.Status) error {
	switch {
	case result.Status == metav1.StatusSuccess:
		return nil
	case result.Message != "":
		return errors.New(result.Message)
	}
	return fmt.Errorf("response.result.status was '%s', not 'Success'", result.Status)
}

// check returns an error if a converted object is another one.
func (c *caller) check(original, converted *unstructured.Unstructured, to schema.GroupVersion) error {
	if got := converted.GroupVersionKind().GroupVersion(); got != to {
		return fmt.Errorf("invalid groupVersion (expected %v, received %v)", to, got)
	}
	if want, got := original.GetKind(), converted.GetKind(); want != got {
		return fmt.Errorf("invalid kind (expected %v, received %v)", want, got)
	}
	for _, same := range []struct{ what, want, got string }{
		{"name", original.GetName(), converted.GetName()},
		{"namespace", original.GetNamespace(), converted.GetNamespace()},
		{"UID", string(original.GetUID()), string(converted.GetUID())},
	} {
		if same.want != same.got {
			return fmt.Errorf("must have the same %s: %v != %v", same.what, same.want, same.got)
		}
	}
	return nil
}

// keepMetadata gives a converted object the metadata of the original, but its own labels and annotations.
func keepMetadata(original, converted *unstructured.Unstructured) error {
	value, found := converted.Object["metadata"]
	if !found {
		return errors.New("missing metadata in converted object")
	}
	received, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata of type %T in converted object", value)
	}
	metadata, _ := runtime.DeepCopyJSONValue(original.Object["metadata"]).(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	converted.Object["metadata"] = metadata
	for name, validate := range map[string]func(map[string]string) field.ErrorList{
		"labels": func(labels map[string]string) field.ErrorList {
			return metavalidation.ValidateLabels(labels, field.NewPath("metadata", "labels"))
		},
		"annotations": func(annotations map[string]string) field.ErrorList {
			return apivalidation.ValidateAnnotations(annotations, field.NewPath("metadata", "annotation"))
		},
	} {
		if received[name] == nil {
			delete(metadata, name)
			continue
		}
		members, ok := received[name].(map[string]any)
		if !ok {
			return fmt.Errorf("invalid metadata.%s of type %T in converted object", name, received[name])
		}
		texts := make(map[string]string, len(members))
		for key, value := range members {
			if texts[key], ok = value.(string); !ok {
				return fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object", name, key, value)
			}
		}
		before, _, _ := unstructured.NestedStringMap(map[string]any{name: metadata[name]}, name) // those of the original are valid
		if errs := validate(texts); !maps.Equal(before, texts) && len(errs) > 0 {
			return errs.ToAggregate()
		}
		metadata[name] = members
	}
	return nil
}
