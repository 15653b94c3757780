package aggregator

import (
	"net/http"

	"k8s.io/client-go/transport"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/endpoints/proxy"
)

// identify names the user of a request to another server, and removes what would name or authenticate anybody else.
func identify(req *http.Request, who *user.Info) {
	proxy.RemoveIdentity(req.Header)
	transport.SetAuthProxyHeaders(req, who.Name, who.UID, who.Groups, who.Extra)
}
