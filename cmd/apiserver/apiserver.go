// Command apiserver serves tasks, replication controllers and services over
// HTTP, as the apiserver of the first Kubernetes commit did, and the same objects
// as today's API.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"kube2014/pkg/client"
	"kube2014/pkg/etcd"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/util"
)

const (
	kubeletPort = 10250
	syncPeriod  = 10 * time.Second
	syncPause   = time.Second
)

// What tests replace: a slow machine is to be no reason for a failure, and the loop
// is to run when they say so.
var (
	requestTimeout   = 10 * time.Second // to read a request, and to answer it
	drainTimeout     = 10 * time.Second
	newEtcdClient    = etcd.NewClient
	newEtcd3Client   = etcd.NewV3
	makeEtcdRegistry = registry.MakeEtcdRegistry
	makeEtcd3Store   = etcd3.New
	forever          = util.Forever
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: it serves until a signal stops it, and returns the exit
// code. Help and version go to stdout, the log and errors to stderr.
func run(args []string, stdout, stderr io.Writer) int {
	options, err := parseFlags(args)
	switch {
	case errors.Is(err, errHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "apiserver: %v (apiserver -h lists the flags)\n", err)
		return 2
	case options.version:
		fmt.Fprintf(stdout, "kube2014 apiserver %s\n", version)
		return 0
	}
	logged := &lateWriter{out: stderr}
	defer logged.flush()
	log.SetOutput(logged)
	tuneCollector()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	stores, handler, err := assemble(options, logged)
	if err != nil {
		fmt.Fprintf(stderr, "apiserver: %v\n", err)
		return 2
	}
	if stores.close != nil {
		defer stores.close()
	}
	stores.registerMachines()
	listener, err := net.Listen("tcp", options.listenAddress())
	if err != nil {
		fmt.Fprintf(stderr, "apiserver: cannot listen on %s: %v\n", options.listenAddress(), reason(err))
		return 1
	}
	ctx, stopSync := context.WithCancel(context.Background())
	defer stopSync()

	log.Printf("kube2014 apiserver %s serves http://%s%s: registry %s, scheduler %s, machines %s",
		version, listener.Addr(), options.pathsInWords(), stores.name, options.scheduler, options.machinesInWords())
	if reachableByOthers(listener.Addr()) {
		log.Printf("warning: -address %s is not a loopback address, and there is no authentication: whoever reaches it may change everything", options.address)
	}
	go syncForever(ctx, stores)
	go syncOnChange(ctx, stores)
	if stores.mayBeFree != nil {
		go placeOnChange(ctx, stores)
	}
	if stores.follow != nil {
		go followForever(ctx, stores)
	}
	server := newServer(handler)
	if stores.endWatches != nil {
		server.RegisterOnShutdown(stores.endWatches)
	}
	return serve(server, listener, signals)
}

// reachableByOthers tells whether other machines may reach an address.
func reachableByOthers(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}

func newServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:                      handler,
		ReadTimeout:                  requestTimeout,
		WriteTimeout:                 requestTimeout,
		MaxHeaderBytes:               1 << 20,
		DisableGeneralOptionsHandler: true, // OPTIONS * is a request like any other
	}
}

// kubeletClient connects to kubelets directly, not through a proxy that the
// environment names. It accepts 8 KiB of headers (D35): once parsed, small
// headers take some twenty times their size, and those of each redirect are
// kept.
func kubeletClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxResponseHeaderBytes = 8 << 10
	return &http.Client{Transport: transport}
}

func kubelets() *client.HTTPContainerInfo {
	return &client.HTTPContainerInfo{Client: kubeletClient(), Port: kubeletPort}
}

// serve answers requests until a signal comes, then finishes those in flight
// (D30). A second signal ends it at once.
func serve(server *http.Server, listener net.Listener, signals <-chan os.Signal) int {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		log.Printf("the server stopped: %v", err)
		return 1
	case got := <-signals:
		log.Printf("%v: finishing the requests in flight, for at most %v", got, drainTimeout)
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	drained := make(chan error, 1)
	go func() { drained <- server.Shutdown(ctx) }()
	select {
	case err := <-drained:
		if err != nil {
			log.Printf("some requests were not finished in %v and are cut off", drainTimeout)
			_ = server.Close() // the process ends here anyway
		}
		log.Print("stopped")
		return 0
	case got := <-signals:
		log.Printf("%v again: stopping at once", got)
		_ = server.Close() // as above
		return 1
	}
}

// reason is why listening failed, without the address, which the caller names.
func reason(err error) error {
	var syscallErr *os.SyscallError
	if errors.As(err, &syscallErr) {
		return syscallErr.Err
	}
	return err
}
