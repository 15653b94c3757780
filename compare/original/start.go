package main

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

var servesAt = regexp.MustCompile(`serves (http://[0-9.:]+)`)

// startOurs starts the apiserver on a free port, with its objects in memory.
func startOurs(program string, machines []string) (address string, stop func(), err error) {
	cmd := exec.Command(program, "-port", "0", "-machines", strings.Join(machines, ","))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	log := bufio.NewReader(stderr)
	first, _ := log.ReadString('\n') // without an address in it, it does not serve
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, log) // it would wait for a reader of its log
	}()
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		<-drained                               // Wait closes the pipe
		_ = cmd.Wait()
	}
	at := servesAt.FindStringSubmatch(first)
	if at == nil {
		stop()
		return "", nil, fmt.Errorf("%s does not serve: %q", program, strings.TrimSpace(first))
	}
	return at[1], stop, nil
}
