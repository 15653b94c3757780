package aggregator

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/client-go/transport"

	"kube2014/pkg/auth/user"
)

// The protocols of a web socket, of which one may be a token.
const (
	protocols     = "Sec-Websocket-Protocol"
	tokenProtocol = "base64url.bearer.authorization.k8s.io."
)

// identify names the user of a request to another server, and removes what would name or authenticate anybody else.
func identify(req *http.Request, who *user.Info) {
	for name := range req.Header {
		switch spelled := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")); { // some servers read _ as -
		case strings.HasPrefix(spelled, "X-Remote-"), strings.HasPrefix(spelled, "Impersonate-"), spelled == "Authorization":
			delete(req.Header, name)
		case name == protocols:
			req.Header[name] = slices.DeleteFunc(strings.Split(strings.Join(req.Header[name], ","), ","), func(protocol string) bool {
				return strings.HasPrefix(strings.TrimSpace(protocol), tokenProtocol)
			})
		}
	}
	transport.SetAuthProxyHeaders(req, who.Name, who.UID, who.Groups, who.Extra)
}
