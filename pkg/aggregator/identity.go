package aggregator

import (
	"net/http"
	"strings"

	"k8s.io/client-go/transport"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/user"
)

// identify names the user of a request to another server, and removes what would name or authenticate anybody else.
func identify(req *http.Request, who *user.Info) {
	for name := range req.Header {
		switch spelled := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")); { // some servers read _ as -
		case strings.HasPrefix(spelled, "X-Remote-"), strings.HasPrefix(spelled, "Impersonate-"), spelled == "Authorization":
			delete(req.Header, name)
		}
	}
	authenticator.RemoveTokens(req.Header)
	transport.SetAuthProxyHeaders(req, who.Name, who.UID, who.Groups, who.Extra)
}
