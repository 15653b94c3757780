package authenticator

import (
	"net/http"

	"kube2014/pkg/auth/user"
)

// Groups adds the group of all authenticated users to the users of next, as user.Info.Known does.
func Groups(next Request) Request {
	return RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		who, ok, err := next.AuthenticateRequest(req)
		if ok {
			who = who.Known()
		}
		return who, ok, err
	})
}
