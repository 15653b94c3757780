// Package discovery serves the documents by which a client finds the groups, versions and
// resources of the server.
package discovery

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/endpoints/accept"
)

// Version is one version of a group.
type Version struct {
	schema.GroupVersion
	// Resources are in the order of the documents. A subresource, such as
	// "pods/status", comes after its resource. Group and Version are set only where
	// they differ from where the resource is served.
	Resources []metav1.APIResource
	// Remote is what another server says that it serves in the version. It is nil if this server serves the version.
	Remote *apidiscovery.APIVersionDiscovery
}

// groupPath returns the path of a group: the one without a name is at /api, each other one at /apis/NAME.
func groupPath(group string) string {
	if group == "" {
		return "/api"
	}
	return "/apis/" + group
}

// Path returns the path of the version.
func (v Version) Path() string { return groupPath(v.Group) + "/" + v.GroupVersion.Version }

// Documents serves discovery. It is immutable, and safe for concurrent use. All documents but one line of /api
// are encoded in advance.
type Documents struct {
	handlers map[string]http.Handler // by path
}

// New returns the documents of versions of groups, in this order: the first version of a group is the preferred
// one. It does not retain the versions.
func New(versions []Version) *Documents {
	d := &Documents{map[string]http.Handler{}}
	legacy := metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{}}
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	var unnamed, named []Version
	for _, version := range versions {
		if version.Remote == nil { // the other server has its own
			d.handlers[version.Path()] = plain(Encode(version.list()))
		}
		if version.Group == "" {
			legacy.Versions = append(legacy.Versions, version.GroupVersion.Version)
			unnamed = append(unnamed, version)
			continue
		}
		named = append(named, version)
		i := slices.IndexFunc(list.Groups, func(group metav1.APIGroup) bool { return group.Name == version.Group })
		described := metav1.GroupVersionForDiscovery{GroupVersion: version.String(), Version: version.GroupVersion.Version}
		if i < 0 {
			i = len(list.Groups)
			list.Groups = append(list.Groups, metav1.APIGroup{Name: version.Group, PreferredVersion: described})
		}
		list.Groups[i].Versions = append(list.Groups[i].Versions, described)
	}
	for _, group := range list.Groups {
		group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		d.handlers[groupPath(group.Name)] = plain(Encode(group))
	}
	d.handlers["/api"] = either(addressed(legacy), Encode(aggregate(unnamed)))
	d.handlers["/apis"] = either(plain(Encode(list)), Encode(aggregate(named)))
	return d
}

// list returns the list of the version's resources.
func (v Version) list() metav1.APIResourceList {
	list := metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: v.String(),
		APIResources: v.Resources,
	}
	if v.Group == "" {
		list.APIVersion = "" // as in the real server, for its first clients
	}
	if list.APIResources == nil {
		list.APIResources = []metav1.APIResource{}
	}
	return list
}

// Handler returns the handler of GETs of a path, with or without a trailing slash, nil if the path has no
// document.
func (d *Documents) Handler(path string) http.Handler {
	return d.handlers[strings.TrimSuffix(path, "/")]
}

// Encode returns a document in JSON, with a line break.
func Encode(document any) []byte {
	body, err := json.Marshal(document)
	if err != nil {
		panic(err) // not with these types
	}
	return append(body, '\n')
}

func plain(body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w, body) })
}

func write(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client is gone if this fails
}

// addressed adds the server's address as the client knows it.
func addressed(versions metav1.APIVersions) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := versions
		answer.ServerAddressByClientCIDRs = []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}}
		write(w, Encode(answer))
	})
}

// either serves the aggregated document to clients that prefer it, and the plain one to others.
func either(plain http.Handler, aggregated []byte) http.Handler {
	tag := fmt.Sprintf(`"%X"`, sha512.Sum512(aggregated))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		if !wantsAggregated(r.Header.Values("Accept")) {
			plain.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", aggregatedType)
		w.Header().Set("Cache-Control", "public")
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(aggregated))
	})
}

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// aggregate returns one document of all versions.
func aggregate(versions []Version) apidiscovery.APIGroupDiscoveryList {
	list := apidiscovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscovery.SchemeGroupVersion.String()},
		Items:    []apidiscovery.APIGroupDiscovery{},
	}
	for _, version := range versions {
		i := slices.IndexFunc(list.Items, func(group apidiscovery.APIGroupDiscovery) bool { return group.Name == version.Group })
		if i < 0 {
			i = len(list.Items)
			list.Items = append(list.Items, apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: version.Group}})
		}
		described := version.Remote
		if described == nil {
			described = &apidiscovery.APIVersionDiscovery{Version: version.GroupVersion.Version, Resources: Aggregate(version.Resources),
				Freshness: apidiscovery.DiscoveryFreshnessCurrent}
		}
		list.Items[i].Versions = append(list.Items[i].Versions, *described)
	}
	return list
}

// Aggregate returns resources as they are in the document of all versions.
func Aggregate(resources []metav1.APIResource) []apidiscovery.APIResourceDiscovery {
	var all []apidiscovery.APIResourceDiscovery
	for _, resource := range resources {
		kind := &metav1.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind}
		if of, name, isSub := strings.Cut(resource.Name, "/"); isSub {
			for i := range all {
				if all[i].Resource == of {
					all[i].Subresources = append(all[i].Subresources, apidiscovery.APISubresourceDiscovery{
						Subresource: name, ResponseKind: kind, Verbs: resource.Verbs,
					})
				}
			}
			continue
		}
		scope := apidiscovery.ScopeCluster
		if resource.Namespaced {
			scope = apidiscovery.ScopeNamespace
		}
		all = append(all, apidiscovery.APIResourceDiscovery{
			Resource:         resource.Name,
			ResponseKind:     kind,
			Scope:            scope,
			SingularResource: resource.SingularName,
			Verbs:            resource.Verbs,
			ShortNames:       resource.ShortNames,
			Categories:       resource.Categories,
		})
	}
	return all
}

// wantsAggregated reports whether a client prefers the aggregated document. One that
// accepts neither gets the plain document.
func wantsAggregated(headers []string) bool {
	for _, one := range accept.Parse(headers) {
		as := one.Parameters["as"]
		if one.Type == "application/json" && as == "APIGroupDiscoveryList" && one.Parameters["g"] == apidiscovery.GroupName && one.Parameters["v"] == "v2" {
			return true
		}
		if one.IsJSON() && as == "" {
			return false
		}
	}
	return false
}
