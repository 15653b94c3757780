package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
	"kube2014/pkg/registry"
	"kube2014/pkg/util/loopback"
)

// watched is a log that can be waited for.
type watched struct {
	t     *testing.T
	lines chan string
	seen  []string
}

// watch reads a log until its end, also if nobody waits for its lines: a program whose log is not read stands still.
func watch(t *testing.T, log io.Reader) *watched {
	w, read := &watched{t: t, lines: make(chan string)}, make(chan string)
	go func() {
		defer close(read)
		for scanner := bufio.NewScanner(log); scanner.Scan(); {
			read <- scanner.Text()
		}
	}()
	go func() {
		defer close(w.lines)
		for queue, from := []string{}, read; from != nil || len(queue) > 0; {
			to, next := chan string(nil), ""
			if len(queue) > 0 {
				to, next = w.lines, queue[0]
			}
			select {
			case line, ok := <-from:
				if !ok {
					from = nil
					continue
				}
				queue = append(queue, line)
			case to <- next:
				queue = queue[1:]
			}
		}
	}()
	return w
}

func TestALogIsReadThatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	log := watch(t, reader)
	for range 2000 {
		_, err := io.WriteString(writer, "a line\n")
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	assert.Equal(t, strings.Repeat("a line\n", 2000), log.rest())
}

// find returns the submatches of the next line that matches.
func (w *watched) find(pattern string) []string {
	w.t.Helper()
	timeout := time.After(hangs)
	for {
		select {
		case line, ok := <-w.lines:
			if !ok {
				require.FailNow(w.t, "the log ended without "+pattern, strings.Join(w.seen, "\n"))
			}
			w.seen = append(w.seen, line)
			if match := regexp.MustCompile(pattern).FindStringSubmatch(line); match != nil {
				return match
			}
		case <-timeout:
			require.FailNow(w.t, "the log has no "+pattern, strings.Join(w.seen, "\n"))
		}
	}
}

// end waits until the program has closed its log.
func (w *watched) end() {
	for range w.lines {
	}
}

// rest returns what is still logged until the program closes its log.
func (w *watched) rest() string {
	var rest strings.Builder
	for line := range w.lines {
		rest.WriteString(line + "\n")
	}
	return rest.String()
}

const startLine = `serves (http://127\.0\.0\.1:\d+)/api/v1beta1(?: and /api/v1 and /ui/)?: registry (?:memory|etcd[23]? at \S+(?: below \S+)?), scheduler (?:first_fit|none), machines (.*)$`

