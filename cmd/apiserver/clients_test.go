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
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/registry"
	"kube2014/pkg/util/loopback"
)

// untilClosed reads all that the server sends until it closes the connection.
func untilClosed(conn net.Conn) string {
	data, _ := io.ReadAll(conn) // a reset ends it too
	return string(data)
}

// drip sends a text at intervals until the server closes the connection.
func drip(conn net.Conn, text string, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for range ticker.C {
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
	}
}

// status reads the head of an answer, "" when there is none.
func status(conn net.Conn) string {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return ""
	}
	return resp.Status
}

const post = "POST /api/v1beta1/services HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"

// brokenClients are broken or hostile. Each does what it does, then returns what the
// server answered.
var brokenClients = map[string]func(conn net.Conn, id string) (answer string){
	"a body that never comes": func(conn net.Conn, _ string) string {
		fmt.Fprintf(conn, post, 100)
		return untilClosed(conn)
	},
	"a body that trickles": func(conn net.Conn, _ string) string {
		fmt.Fprintf(conn, post, 1000)
		go drip(conn, " ", 500*time.Millisecond)
		return untilClosed(conn)
	},
	"a header that never ends": func(conn net.Conn, _ string) string {
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n")
		go drip(conn, "X-A: b\r\n", 100*time.Millisecond)
		return untilClosed(conn)
	},
	"a header of many megabytes": func(conn net.Conn, _ string) string {
		line := "X-A: " + strings.Repeat("y", 1<<16) + "\r\n"
		go func() {
			_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n")
			for i := 0; i < 100 && err == nil; i++ {
				_, err = io.WriteString(conn, line)
			}
		}()
		return untilClosed(conn)
	},
	"a query of a megabyte of labels": func(conn net.Conn, _ string) string {
		fmt.Fprintf(conn, "GET /api/v1beta1/tasks?labels=a=%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", strings.Repeat("y", 1_000_000))
		return untilClosed(conn)
	},
	"an answer that is read at a crawl": func(conn net.Conn, _ string) string {
		io.WriteString(conn, "GET /api/v1beta1/tasks HTTP/1.1\r\nHost: x\r\n\r\n")
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		read, buffer := 0, make([]byte, 1024)
		for range 150 { // within 10 seconds the server has given up
			n, err := conn.Read(buffer)
			if read += n; err != nil {
				break
			}
			<-ticker.C
		}
		rest, _ := io.Copy(io.Discard, conn) // what the system has buffered
		return fmt.Sprint(read+int(rest) < largeList)
	},
	"a client that goes away in its request": func(conn net.Conn, _ string) string {
		fmt.Fprintf(conn, post+"{", 100)
		return ""
	},
	"a client that goes away in its answer": func(conn net.Conn, _ string) string {
		io.WriteString(conn, "GET /api/v1beta1/tasks HTTP/1.1\r\nHost: x\r\n\r\n")
		beginning := make([]byte, 100)
		n, _ := conn.Read(beginning)
		return string(beginning[:n])
	},
	"a body of 3 MiB": func(conn net.Conn, _ string) string {
		fmt.Fprintf(conn, post, 3<<20)
		go io.WriteString(conn, strings.Repeat("x", 3<<20))
		return status(conn)
	},
	"JSON that is 100,000 deep": func(conn net.Conn, _ string) string {
		body := `{"id": ` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
		fmt.Fprintf(conn, post+body, len(body))
		return status(conn)
	},
	"nearly a megabyte of labels": func(conn net.Conn, id string) string {
		var labels []string
		for i := range 40_000 {
			labels = append(labels, fmt.Sprintf(`"label-%d":"value"`, i))
		}
		body := `{"id": "labels-` + id + `", "labels": {` + strings.Join(labels, ",") + `}}`
		fmt.Fprintf(conn, post+body, len(body))
		return status(conn)
	},
	"something that is not HTTP": func(conn net.Conn, _ string) string {
		io.WriteString(conn, "\x16\x03\x01\x00\x00hello\r\n\r\n")
		return untilClosed(conn)
	},
}

// wanted is what the broken clients are answered.
var wanted = map[string]*regexp.Regexp{
	"a body that never comes":                regexp.MustCompile("Bad Request: body: is incomplete: the client stopped sending it or was too slow$"),
	"a body that trickles":                   regexp.MustCompile("Bad Request: body: is incomplete: the client stopped sending it or was too slow$"),
	"a header that never ends":               regexp.MustCompile("^$"),
	"a header of many megabytes":             regexp.MustCompile("^(HTTP/1.1 431 Request Header Fields Too Large|$)"),
	"a query of a megabyte of labels":        regexp.MustCompile(`^HTTP/1.1 200 OK(?s:.*)"items": \[\]`),
	"an answer that is read at a crawl":      regexp.MustCompile("^true$"), // it was cut off
	"a client that goes away in its request": regexp.MustCompile("^$"),
	"a client that goes away in its answer":  regexp.MustCompile("^HTTP/1.1 200 OK"),
	"a body of 3 MiB":                        regexp.MustCompile("^413 "),
	"JSON that is 100,000 deep":              regexp.MustCompile("^400 "),
	"nearly a megabyte of labels":            regexp.MustCompile("^200 "),
	"something that is not HTTP":             regexp.MustCompile("^HTTP/1.1 400 Bad Request"),
}

