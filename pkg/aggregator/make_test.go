package aggregator_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kube2014/pkg/aggregator"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/endpoints"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apiregistration"
	"kube2014/pkg/server/filters"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util/certtest"
	"kube2014/pkg/util/services"
)

const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices"

// front is an aggregator before a door, at a port.
type front struct {
	*Door
	server    *aggregator.Server
	authority *certtest.Pair
	url       string
	transport http.RoundTripper  // others end the idle connections of http.DefaultTransport
	end       context.CancelFunc // as if the server were about to end
	t         testing.TB
}

// open returns an aggregator that follows its APIServices, and waits for other servers as long as a slow machine needs.
func open(t testing.TB) *front { return openWaiting(t, time.Minute) }

func openWaiting(t testing.TB, timeout time.Duration) *front {
	f := &front{Door: Open(t), authority: certtest.Authority(t, "authority"), t: t}
	proxy := f.authority.Client(t, "proxy", nil)
	store, rows := apiregistration.Resources(rest.Base{Objects: f.Store, Now: func() time.Time { return Now }})
	own := &rest.Catalog{}
	own.Install(rows...)
	reader := reader{f}
	var serving context.Context
	serving, f.end = context.WithCancel(t.Context())
	f.server = aggregator.New(aggregator.Config{Endpoints: endpoints.New(f.Config, own), Services: store, Catalogs: rest.Catalogs{own, f.Catalog}, Reader: reader,
		Resolve: services.NewResolver(reader, false), ServicesKind: "service", EndpointsKind: "endpoints", SlicesKind: f.Catalog.Snapshot().Find(discoveryv1.SchemeGroupVersion, "endpointslices").StoredKind,
		Certificate: func() (*tls.Certificate, error) { return &proxy.Certificate, nil }, Serving: serving, Timeout: timeout})
	go f.server.Run(t.Context())
	chain := filters.WithRequestInfo(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		request.RecordOf(req.Context()).User = &user.Info{Name: "alice", UID: "7", Groups: []string{"dev", "ops"}, Extra: map[string][]string{"example.com/scope": {"a", "b"}}}
		filters.Serve(w, req)
	}), []request.Server{f.server, f.Server})
	port := httptest.NewServer(chain)
	t.Cleanup(port.Close)
	f.url, f.transport = port.URL, port.Client().Transport
	return f
}

// reader reads services through the door.
type reader struct{ *front }

func read[T any](f *front, path string) (*T, error) {
	answer := f.Do("GET", path, "")
	if answer.Status == http.StatusNotFound {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, path)
	}
	object := new(T)
	answer.Into(object)
	return object, nil
}

func (r reader) Service(_ context.Context, namespace, name string) (*corev1.Service, error) {
	return read[corev1.Service](r.front, "/api/v1/namespaces/"+namespace+"/services/"+name)
}

func (r reader) Endpoints(_ context.Context, namespace, name string) (*corev1.Endpoints, error) {
	return read[corev1.Endpoints](r.front, "/api/v1/namespaces/"+namespace+"/endpoints/"+name)
}

func (r reader) EndpointSlices(_ context.Context, namespace, service string) (slices []*discoveryv1.EndpointSlice, _ error) {
	list, err := read[discoveryv1.EndpointSliceList](r.front, "/apis/discovery.k8s.io/v1/namespaces/"+namespace+"/endpointslices?labelSelector=kubernetes.io/service-name="+service)
	for i := range list.Items {
		slices = append(slices, &list.Items[i])
	}
	return slices, err
}

// get sends a request to the port.
func (f *front) get(path string, header ...string) (status int, body string, answer http.Header) {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), "GET", f.url+path, nil)
	require.NoError(f.t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := f.transport.RoundTrip(req)
	require.NoError(f.t, err)
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body) // an answer may end early
	return res.StatusCode, string(text), res.Header
}

// other starts another server of example.com/v1, with a certificate of the service api in the namespace default.
func (f *front) other(handler http.Handler, hosts ...string) *httptest.Server {
	if len(hosts) == 0 {
		hosts = []string{"api.default.svc"}
	}
	certificate := f.authority.Server(f.t, hosts...)
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate.Certificate}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: f.authority.Pool()}
	server.StartTLS()
	f.t.Cleanup(server.Close)
	return server
}

// serve lets the service api lead to a server.
func (f *front) serve(server *httptest.Server) {
	address := server.Listener.Addr().(*net.TCPAddr)
	f.Must("POST", Services, `{"metadata":{"name":"api"},"spec":{"clusterIP":"None","ports":[{"port":443}]}}`)
	f.Must("POST", Endpoints, `{"metadata":{"name":"api"},"subsets":[{"addresses":[{"ip":"`+address.IP.String()+`"}],"ports":[{"port":`+strconv.Itoa(address.Port)+`}]}]}`)
}

// register creates an APIService of example.com/v1, and waits until its server has been looked at.
func (f *front) register(more string) apiregistrationv1.APIServiceCondition {
	f.t.Helper()
	ca, err := json.Marshal(f.authority.CertPEM)
	require.NoError(f.t, err)
	if more == "" {
		more = `"service":{"namespace":"default","name":"api"},"caBundle":` + string(ca)
	}
	f.send("POST", apiServices, `{"metadata":{"name":"v1.example.com"},"spec":{"group":"example.com","version":"v1","groupPriorityMinimum":1000,"versionPriority":15,`+more+`}}`)
	return f.judged(func(c apiregistrationv1.APIServiceCondition) bool { return c.Reason != "" })
}

func (f *front) send(method, path, body string) {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, strings.NewReader(body))
	require.NoError(f.t, err)
	if method == "PATCH" {
		req.Header.Set("Content-Type", MergePatch)
	}
	res, err := f.transport.RoundTrip(req)
	require.NoError(f.t, err)
	_ = res.Body.Close()
	require.Less(f.t, res.StatusCode, 300)
}

// judged waits for a condition of the APIService.
func (f *front) judged(is func(apiregistrationv1.APIServiceCondition) bool) (condition apiregistrationv1.APIServiceCondition) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		_, body, _ := f.get(apiServices + "/v1.example.com")
		var service apiregistrationv1.APIService
		require.NoError(f.t, json.Unmarshal([]byte(body), &service))
		if len(service.Status.Conditions) == 0 {
			return false
		}
		condition = service.Status.Conditions[0]
		return is(condition)
	}, time.Minute, 5*time.Millisecond)
	return condition
}

// serve lists the resources of example.com/v1, and echoes all other requests.
func serve(w http.ResponseWriter, req *http.Request) {
	if req.URL.Path == "/apis/example.com/v1" {
		list(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"method": req.Method, "uri": req.RequestURI, "header": req.Header, "proxy": req.TLS.PeerCertificates[0].Subject.CommonName})
}

func list(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[{"name":"things","kind":"Thing","verbs":["get"]}]}`)
}