// It uses the process's log and signals, so it is not parallel.
func TestRunServesUntilASignal(t *testing.T) {
	reader, writer := io.Pipe()
	log := watch(t, reader)
	exit := make(chan int, 1)
	go func() {
		exit <- apiserverCommand.run([]string{"-port", "0"}, io.Discard, writer)
		writer.Close()
	}()
	start := log.find(startLine)
	assert.Equal(t, "127.0.0.1 (the default: -machines was not given)", start[2]) // D26
	c := clientOf(strings.TrimPrefix(start[1], "http://"))

	task := api.Task{JSONBase: api.JSONBase{ID: "web-1"}, Labels: map[string]string{"name": "web"}}
	task.DesiredState.Manifest.Containers = []api.Container{{Image: "dockerfile/nginx", Ports: []api.Port{{HostPort: 8080, ContainerPort: 80}}}}
	accepted, err := c.CreateTask(task)
	require.NoError(t, err)
	assert.Equal(t, task, accepted)
	_, err = c.CreateTask(task)
	assert.Equal(t, &api.Error{Kind: api.AlreadyExists, Message: `task "web-1" already exists`}, err)
	second := task
	second.ID = "web-2"
	_, err = c.CreateTask(second)
	assert.Equal(t, &api.Error{Kind: api.Conflict, Message: `no machine has the host ports of task "web-2" free`}, err)

	task.Labels = map[string]string{"name": "web", "rev": "2"}
	_, err = c.UpdateTask(task)
	require.NoError(t, err)
	tasks, err := c.ListTasks(map[string]string{"rev": "2"})
	require.NoError(t, err)
	require.Len(t, tasks.Items, 1)
	task.CurrentState.Host = "127.0.0.1"
	assert.Equal(t, task, tasks.Items[0])
	stored, err := c.GetTask("web-1")
	require.NoError(t, err)
	assert.Equal(t, task, stored)

	controller, err := c.CreateReplicationController(api.ReplicationController{JSONBase: api.JSONBase{ID: "c"}})
	require.NoError(t, err)
	controller.DesiredState.Replicas = 3
	_, err = c.UpdateReplicationController(controller)
	require.NoError(t, err)
	controllers, err := c.ListReplicationControllers(nil)
	require.NoError(t, err)
	assert.Equal(t, []api.ReplicationController{controller}, controllers.Items)
	require.NoError(t, c.DeleteReplicationController("c"))
	_, err = c.GetReplicationController("c")
	assert.Equal(t, api.NotFound, api.KindOf(err))

	_, err = c.CreateService(api.Service{JSONBase: api.JSONBase{ID: "s"}, Port: 70000})
	assert.Equal(t, &api.Error{Kind: api.Invalid, Field: "port", Message: "70000 is not between 0 and 65535"}, err)
	_, err = c.CreateService(api.Service{JSONBase: api.JSONBase{ID: "s"}, Port: 7000})
	require.NoError(t, err)
	services, err := c.ListServices(nil)
	require.NoError(t, err)
	assert.Len(t, services.Items, 1)
	require.NoError(t, c.DeleteService("s"))
	require.NoError(t, c.DeleteTask("web-1"))
	log.find(`DELETE /api/v1beta1/tasks/web-1 200 \d`)

	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	log.find("terminated: finishing the requests in flight")
	log.find("stopped$")
	assert.Equal(t, 0, <-exit)
}

// program starts the apiserver as a process of its own, as users run it.
func program(t *testing.T, args ...string) (cmd *exec.Cmd, log *watched, address string) {
	return startProgram(t, os.Args[0], hurried, args...)
}

// unhurriedProgram is a program that gives a slow machine the time it takes, and
// whose loop stands still.
func unhurriedProgram(t *testing.T, args ...string) (cmd *exec.Cmd, log *watched, address string) {
	return startProgram(t, os.Args[0], unhurried, args...)
}

func startProgram(t *testing.T, path, mode string, args ...string) (cmd *exec.Cmd, log *watched, address string) {
	cmd = exec.Command(path, append([]string{"-port", "0"}, args...)...)
	cmd.Env = append(os.Environ(), asProgram+"="+mode)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, if the test went well
	log = watch(t, stderr)
	return cmd, log, strings.TrimPrefix(log.find(startLine)[1], "http://")
}

func TestASignalEndsTheProgram(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"interrupt": os.Interrupt, "terminated": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, log, _ := program(t)
			require.NoError(t, cmd.Process.Signal(signal))
			log.find(name + ": finishing the requests in flight, for at most 10s")
			log.find("stopped$")
			log.end()
			assert.NoError(t, cmd.Wait(), "exit code 0")
		})
	}
}

// inFlight is a POST of which the server has the head and waits for the body.
type inFlight struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
	body   string
}

