package main

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"kube2014/bench/measure"
)

// startApiserver starts the program under test on machines named m0001 and so on.
func (b *bench) startApiserver(machines int, args ...string) (measure.Server, error) {
	var names []string
	for i := range machines {
		names = append(names, machineName(i))
	}
	return b.Start(b.program, append([]string{"-port", "0", "-machines", strings.Join(names, ",")}, args...)...)
}

func machineName(i int) string { return fmt.Sprintf("m%04d", i+1) }

// startBare starts a bare handler that answers every request with the bytes.
func (b *bench) startBare(body []byte) (measure.Server, error) {
	file, err := os.CreateTemp(b.Dir, "body")
	if err != nil {
		return measure.Server{}, err
	}
	if _, err := file.Write(body); err != nil {
		return measure.Server{}, err
	}
	if err := file.Close(); err != nil {
		return measure.Server{}, err
	}
	return b.StartSelf("-bare", file.Name())
}

// serveBare is what the apiserver is compared with: net/http with the same
// timeouts, and nothing else.
func serveBare(file string) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return serve(func(w http.ResponseWriter, _ *http.Request) { send(w, body) })
}

func send(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

func serve(handler http.HandlerFunc) error {
	listener, err := measure.Listen()
	if err != nil {
		return err
	}
	bare := http.Server{ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 20, Handler: handler}
	return bare.Serve(listener)
}
