package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/admission/plugin/serviceaccount"
	"kube2014/pkg/api"
	"kube2014/pkg/auth/authenticator/oidc"
	"kube2014/pkg/client"
	"kube2014/pkg/client/kubeletclient"
	"kube2014/pkg/etcd"
	"kube2014/pkg/master"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/server"
	genericoptions "kube2014/pkg/server/options"
	"kube2014/pkg/server/request"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/webhook"
)

// asProgram in the environment turns the test binary into the apiserver, so that a
// test can have processes of its own. The tests of the project's documents use it
// too. Its value is whether the program is hurried.
const (
	asProgram = "KUBE2014_TEST_AS_PROGRAM"
	hurried   = "hurried" // as users run it
	unhurried = "unhurried"
)

func TestMain(m *testing.M) {
	mode := os.Getenv(asProgram)
	http.DefaultTransport.(*http.Transport).DialContext = dialNoKubelet
	if mode != hurried {
		config.NewEtcdClient, config.MakeEtcdRegistry = patientEtcdClient, unhurriedEtcdRegistry
		config.NewEtcd3Client, config.MakeEtcd3Store = patientEtcd3Client, patientEtcd3Store
		webhook.CallTimeout, webhook.AnswerTimeout, serviceaccount.DefaultTimeout, oidc.FetchTimeout = hangs, hangs, hangs, hangs
	}
	switch mode {
	case "":
		// Most tests wait for programs, so more of them run beside each other than there are processors.
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
		code := m.Run()
		if err := errors.Join(sharedEtcd3.stop(), sharedEtcd34.stop()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	case unhurried:
		config.RequestTimeout, config.DrainTimeout = hangs, hangs
		config.TokenCacheTTL = 0 // no test waits for it
		config.Forever = forEachLine(os.Stdin)
	}
	main()
}

// hangs is how long nothing happens until it is taken for an error.
const hangs = 5 * time.Minute

// dialNoKubelet refuses connections to the port of kubelets, as if there were none:
// another program may listen on it. kubeletClient clones the transport that has it.
func dialNoKubelet(ctx context.Context, network, address string) (net.Conn, error) {
	if strings.HasSuffix(address, fmt.Sprint(":", kubeletclient.DefaultPort)) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// patientEtcdClient is an etcd.Client that gives a slow machine the time it takes.
func patientEtcdClient(config etcd.Config) (*etcd.Client, error) {
	etcdClient, err := etcd.NewClient(config)
	if err == nil {
		etcdClient.SetTimeout(hangs)
	}
	return etcdClient, err
}

// patientEtcd3Client is an etcd.V3 that does so.
func patientEtcd3Client(config etcd.Config) (*etcd.V3, error) {
	etcdClient, err := etcd.NewV3(config)
	if err == nil {
		etcdClient.SetTimeout(hangs)
	}
	return etcdClient, err
}

// patientEtcd3Store is a store that does so.
func patientEtcd3Store(etcdClient etcd3.Client, prefix string) *etcd3.Store {
	store := etcd3.New(etcdClient, prefix)
	store.SetTimeout(hangs)
	return store
}

// unwatched are the flags of a program without controllers, own resources and other servers. On etcd2, their watches fetch each change, also those
// that an etcd has when it starts again and does not tell; only the clock of users ends that.
var unwatched = []string{"-controllers=", "-runtime_config", "apiextensions.k8s.io/v1=false,apiregistration.k8s.io/v1=false"}

// registries are those of an apiserver.
type registries = master.Registries

func memoryRegistries() registries {
	return master.NewMemoryRegistries(master.New(config, options.New(), nil).Decorators())
}

// etcdRegistries are the registries on an etcd's v2 API.
func etcdRegistries(servers, machines []string) (registries, error) {
	return registriesOn(genericoptions.Etcd2, genericoptions.DefaultEtcdPrefix, servers, machines)
}

// registriesOn are the registries on an API of an etcd.
func registriesOn(backend, prefix string, servers, machines []string) (registries, error) {
	o := options.New()
	o.Etcd.Servers, o.Etcd.Backend, o.Etcd.Prefix, o.Generic.Machines = servers, backend, prefix, machines
	return config.NewEtcdRegistries(o, master.New(config, o, nil).Decorators())
}

// unhurriedEtcdRegistry is a registry whose clock stands still: its requests never
// run out of time.
func unhurriedEtcdRegistry(etcdClient registry.EtcdClient, machines []string) *registry.EtcdRegistry {
	onEtcd := registry.MakeEtcdRegistry(etcdClient, machines)
	noon := time.Date(2014, 6, 6, 12, 0, 0, 0, time.UTC)
	onEtcd.SetClock(func() time.Time { return noon }, func(time.Duration) <-chan time.Time { return nil })
	return onEtcd
}

// hurriedRegistries are registries with the timeouts that users have.
func hurriedRegistries(etcdClient registry.EtcdClient) registries {
	onEtcd := registry.MakeEtcdRegistry(etcdClient, nil)
	return registriesOver(onEtcd.Registry, onEtcd.Healthz, onEtcd.Reconcile)
}

// registriesOver are the three registries that one registry is.
func registriesOver(all *registry.Registry, healthz func() ([]string, error), reconcile func() error) registries {
	return registries{Tasks: all, Controllers: all, Services: all, Objects: all.Objects(), Healthz: healthz, Reconcile: reconcile}
}

// forEachLine calls what is to be called every master.SyncPeriod once for each line that is
// read, and nothing else.
func forEachLine(lines io.Reader) func(func(), time.Duration) {
	return func(f func(), period time.Duration) {
		if period != master.SyncPeriod {
			return
		}
		for scanner := bufio.NewScanner(lines); scanner.Scan(); {
			f()
		}
	}
}

// eventually waits for a condition that another process brings about.
func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	for end := time.Now().Add(hangs); !condition(); time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(end), what)
	}
}

