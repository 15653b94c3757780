package aggregator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/endpoints/discovery"
)

// The bounds of documents of other servers, in bytes: of a list of the resources of a version, of a document of all versions, and of a
// description in OpenAPI.
const (
	maxList        = 1 << 20
	maxOfAll       = 4 << 20
	maxDescription = 16 << 20
)

// maxObjects bounds the objects in a document: each schema of OpenAPI takes 2 KB in memory. This server's own description has 15,000.
const maxObjects = 100_000

// wanted is what this server accepts: one document of all versions.
const wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

// discover returns what the server serves in the version: as its document of all versions says or, if there is none, as the list says. What
// was known before is stale if the document cannot be read.
func (v *remoteAPI) discover(ctx context.Context, address string, list *metav1.APIResourceList) (next found) {
	ctx, cancel := context.WithTimeout(ctx, v.remote.timeout)
	defer cancel()
	switch resources, tag, err := v.inDocumentOfAll(ctx, address); {
	case err == nil:
		next.resources, next.tag, next.isFresh = resources, tag, true
	case errors.Is(err, errNotAll):
		next.resources, next.isFresh = discovery.Aggregate(list.APIResources), true
	default:
		next = v.stale()
	}
	next.openAPI = v.describedAt(ctx, address)
	return next
}

var errNotAll = errors.New("there is no document of all versions, or not of this one")

// inDocumentOfAll returns what the document of all versions of the server says of this one, and its tag.
func (v *remoteAPI) inDocumentOfAll(ctx context.Context, address string) (resources []apidiscovery.APIResourceDiscovery, tag string, err error) {
	header := http.Header{"Accept": {wanted}}
	if v.found.tag != "" {
		header.Set("If-None-Match", v.found.tag)
	}
	path := "/apis"
	if v.spec.Group == "" {
		path = "/api"
	}
	answer, _, err := v.remote.get(ctx, address, path, header)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotModified:
		return v.found.resources, v.found.tag, nil
	case answer.StatusCode == http.StatusServiceUnavailable:
		return nil, "", fmt.Errorf("%s is answered with %d", path, answer.StatusCode)
	case answer.StatusCode != http.StatusOK || !isOfAll(answer.Header.Get("Content-Type")):
		return nil, "", errNotAll
	}
	var list apidiscovery.APIGroupDiscoveryList
	if err := decode(answer.Body, maxOfAll, &list); err != nil {
		return nil, "", err
	}
	if list.Kind != "APIGroupDiscoveryList" {
		return nil, "", fmt.Errorf("%s is a %q", path, list.Kind)
	}
	for _, group := range list.Items {
		for _, version := range group.Versions {
			if group.Name == v.spec.Group && version.Version == v.spec.Version {
				return completed(version.Resources), answer.Header.Get("ETag"), nil
			}
		}
	}
	return nil, "", errNotAll
}

func isOfAll(contentType string) bool {
	_, parameters, err := mime.ParseMediaType(contentType)
	return err == nil && parameters["g"] == apidiscovery.GroupName && parameters["as"] == "APIGroupDiscoveryList"
}

// completed returns resources with the kinds of answers that are missing: some clients expect them.
func completed(resources []apidiscovery.APIResourceDiscovery) []apidiscovery.APIResourceDiscovery {
	for i := range resources {
		if resources[i].ResponseKind == nil {
			resources[i].ResponseKind = &metav1.GroupVersionKind{}
		}
		for j := range resources[i].Subresources {
			if sub := &resources[i].Subresources[j]; sub.ResponseKind == nil {
				sub.ResponseKind = &metav1.GroupVersionKind{}
			}
		}
	}
	return resources
}

// describedAt returns the URL of the description of the version in OpenAPI v3, "" for none.
func (v *remoteAPI) describedAt(ctx context.Context, address string) string {
	var index struct {
		Paths map[string]struct {
			URL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := v.remote.document(ctx, address, "/openapi/v3", &index); err != nil {
		return ""
	}
	url := index.Paths[strings.TrimPrefix(v.path(), "/")].URL
	if path, _, _ := strings.Cut(url, "?"); path != "/openapi/v3"+v.path() {
		return ""
	}
	return url
}

// document reads a document in JSON.
func (r *remote) document(ctx context.Context, address, path string, into any) error {
	answer, _, err := r.get(ctx, address, path, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is answered with %d", path, answer.StatusCode)
	}
	return decode(answer.Body, maxDescription, into)
}

// decode decodes a document in JSON. The error does not repeat it.
func decode(body io.Reader, limit int64, into any) error {
	text, err := io.ReadAll(io.LimitReader(body, limit+1))
	switch {
	case err != nil:
		return err
	case int64(len(text)) > limit:
		return fmt.Errorf("the document has more than %d bytes", limit)
	case bytes.Count(text, []byte("{")) > maxObjects:
		return fmt.Errorf("the document has more than %d objects", maxObjects)
	case json.Unmarshal(text, into) != nil:
		return errors.New("the document is not the expected JSON")
	}
	return nil
}
