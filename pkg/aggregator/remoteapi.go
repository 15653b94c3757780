package aggregator

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/transport"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/endpoints/discovery"
	"kube2014/pkg/endpoints/proxy"
	"kube2014/pkg/util/pems"
	"kube2014/pkg/util/services"
)

// remoteAPI is a version of a group that another server serves. It does not change.
type remoteAPI struct {
	uid         types.UID
	spec        apiregistrationv1.APIServiceSpec
	stored      *apiregistrationv1.APIServiceCondition // nil for none
	isAvailable bool                                   // as the condition says, or will say soon
	remote      *remote
	broken      error // why there is no remote
	found       found
}

// found is where a server is, and what it says that it serves in a version.
type found struct {
	addresses []string // none if they were not looked up
	resources []apidiscovery.APIResourceDiscovery
	isFresh   bool      // the server has said so when it was last asked
	tag       string    // of its document, "" for none
	openAPI   string    // the URL of its description in OpenAPI v3, "" for none
	failing   time.Time // since when the server has not said so; zero if it does, or cannot be there
}

// stale returns what was said before, by a server that does not say now what it serves.
func (v *remoteAPI) stale() found { return found{resources: v.found.resources, tag: v.found.tag} }

func (v *remoteAPI) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: v.spec.Group, Version: v.spec.Version}
}

func (v *remoteAPI) name() string { return v.spec.Version + "." + v.spec.Group }

// path returns the path of the version.
func (v *remoteAPI) path() string { return discovery.Version{GroupVersion: v.groupVersion()}.Path() }

// address returns where the server is, as it was found when it was last looked at.
func (v *remoteAPI) address(ctx context.Context) (string, error) {
	addresses, err := v.found.addresses, error(nil)
	if len(addresses) == 0 {
		addresses, err = v.remote.addresses(ctx)
	}
	if err != nil {
		return "", err
	}
	return services.Any(addresses), nil
}

// resync is the time between two looks at a server.
const resync = 30 * time.Second

// While a server fails, it is looked at again after a pause.
const minPause, maxPause = 50 * time.Millisecond, 5 * time.Second

// syncAvailability looks at the server of an APIService: whether it is there, and what it serves.
func (s *Server) syncAvailability(ctx context.Context, name string) error {
	v := s.snapshot().byName[name]
	if v == nil {
		return nil
	}
	found, status, reason, err := s.checkServer(ctx, v)
	if status == apiregistrationv1.ConditionUnknown { // the store is away: it goes on as before (K104)
		return err
	}
	isCurrent := false
	s.changeSnapshot(func(byName map[string]*remoteAPI) {
		now := byName[name]
		if isCurrent = now != nil && now.remote == v.remote; !isCurrent {
			return
		}
		next := *now
		next.found, next.isAvailable = found, err == nil // before it is reported: who reads the condition can use it
		if !reflect.DeepEqual(*now, next) {              // what is derived from a snapshot stays
			byName[name] = &next
		}
	})
	if !isCurrent { // it has changed, and is in the queue
		return nil
	}
	s.queue.AddAfter(name, found.pause(time.Now()))
	return s.writeCondition(ctx, v, condition(status, reason, err))
}

// pause returns the time until a server is looked at again. One that has failed is asked soon, and then less and less often.
func (f found) pause(now time.Time) time.Duration {
	if f.failing.IsZero() {
		return resync
	}
	return min(max(now.Sub(f.failing)/4, minPause), maxPause)
}

// remote is another server. It is safe for concurrent use.
type remote struct {
	spec    apiregistrationv1.APIServiceSpec
	resolve services.Resolver
	timeout time.Duration // as that of the configuration

	http      *http.Transport
	upgrading *http.Transport // speaks HTTP/1.1 only, which alone can be upgraded
}

// newRemote returns the server that the spec of an APIService names. An error names a field.
func newRemote(spec apiregistrationv1.APIServiceSpec, c *Config) (*remote, error) {
	security := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         spec.Service.Name + "." + spec.Service.Namespace + ".svc",
		InsecureSkipVerify: spec.InsecureSkipTLSVerify,
	}
	if len(bytes.TrimSpace(spec.CABundle)) > 0 {
		var err error
		if security.RootCAs, err = pems.Pool("spec.caBundle", spec.CABundle); err != nil {
			return nil, err
		}
	}
	if c.Certificate != nil {
		security.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return c.Certificate() }
	}
	upgrading := newTransport(security, false)
	upgrading.ResponseHeaderTimeout = upgradeTimeout // such a request has no other limit
	return &remote{spec, c.Resolve, c.Timeout, newTransport(security, true), upgrading}, nil
}

func newTransport(security *tls.Config, http2 bool) *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(http2)
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSClientConfig:        security.Clone(),
		TLSHandshakeTimeout:    dialTimeout,
		Protocols:              protocols,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: dialTimeout, PingTimeout: dialTimeout},
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

const (
	dialTimeout    = 15 * time.Second
	upgradeTimeout = time.Minute // of the answer that allows it
	maxIdle        = 64          // connections to a server that speaks HTTP/1.1 only
)

// addresses returns where the server is now.
func (r *remote) addresses(ctx context.Context) ([]string, error) {
	return r.resolve(ctx, r.spec.Service.Namespace, r.spec.Service.Name, *r.spec.Service.Port)
}

// close closes the idle connections.
func (r *remote) close() {
	r.http.CloseIdleConnections()
	r.upgrading.CloseIdleConnections()
}

// self is the user as whom this server asks others for what they serve. As one of the masters it may always ask.
var self = &user.Info{Name: "system:kube-aggregator", Groups: []string{user.Masters}}

// get asks the server at an address for a path, itself. Redirects are not followed.
func (r *remote) get(ctx context.Context, address, path string, header http.Header) (*http.Response, *url.URL, error) {
	at := &url.URL{Scheme: "https", Host: address, Path: path}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	identify(req, self)
	client := &http.Client{Transport: r.http, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(req)
	if err != nil {
		return nil, at, fmt.Errorf("failing or missing response from %v: %w", at, err)
	}
	return answer, at, nil
}

// identify names the user of a request to another server, and removes what would name or authenticate anybody else.
func identify(req *http.Request, who *user.Info) {
	proxy.RemoveIdentity(req.Header)
	transport.SetAuthProxyHeaders(req, who.Name, who.UID, who.Groups, who.Extra)
}
