package measure

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// Server is a program that was started, and how to talk to it.
type Server struct {
	Address string
	PID     int
	TLS     bool // it serves TLS only; its certificate is not checked
}

var (
	servesAt     = regexp.MustCompile(`http://([0-9.:]+)`)
	errNoAddress = errors.New("there is no address in it")
)

// Start starts a program that says where it serves in its first line. It is stopped
// when the run is closed.
func (r *Run) Start(program string, args ...string) (Server, error) {
	cmd := exec.Command(program, args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return Server{}, err
	}
	if err := cmd.Start(); err != nil {
		return Server{}, err
	}
	var first string
	said, drained := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drained)
		log := bufio.NewReader(stderr)
		first, err = log.ReadString('\n')
		close(said)
		_, _ = io.Copy(io.Discard, log) // the log goes through a pipe, as it would to a file
	}()
	r.AtEnd(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		<-drained // Wait closes the pipe
		_ = cmd.Wait()
		kill.Stop()
	})
	<-said
	at := servesAt.FindStringSubmatch(first)
	if at == nil {
		return Server{}, fmt.Errorf("%s does not serve: %q: %w", program, first, cmp.Or(err, errNoAddress))
	}
	return Server{Address: at[1], PID: cmd.Process.Pid}, nil
}

// FreePort returns a port that nobody listens on at the moment.
func FreePort() (string, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer free.Close()
	_, port, err := net.SplitHostPort(free.Addr().String())
	return port, err
}

// ResidentMemory returns how many bytes of memory the server has.
func (s Server) ResidentMemory() (int, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	if err != nil {
		return 0, err
	}
	match := regexp.MustCompile(`VmRSS:\s*(\d+) kB`).FindSubmatch(data)
	if match == nil {
		return 0, fmt.Errorf("no VmRSS in the status of process %d", s.PID)
	}
	kilobytes, err := strconv.Atoi(string(match[1]))
	return kilobytes << 10, err
}
