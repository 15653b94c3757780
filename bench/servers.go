package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a program that was started, and where it listens.
type server struct {
	address string
	pid     int
}

var (
	servesAt     = regexp.MustCompile(`http://([0-9.:]+)`)
	errNoAddress = errors.New("there is no address in it")
)

// startServer starts a program that says where it serves in its first line. It
// is stopped at the end of the group.
func (b *bench) startServer(program string, args ...string) (server, error) {
	cmd := exec.Command(program, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return server{}, err
	}
	if err := cmd.Start(); err != nil {
		return server{}, err
	}
	log := bufio.NewReader(stderr)
	drained := make(chan struct{})
	b.atEnd(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		<-drained                               // Wait closes the pipe
		_ = cmd.Wait()
	})
	first, err := log.ReadString('\n')
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, log) // the log goes through a pipe, as it would to a file
	}()
	at := servesAt.FindStringSubmatch(first)
	if at == nil {
		return server{}, fmt.Errorf("%s does not serve: %q: %w", program, first, cmp.Or(err, errNoAddress))
	}
	return server{at[1], cmd.Process.Pid}, nil
}

// startApiserver starts the program under test on machines named m0001 and so on.
func (b *bench) startApiserver(machines int, args ...string) (server, error) {
	var names []string
	for i := range machines {
		names = append(names, machineName(i))
	}
	return b.startServer(b.program, append([]string{"-port", "0", "-machines", strings.Join(names, ",")}, args...)...)
}

func machineName(i int) string { return fmt.Sprintf("m%04d", i+1) }

// startBare starts a bare handler that answers every request with the bytes.
func (b *bench) startBare(body []byte) (server, error) {
	file, err := os.CreateTemp(b.dir, "body")
	if err != nil {
		return server{}, err
	}
	if _, err := file.Write(body); err != nil {
		return server{}, err
	}
	if err := file.Close(); err != nil {
		return server{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return server{}, err
	}
	return b.startServer(self, "-bare", file.Name())
}

// serveBare is what the apiserver is compared with: net/http with the same
// timeouts, and nothing else.
func serveBare(file string) error {
	body, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "http://%s\n", listener.Addr())
	bare := http.Server{
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 20,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		}),
	}
	return bare.Serve(listener)
}

// residentMemory returns how many bytes of memory the server has.
func (s server) residentMemory() (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		return 0, err
	}
	match := regexp.MustCompile(`VmRSS:\s*(\d+) kB`).FindSubmatch(data)
	if match == nil {
		return 0, fmt.Errorf("no VmRSS in the status of process %d", s.pid)
	}
	kilobytes, err := strconv.Atoi(string(match[1]))
	return kilobytes << 10, err
}
