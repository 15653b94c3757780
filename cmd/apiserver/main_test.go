package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
	"kube2014/pkg/etcd"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/server"
	"kube2014/pkg/server/filters"
	"kube2014/pkg/storage"
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
		newEtcdClient, makeEtcdRegistry = patientEtcdClient, unhurriedEtcdRegistry
		newEtcd3Client, makeEtcd3Store = patientEtcd3Client, patientEtcd3Store
		webhook.CallTimeout, webhook.AnswerTimeout = hangs, hangs
	}
	switch mode {
	case "":
		code := m.Run()
		if err := errors.Join(sharedEtcd3.stop(), sharedEtcd34.stop()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		os.Exit(code)
	case unhurried:
		requestTimeout, drainTimeout = hangs, hangs
		forever = forEachLine(os.Stdin)
	}
	main()
}

// hangs is how long nothing happens until it is taken for an error.
const hangs = 5 * time.Minute

// dialNoKubelet refuses connections to the port of kubelets, as if there were none:
// another program may listen on it. kubeletClient clones the transport that has it.
func dialNoKubelet(ctx context.Context, network, address string) (net.Conn, error) {
	if strings.HasSuffix(address, fmt.Sprint(":", client.DefaultKubeletPort)) {
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

// undecorated puts nothing around the layers of a store.
var undecorated = decorators{
	etcd2: func(client registry.EtcdClient) registry.EtcdClient { return client },
	etcd3: func(client etcd3.Client) etcd3.Client { return client },
	store: func(store storage.Interface) storage.Interface { return store },
}

func memoryRegistries() registries { return registriesInMemory(undecorated.store) }

// etcdRegistries are the registries on an etcd's v2 API.
func etcdRegistries(servers, machines []string) (registries, error) {
	o := storeOptions{options.EtcdOptions{Config: etcd.Config{Servers: servers}, Backend: options.Etcd2}, machines}
	return o.etcdRegistries(undecorated)
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
	return registriesOn2(registry.MakeEtcdRegistry(etcdClient, nil), nil, nil)
}

// forEachLine calls what is to be called every syncPeriod once for each line that is
// read, and nothing else.
func forEachLine(lines io.Reader) func(func(), time.Duration) {
	return func(f func(), period time.Duration) {
		if period != syncPeriod {
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
	return chainBefore(serveTable(storageTable(r, containerInfo, scheduler), r.healthz, prefix))
}

// chainBefore puts the chain of the insecure port before an API.
func chainBefore(api filters.API) http.Handler {
	config := &server.Config{API: api, RequestTimeout: hangs}
	return config.Complete().New().InsecureHandler()
}

// serverOf returns a server of a handler on a listener, with the timeouts that the program has.
func serverOf(handler http.Handler, listener net.Listener) *server.Server {
	return serverWith(handler, listener, requestTimeout)
}

// serverWith returns one that lets a client take its time.
func serverWith(handler http.Handler, listener net.Listener, timeout time.Duration) *server.Server {
	config, err := new(master).buildConfig(options.New())
	if err != nil {
		panic(err) // nothing is asked for
	}
	config.ReadTimeout, config.WriteTimeout = timeout, timeout
	config.BuildHandlerChain = func(*server.Config, server.Guards) http.Handler { return handler }
	config.Listen = func(string, string) (net.Listener, error) { return listener, nil }
	return config.Complete().New()
}

// exitOf serves until a signal comes, and returns the exit code.
func exitOf(s *server.Server, signals <-chan os.Signal) int {
	code, err := serve(s, nil, signals)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}
