package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"kube2014/pkg/options"
	"kube2014/pkg/trace"
)

// runParts runs parts around an apiserver elsewhere until a signal comes, and returns the exit code.
func (c command) runParts(o *options.ServerRunOptions, traceOut, stderr io.Writer, signals <-chan os.Signal) int {
	var t *trace.Tracer
	if o.Generic.Trace {
		t = trace.New(traceOut)
	}
	p, err := config.NewParts(o, o.Parts.Connect, t)
	if err != nil {
		fmt.Fprintln(stderr, inLines(c.name, err))
		return 2
	}
	log.Printf("kube2014 %s runs %s around the apiserver of %s", version, strings.Join(o.Parts.Parts, ", "), cmp.Or(o.Parts.Master, o.Parts.Kubeconfig))
	go p.Run(context.Background())
	select {
	case err := <-p.Failure():
		fmt.Fprintln(stderr, inLines(c.name, err))
		_ = p.Stop() // the exit code says enough
		return 1
	case got := <-signals:
		log.Printf("%v: stopping", got)
	}
	if err := p.Stop(); err != nil {
		log.Print(err)
		return 1
	}
	log.Print("stopped")
	return 0
}