// idleClients connect and send nothing.
const idleClients = 2000

// largeList is how much there is to list, in bytes: more than who reads it at a crawl
// gets to read.
const largeList = 1_000_000

// makeLargeList makes tasks with so much text.
func makeLargeList(t *testing.T, size int, create func(api.Task) error) {
	text := strings.Repeat("x", size/20)
	for i := range 20 {
		require.NoError(t, create(makeTaskWithText(fmt.Sprintf("large-%d", i), text)))
	}
}

// Clients that are broken or hostile cost the server a bounded time, and others are
// served meanwhile, at once.
func TestBrokenClientsDoNotStopTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stores := memoryRegistries()
		makeLargeList(t, largeList, func(task api.Task) error { return stores.Tasks.CreateTask("127.0.0.1", task) })
		network := loopback.Listen()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		handler := newHandler(stores, clienttest.FakeContainerInfo{}, registry.MakeRoundRobinScheduler(nil), client.DefaultPrefix)
		go func() { _ = serverOf(handler, network).PrepareRun().Run(ctx) }()
		dial := func() net.Conn {
			conn, err := network.Dial(context.Background())
			require.NoError(t, err)
			return conn
		}
		start := time.Now()
		var group sync.WaitGroup
		for name, misbehave := range brokenClients {
			for i := range 4 {
				group.Go(func() {
					conn := dial()
					defer conn.Close()
					assert.Regexp(t, wanted[name], misbehave(conn, fmt.Sprint(i)), name)
					assert.LessOrEqual(t, time.Since(start), 11*time.Second, "%s: each has its time, and no more", name)
				})
			}
		}
		for range idleClients {
			group.Go(func() {
				conn := dial()
				defer conn.Close()
				assert.Empty(t, untilClosed(conn), "an idle connection is closed")
				assert.Equal(t, 10*time.Second, time.Since(start))
			})
		}
		others := &client.Client{Host: "http://x", HTTP: &http.Client{Transport: &http.Transport{DialContext: network.DialContext, DisableKeepAlives: true}}}
		for range 100 { // others are served meanwhile
			asked := time.Now()
			_, err := others.GetTask("large-0")
			require.NoError(t, err)
			assert.Equal(t, time.Duration(0), time.Since(asked))
			time.Sleep(100 * time.Millisecond) // the bubble's clock: it takes no time
		}
		group.Wait()
		time.Sleep(time.Second) // those who drip notice that they are cut off
	})
}

// peakMemoryOf returns how much memory a process has held at the most, in bytes; 0
// where the system does not tell.
func peakMemoryOf(t *testing.T, pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(t, err)
	match := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(data)
	require.NotNil(t, match, string(data))
	kilobytes, err := strconv.Atoi(string(match[1]))
	require.NoError(t, err)
	return kilobytes << 10
}

// The same clients cost the program, as users run it, a bounded memory.
func TestBrokenClientsTakeLittleMemory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("make long counts what broken clients cost")
	}
	path := filepath.Join(t.TempDir(), "apiserver") // the race detector takes much memory
	output, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, string(output))
	cmd, log, address := startProgram(t, path, "")
	go log.end()
	c := clientOf(address)
	makeLargeList(t, 10*largeList, func(task api.Task) error { _, err := c.CreateTask(task); return err })
	before := peakMemoryOf(t, cmd.Process.Pid)

	var group sync.WaitGroup
	for _, misbehave := range brokenClients {
		for i := range 4 {
			conn, err := net.Dial("tcp", address)
			require.NoError(t, err)
			require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(16<<10))
			group.Go(func() {
				defer conn.Close()
				misbehave(conn, fmt.Sprint(i)) // its answer depends on how fast the machine is
			})
		}
	}
	for range idleClients {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close()
	}
	group.Wait()
	most := peakMemoryOf(t, cmd.Process.Pid)
	t.Logf("%d MiB of memory before, %d MiB at the most", before>>20, most>>20)
	assert.Less(t, most, 768<<20, "bytes of memory")
	_, err = c.GetTask("large-0")
	assert.NoError(t, err, "others are served")
}
