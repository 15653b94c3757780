package aggregator

import (
	"net/http"
	"strings"

	"k8s.io/client-go/transport"

	"kube2014/pkg/auth/user"
)

// identify names the user of a request to another server, and removes what would name or authenticate anybody else.
func identify(req *http.Request, who *user.Info) {
	for name := range req.Header {
		if strings.HasPrefix(name, "X-Remote-") || strings.HasPrefix(name, "Impersonate-") || name == "Authorization" {
			req.Header.Del(name)
		}
	}
	transport.SetAuthProxyHeaders(req, who.Name, who.UID, who.Groups, who.Extra)
}