// soon returns what another goroutine sends.
func soon[T any](t *testing.T, from <-chan T, what string) (sent T) {
	t.Helper()
	select {
	case sent = <-from:
	case <-time.After(hangs):
		require.FailNow(t, what)
	}
	return sent
}

// insist sends a request until the answer is not 503: a store that is slow is one
// that cannot be reached. A create or delete that was answered with 503 may have
// taken effect.
func insist(t *testing.T, request func() error) {
	t.Helper()
	eventually(t, func() bool {
		err := request()
		if api.KindOf(err) == api.Unavailable {
			return false
		}
		require.NoError(t, err)
		return true
	}, "a request is answered")
}

// clientOf asks a server with a connection for each request, for as long as it takes.
func clientOf(address string) *client.Client {
	transport := &http.Transport{DisableKeepAlives: true}
	return &client.Client{Host: "http://" + address, HTTP: &http.Client{Transport: transport}}
}

// newHandler puts the registries behind the first door only.
func newHandler(r registries, containerInfo client.ContainerInfo, scheduler registry.Scheduler, prefix string) http.Handler {
	return chainBefore(master.CreateJune2014APIServer(storageTable(r, containerInfo, scheduler), r.Healthz, prefix))
}

// chainBefore puts the chain of the insecure port before servers.
func chainBefore(servers ...request.Server) http.Handler {
	var chain *server.Delegate
	for _, one := range slices.Backward(servers) {
		chain = &server.Delegate{Server: one, Next: chain}
	}
	config := &server.Config{Chain: chain, RequestTimeout: hangs}
	return config.Complete().New().InsecureHandler()
}

// serverOf returns a server of a handler on a listener, with the timeouts that the program has. It calls functions
// before it ends.
func serverOf(handler http.Handler, listener net.Listener, atEnd ...func()) *server.Server {
	return serverWith(handler, listener, config.RequestTimeout, atEnd...)
}

// serverWith returns one that lets a client take its time.
func serverWith(handler http.Handler, listener net.Listener, timeout time.Duration, atEnd ...func()) *server.Server {
	generic, err := master.New(config, options.New(), nil).BuildGenericConfig()
	if err != nil {
		panic(err) // nothing is asked for
	}
	generic.ReadTimeout, generic.WriteTimeout = timeout, timeout
	generic.BuildHandlerChain = func(*server.Config, server.Auth) http.Handler { return handler }
	generic.Listen = func(string, string) (net.Listener, error) { return listener, nil }
	generic.Chain = &server.Delegate{}
	for _, end := range atEnd {
		generic.Chain.AddPreShutdownHook("end", func() error { end(); return nil })
	}
	return generic.Complete().New()
}

// exitOf serves until a signal comes, and returns the exit code.
func exitOf(s *server.Server, signals <-chan os.Signal) int {
	code, err := serve(s, nil, signals)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}
