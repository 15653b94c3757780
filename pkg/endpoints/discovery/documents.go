package discovery

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Documents serves discovery. It is immutable, and safe for concurrent use. All documents but one line of /api
// are encoded in advance.
type Documents struct {
	handlers map[string]http.Handler // by path
}

// New returns the documents of the groups, in this order. It does not retain the groups.
func New(groups []Group) *Documents {
	d := &Documents{map[string]http.Handler{}}
	legacy := metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{}}
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	var unnamed, named []Group
	for _, group := range groups {
		if group.Name == "" {
			unnamed = append(unnamed, group)
		} else {
			named = append(named, group)
			described := group.describe()
			list.Groups = append(list.Groups, described)
			described.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			d.handlers[group.Path()] = plain(encode(described))
		}
		for _, version := range group.Versions {
			if group.Name == "" {
				legacy.Versions = append(legacy.Versions, version.Name)
			}
			d.handlers[group.Path()+"/"+version.Name] = plain(encode(resources(group, version)))
		}
	}
	d.handlers["/api"] = either(addressed(legacy), encode(aggregate(unnamed)))
	d.handlers["/apis"] = either(plain(encode(list)), encode(aggregate(named)))
	return d
}

func resources(group Group, version Version) metav1.APIResourceList {
	list := metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: schema.GroupVersion{Group: group.Name, Version: version.Name}.String(),
		APIResources: version.Resources,
	}
	if group.Name == "" {
		list.APIVersion = "" // as the real server, for its first clients
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
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(aggregated))
	})
}
