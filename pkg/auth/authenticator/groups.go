package authenticator

import (
	"net/http"
	"slices"

	"kube2014/pkg/auth/user"
)

// Groups adds the group of all who are known to whom another authenticator knows. A user who
// is anonymous, or already in one of the two groups of all users, stays as they are.
func Groups(next Request) Request {
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		who, ok, err := next.AuthenticateRequest(req)
		if !ok || who.Name == user.Anonymous || slices.Contains(who.Groups, user.AllAuthenticated) ||
			slices.Contains(who.Groups, user.AllUnauthenticated) {
			return who, ok, err
		}
		copied := *who
		copied.Groups = append(slices.Clip(who.Groups), user.AllAuthenticated)
		return &copied, true, nil
	})
}
