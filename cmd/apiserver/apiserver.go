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
	"runtime"
	"strings"
	"syscall"

	_ "kube2014/cmd/apiserver/startup" // delays the first cycle of garbage collection
	"kube2014/pkg/apiserver"
	"kube2014/pkg/client"
	"kube2014/pkg/etcd/standin"
	"kube2014/pkg/master"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/server"
	"kube2014/pkg/util/orphan"
)

// version is set by the linker.
var version = "devel"

// config is what tests replace fields of.
var config = master.NewConfig(version)

func main() {
	c := commandOf(os.Args[0])
	if c.share > 1 && os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(c.processors(runtime.GOMAXPROCS(0)))
	}
	os.Exit(c.run(os.Args[1:], os.Stdout, os.Stderr))
}

// run serves until a signal stops it, and returns the exit code. Help and version go to stdout, the log
// and errors to stderr.
func (c command) run(args []string, stdout, stderr io.Writer) int {
	o, err := c.parse(args)
	switch {
	case errors.Is(err, options.ErrHelp):
		fmt.Fprint(stdout, c.usage())
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "%s (%s -h lists the flags)\n", inLines(c.name, err), c.name)
		return 2
	case o.Version:
		fmt.Fprintln(stdout, c.version)
		return 0
	}
	logged := &lateWriter{out: stderr}
	defer logged.flush()
	log.SetOutput(logged)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)

	for _, warning := range o.Warnings {
		log.Print("warning: ", warning)
	}
	if !o.Parts.Has(options.PartAPIServer) {
		return c.runParts(o, logged, stderr, signals)
	}
	defer orphan.End(o.SecureServing.CertDir, signals)()
	if standin.Answers(context.Background(), o.Etcd.Servers) {
		log.Printf("nothing is behind the etcd at %s: objects are kept in memory", strings.Join(o.Etcd.Servers, ","))
		o.Etcd.Servers = nil
	}
	m, err := createMaster(config, o, logged)
	if err != nil {
		fmt.Fprintln(stderr, inLines(c.name, err))
		return 2
	}
	defer m.Close()
	m.Loops.RegisterMachines()
	code, err := serve(m.Server, m.Parts.Failure(), signals)
	if err != nil {
		fmt.Fprintln(stderr, inLines(c.name, err))
	}
	return code
}

// createMaster creates a server as main of the first commit did: registries in memory, or on etcd if
// it is named; a storage for each; and HTTP before them. The trace goes to traceOut. The error names a flag.
func createMaster(config *master.Config, o *options.ServerRunOptions, traceOut io.Writer) (*master.Master, error) {
	m := master.New(config, o, traceOut)
	if _, err := m.BuildGenericConfig(); err != nil {
		return nil, err
	}
	stores := master.NewMemoryRegistries(m.Decorators())
	if len(o.Etcd.Servers) > 0 {
		var err error
		if stores, err = config.NewEtcdRegistries(o, m.Decorators()); err != nil {
			return nil, err
		}
	}
	scheduler := m.NewScheduler(stores.Tasks)
	table := storageTable(stores, m.Kubelets, scheduler)
	return m, m.CreateServerChain(stores, table, scheduler)
}

// storageTable makes a storage for each registry. The table is the whole API of June 2014.
func storageTable(r master.Registries, containerInfo client.ContainerInfo, scheduler registry.Scheduler) map[string]apiserver.RESTStorage {
	return map[string]apiserver.RESTStorage{
		"tasks":                  registry.MakeTaskRegistryStorage(r.Tasks, containerInfo, scheduler),
		"replicationControllers": registry.MakeControllerRegistryStorage(r.Controllers),
		"services":               registry.MakeServiceRegistryStorage(r.Services),
	}
}

// inLines returns an error with a program's name before each of its lines.
func inLines(name string, err error) string {
	return name + ": " + strings.ReplaceAll(err.Error(), "\n", "\n"+name+": ")
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
		if _, ok := errors.AsType[*server.ListenError](err); ok {
			return 1, err
		}
		log.Printf("the server stopped: %v", err)
		return 1, nil
	case got := <-signals:
		log.Printf("signal %v: finishing the requests in flight, for at most %v", got, config.DrainTimeout)
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
		log.Printf("signal %v again: stopping at once", got)
		s.Abort()
		<-served
		return 1, nil
	}
}