func begin(t *testing.T, network *loopback.Listener, path, body string) *inFlight {
	conn, err := network.Dial(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	r := &inFlight{t: t, conn: conn, reader: bufio.NewReader(conn), body: body}
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", path, len(body))
	require.NoError(t, err)
	require.Equal(t, http.StatusContinue, r.answer(), "the handler reads the body")
	return r
}

func (r *inFlight) answer() int {
	resp, err := http.ReadResponse(r.reader, nil)
	require.NoError(r.t, err)
	return resp.StatusCode
}

func (r *inFlight) finish() int {
	_, err := fmt.Fprint(r.conn, r.body)
	require.NoError(r.t, err)
	return r.answer()
}

// ending is a server in a synctest bubble that has got a first signal.
type ending struct {
	network *loopback.Listener
	signals chan os.Signal
	exit    chan int
}

// endServer serves until a request is in flight, and sends the signal.
func endServer(t *testing.T, handler http.Handler, begin func(network *loopback.Listener)) *ending {
	e := &ending{loopback.Listen(), make(chan os.Signal, 2), make(chan int, 1)}
	go func() { e.exit <- exitOf(serverOf(handler, e.network), e.signals) }()
	begin(e.network)
	e.signals <- os.Interrupt
	synctest.Wait()
	return e
}

// D30: what is in flight is finished, nothing new is taken.
func TestD30ASignalLetsRequestsInFlightFinish(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		path, body string
		status     int
	}{
		"at the first door":  {"/api/v1beta1/services", `{"id": "s"}`, http.StatusOK},
		"at the second door": {todaysPods, encodeAll(t, podNamed("p")), http.StatusCreated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var request *inFlight
				e := endServer(t, openDoors(t).handler, func(network *loopback.Listener) { request = begin(t, network, row.path, row.body) })
				_, err := e.network.Dial(context.Background())
				assert.ErrorIs(t, err, net.ErrClosed, "no new connections")
				time.Sleep(config.DrainTimeout - time.Second) // the bubble's clock: it takes no time
				assert.Equal(t, row.status, request.finish())
				assert.Equal(t, 0, <-e.exit)
			})
		})
	}
}

// hanging is a handler that answers when its client has gone.
var hanging = http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })

// hang sends a request to it.
func hang(t *testing.T, network *loopback.Listener) {
	conn, err := network.Dial(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	synctest.Wait()
}

func TestD30ARequestInFlightIsCutOffAfterTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		e := endServer(t, hanging, func(network *loopback.Listener) { hang(t, network) })
		assert.Equal(t, 0, <-e.exit)
		assert.Equal(t, 10*time.Second, time.Since(start))
	})
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		e := endServer(t, hanging, func(network *loopback.Listener) { hang(t, network) })
		e.signals <- os.Interrupt
		assert.Equal(t, 1, <-e.exit)
		assert.Equal(t, time.Duration(0), time.Since(start))
	})
}

func TestAPanicInAHandlerDoesNotEndTheServer(t *testing.T) {
	t.Parallel()
	// No request makes the real handlers panic, so here the storage does.
	stores := memoryRegistries()
	stores.Services = registry.MakeRegistry(nil)
	handler := newHandler(stores, nil, nil, client.DefaultPrefix)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	signals := make(chan os.Signal, 1)
	exit := make(chan int, 1)
	go func() { exit <- exitOf(serverWith(handler, listener, hangs), signals) }()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			_, err := clientOf(listener.Addr().String()).GetService("x")
			assert.Equal(t, api.Internal, api.KindOf(err))
		})
	}
	group.Wait()
	signals <- os.Interrupt
	assert.Equal(t, 0, <-exit)
}

func TestAListenerThatBreaksEndsTheServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	listener.Close()
	assert.Equal(t, 1, exitOf(serverOf(http.NotFoundHandler(), listener), nil))
}

// 192.0.2.0/24 is for documents: no machine has these addresses.
func TestAMachineWithoutItsAddressEndsTheProgramWithAdvice(t *testing.T) {
	t.Parallel()
	cmd, log := bareProgram(t, unhurried, "-run", "all", "-port", "0", "-kubelet_port", "0", "-machines", "127.0.0.1,192.0.2.1")
	log.find(`the kubelet cannot listen on 192\.0\.2\.1:0: .* \(macOS: sudo ifconfig lo0 alias 192\.0\.2\.1\), or choose others with -machines `)
	log.rest()
	assert.Error(t, cmd.Wait())
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
}
