// Package user describes the users of requests.
package user

import (
	"net/url"
	"slices"
	"strings"
)

// The names of users and groups that the server defines.
const (
	Anonymous          = "system:anonymous"       // the user of requests without credentials
	AllUnauthenticated = "system:unauthenticated" // the group of Anonymous
	AllAuthenticated   = "system:authenticated"   // the group of all other users
	Unsecured          = "system:unsecured"       // the user of the insecure port
	Masters            = "system:masters"         // the group that may do everything
	AllServiceAccounts = "system:serviceaccounts" // the group of the service accounts of all namespaces
	Nodes              = "system:nodes"           // the group of the nodes
)

// Info is an authenticated user. It is shared and must not be changed.
type Info struct {
	Name   string
	UID    string // distinguishes users of the same name; may be ""
	Groups []string
	Extra  map[string][]string // further data of an authenticator, by lower-case keys
}

// ConvertExtra returns the extra data of a user with another type of values, nil for none. The values
// are shared.
func ConvertExtra[To, From ~[]string](extra map[string]From) map[string]To {
	if len(extra) == 0 {
		return nil
	}
	converted := make(map[string]To, len(extra))
	for key, values := range extra {
		converted[key] = To(values)
	}
	return converted
}

// ExtraKey returns the key of extra data of which the name of a header has the rest: in lower case, percent-decoded if that is possible.
func ExtraKey(rest string) string {
	key := strings.ToLower(rest)
	if decoded, err := url.PathUnescape(key); err == nil {
		return decoded
	}
	return key
}

// Known returns the user with the group AllAuthenticated. A user who is anonymous, or already in
// one of the two groups of all users, is returned unchanged.
func (i *Info) Known() *Info {
	if i.Name == Anonymous || slices.Contains(i.Groups, AllAuthenticated) || slices.Contains(i.Groups, AllUnauthenticated) {
		return i
	}
	known := *i
	known.Groups = append(slices.Clone(i.Groups), AllAuthenticated)
	return &known
}

// ServiceAccountPrefix is before the namespace in the user name of a service account.
const ServiceAccountPrefix = "system:serviceaccount:"

// ServiceAccount returns the user name of a service account.
func ServiceAccount(namespace, name string) string {
	return ServiceAccountPrefix + namespace + ":" + name
}

// SplitServiceAccount returns the service account of a user name. Ok is false if the name is not
// that of one.
func SplitServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, ServiceAccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, _ = strings.Cut(rest, ":")
	if namespace == "" || name == "" || strings.Contains(name, ":") {
		return "", "", false
	}
	return namespace, name, true
}

// ServiceAccountGroups returns the groups of the service accounts of a namespace.
func ServiceAccountGroups(namespace string) []string {
	return []string{AllServiceAccounts, AllServiceAccounts + ":" + namespace}
}

// NodePrefix begins the user name of a node.
const NodePrefix = "system:node:"

// Node returns the name of the node that a user is, which may be ""; ok is false if the user is none.
func Node(who *Info) (name string, ok bool) {
	name, ok = strings.CutPrefix(who.Name, NodePrefix)
	return name, ok && slices.Contains(who.Groups, Nodes)
}
