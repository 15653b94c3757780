// Command etcd answers as an etcd with nothing behind it, for programs that start one before they start a kube-apiserver:
// package standin tells more. It is not part of the apiserver's program, because a test would pay for starting that twice.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"kube2014/pkg/etcd/standin"
	"kube2014/pkg/util/orphan"
)

// version is set by the linker.
var version = "devel"

// timeout bounds a request.
const timeout = 10 * time.Second

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run answers until a signal stops it, and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	flags := parse(args)
	given := func(name string) bool { _, ok := flags[name]; return ok }
	switch {
	case given("help"), given("h"):
		fmt.Fprint(stdout, standin.Usage)
		return 0
	case given("version"):
		fmt.Fprintf(stdout, "etcd of kube2014 %s, with nothing behind it\n", version)
		return 0
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	listeners, err := standin.Listen(flags["listen-client-urls"])
	if err != nil {
		fmt.Fprintln(stderr, "etcd:", err)
		return 2
	}
	log.SetOutput(stderr)
	defer orphan.End(flags["data-dir"], signals)()
	server := &http.Server{Handler: standin.Handler(), ReadTimeout: timeout, WriteTimeout: timeout}
	defer server.Close()
	for _, listener := range listeners {
		log.Printf("etcd of kube2014 %s answers http://%s/health, and has nothing behind it", version, listener.Addr())
		go func() { _ = server.Serve(listener) }() // until the program ends
	}
	log.Printf("%v: stopped", <-signals)
	return 0
}

// parse returns the value of each flag, the last one if it is repeated. Flags of a real etcd are no errors.
func parse(args []string) map[string]string {
	flags := map[string]string{}
	for i, arg := range args {
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !hasValue && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			value = args[i+1]
		}
		flags[name] = value
	}
	return flags
}
