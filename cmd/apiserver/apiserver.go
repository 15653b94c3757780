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
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"kube2014/pkg/etcd"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/server"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/util"
)

const (
	syncPeriod = 10 * time.Second
	syncPause  = time.Second
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

// version is set by the linker.
var version = "devel"

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: it serves until a signal stops it, and returns the exit
// code. Help and version go to stdout, the log and errors to stderr.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := options.Parse(args)
	switch {
	case errors.Is(err, options.ErrHelp):
		fmt.Fprint(stdout, options.Usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "%s (apiserver -h lists the flags)\n", inLines(err))
		return 2
	case o.Version:
		fmt.Fprintf(stdout, "kube2014 apiserver %s\n", version)
		return 0
	}
	logged := &lateWriter{out: stderr}
	defer logged.flush()
	log.SetOutput(logged)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(75) // a list of 100,000 tasks takes a tenth less memory than at 100, a GET about as long
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	if !o.Parts.Has(options.PartAPIServer) {
		return runParts(o, logged, stderr, signals)
	}
	m, err := createMaster(o, logged)
	if err != nil {
		fmt.Fprintln(stderr, inLines(err))
		return 2
	}
	defer m.close()
	m.loops.registerMachines()
	code, err := serve(m.server, m.parts.failure(), signals)
	if err != nil {
		fmt.Fprintf(stderr, "apiserver: %v\n", err)
	}
	return code
}

// inLines returns an error with the program's name before each of its lines.
func inLines(err error) string {
	return "apiserver: " + strings.ReplaceAll(err.Error(), "\n", "\napiserver: ")
}

// serve answers requests until a signal comes, then finishes those in flight
// (D30). A second signal ends it at once; so it ends when a part of the cluster fails for good. It
// returns the exit code, and why no port can be opened.
func serve(s *server.Server, failed <-chan error, signals <-chan os.Signal) (code int, err error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- s.PrepareRun().Run(ctx) }()
	select {
	case err := <-served:
		var listen *server.ListenError
		if errors.As(err, &listen) {
			return 1, err
		}
		log.Printf("the server stopped: %v", err)
		return 1, nil
	case got := <-signals:
		log.Printf("%v: finishing the requests in flight, for at most %v", got, drainTimeout)
		stop()
	case err := <-failed:
		log.Printf("%v: the server stops", err)
		code = 1
		stop()
	}
	select {
	case <-served:
		log.Print("stopped")
		return code, nil
	case got := <-signals:
		log.Printf("%v again: stopping at once", got)
		s.Abort()
		<-served
		return 1, nil
	}
}
