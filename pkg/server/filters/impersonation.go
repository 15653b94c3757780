package filters

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/server/request"
)

// The headers of impersonation. A group may be named several times.
const (
	impersonateUser  = "Impersonate-User"
	impersonateUID   = "Impersonate-Uid"
	impersonateGroup = "Impersonate-Group"
	impersonateExtra = "Impersonate-Extra-"
)

// WithImpersonation lets a user act as another one, if the authorizer allows to impersonate the name, each of the
// groups, and all other properties. The handlers after it see the impersonated user only.
func WithImpersonation(next http.Handler, rights authorizer.Authorizer) http.Handler {
	if rights == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		wanted, err := impersonated(req.Header)
		if err != nil {
			fail(w, req, err)
			return
		}
		if wanted == nil {
			next.ServeHTTP(w, req)
			return
		}
		who := request.UserFrom(req.Context())
		for _, right := range rightsFor(wanted) {
			right.User, right.Verb, right.IsResource = who, "impersonate", true
			if _, err := authorize(req, rights, right); err != nil {
				fail(w, req, err)
				return
			}
		}
		for name := range req.Header {
			if strings.HasPrefix(name, "Impersonate-") {
				req.Header.Del(name)
			}
		}
		record := request.RecordOf(req.Context())
		record.User = withGroups(wanted)
		request.ObserverFrom(req.Context()).ActsAs(record.User)
		next.ServeHTTP(w, req)
	})
}

// impersonated returns the user in the headers, nil for none.
func impersonated(header http.Header) (*user.Info, error) {
	wanted := &user.Info{Name: header.Get(impersonateUser), UID: header.Get(impersonateUID), Groups: header[impersonateGroup]}
	more := wanted.UID != "" || len(wanted.Groups) > 0
	for name, values := range header {
		key, isExtra := strings.CutPrefix(name, impersonateExtra)
		if !isExtra {
			continue
		}
		more = true
		decoded := user.ExtraKey(key)
		if wanted.Extra == nil {
			wanted.Extra = map[string][]string{}
		}
		wanted.Extra[decoded] = append(wanted.Extra[decoded], values...)
	}
	switch {
	case wanted.Name != "":
		return wanted, nil
	case more:
		return nil, api.NewInvalid(impersonateUser, "must be given with the other headers of impersonation")
	}
	return nil, nil
}

// rightsFor returns the rights that are required to impersonate a user.
func rightsFor(wanted *user.Info) []authorizer.Attributes {
	var rights []authorizer.Attributes
	add := func(resource, namespace, subresource, name string) {
		right := authorizer.Attributes{APIVersion: "v1", Resource: resource, Subresource: subresource, Namespace: namespace, Name: name}
		if resource == "userextras" || resource == "uids" {
			right.APIGroup = "authentication.k8s.io"
		}
		rights = append(rights, right)
	}
	if namespace, name, ok := user.SplitServiceAccount(wanted.Name); ok {
		add("serviceaccounts", namespace, "", name)
	} else {
		add("users", "", "", wanted.Name)
	}
	for _, group := range wanted.Groups {
		add("groups", "", "", group)
	}
	for _, key := range slices.Sorted(maps.Keys(wanted.Extra)) {
		for _, value := range wanted.Extra[key] {
			add("userextras", "", key, value)
		}
	}
	if wanted.UID != "" {
		add("uids", "", "", wanted.UID)
	}
	return rights
}

// withGroups adds the groups that every user of this kind has.
func withGroups(wanted *user.Info) *user.Info {
	who := *wanted
	namespace, _, isServiceAccount := user.SplitServiceAccount(who.Name)
	switch {
	case isServiceAccount && len(who.Groups) == 0:
		who.Groups = user.ServiceAccountGroups(namespace)
	case who.Name == user.Anonymous && !slices.Contains(who.Groups, user.AllUnauthenticated):
		who.Groups = append(slices.Clone(who.Groups), user.AllUnauthenticated)
	}
	return who.Known()
}
