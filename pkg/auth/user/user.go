// Package user is who sends a request.
package user

import "slices"

// The names that the server itself gives.
const (
	Anonymous          = "system:anonymous"       // who shows no credentials
	AllUnauthenticated = "system:unauthenticated" // the group of Anonymous
	AllAuthenticated   = "system:authenticated"   // the group of all others
	Unsecured          = "system:unsecured"       // who comes through the insecure port
	Masters            = "system:masters"         // the group that may do everything, by any authorizer's first rules
)

// Info is a user, as an authenticator knows them. It is shared: nobody changes it.
type Info struct {
	Name   string
	UID    string // tells two users of one name apart, "" if nobody does
	Groups []string
	Extra  map[string][]string // what else an authenticator knows, by lower-case keys
}

// Known returns the user in the group of all who are known. Who is anonymous, or already in one of
// the two groups of all users, stays as they are.
func (i *Info) Known() *Info {
	if i.Name == Anonymous || slices.Contains(i.Groups, AllAuthenticated) || slices.Contains(i.Groups, AllUnauthenticated) {
		return i
	}
	known := *i
	known.Groups = append(slices.Clone(i.Groups), AllAuthenticated)
	return &known
}
