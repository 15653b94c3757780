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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
			d.handlers[version.Path()] = plain(encode(version.list()))
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
		d.handlers[groupPath(group.Name)] = plain(encode(group))
	}
	d.handlers["/api"] = either(addressed(legacy), encode(aggregate(unnamed)))
	d.handlers["/apis"] = either(plain(encode(list)), encode(aggregate(named)))
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

func encode(document any) []byte {
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
		write(w, encode(answer))
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
