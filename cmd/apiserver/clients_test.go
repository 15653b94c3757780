package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/client"
)

// memoryOf returns how much memory a process holds, in bytes; 0 where the system
// does not tell.
func memoryOf(t *testing.T, pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(t, err)
	pages, err := strconv.Atoi(strings.Fields(string(data))[1])
	require.NoError(t, err)
	return pages * os.Getpagesize()
}

func dial(t *testing.T, address string) net.Conn {
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(40*time.Second)))
	return conn
}

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

// Broken or hostile clients cost a bounded time and memory, and other clients
// are served meanwhile.
func TestBrokenClientsDoNotStopTheServer(t *testing.T) {
	t.Parallel()
	const post = "POST /api/v1beta1/services HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
	path := filepath.Join(t.TempDir(), "apiserver") // as users run it: the race detector takes much memory
	output, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, string(output))
	cmd, log, address := startProgram(t, path)
	go log.end()
	c := &client.Client{Host: "http://" + address}
	large := strings.Repeat("x", 500_000)
	for i := range 20 { // 10 MB to list: more than the system buffers
		_, err := c.CreateTask(makeTaskWithText(fmt.Sprintf("large-%d", i), large))
		require.NoError(t, err)
	}

	clients := map[string]func(t *testing.T, conn net.Conn){
		"a body that never comes": func(t *testing.T, conn net.Conn) {
			fmt.Fprintf(conn, post, 100)
			assert.Contains(t, untilClosed(conn), "Bad Request: body: is incomplete: the client stopped sending it or was too slow")
		},
		"a body that trickles": func(t *testing.T, conn net.Conn) {
			fmt.Fprintf(conn, post, 1000)
			go drip(conn, " ", 500*time.Millisecond)
			assert.Contains(t, untilClosed(conn), "Bad Request: body: is incomplete: the client stopped sending it or was too slow")
		},
		"a header that never ends": func(t *testing.T, conn net.Conn) {
			io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n")
			go drip(conn, "X-A: b\r\n", 100*time.Millisecond)
			assert.NotContains(t, untilClosed(conn), "200 OK")
		},
		"a header of many megabytes": func(t *testing.T, conn net.Conn) {
			io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n")
			line := "X-A: " + strings.Repeat("y", 1<<16) + "\r\n"
			go func() {
				for range 100 {
					if _, err := io.WriteString(conn, line); err != nil {
						return
					}
				}
			}()
			answer := untilClosed(conn)
			assert.True(t, answer == "" || strings.Contains(answer, "431 Request Header Fields Too Large"), answer)
		},
		"a query of a megabyte of labels": func(t *testing.T, conn net.Conn) {
			fmt.Fprintf(conn, "GET /api/v1beta1/tasks?labels=a=%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", strings.Repeat("y", 1_000_000))
			answer := untilClosed(conn)
			assert.Contains(t, answer, "200 OK")
			assert.Contains(t, answer, `"items": []`)
		},
		"an answer that is read at a crawl": func(t *testing.T, conn net.Conn) {
			assert.NoError(t, conn.(*net.TCPConn).SetReadBuffer(16<<10))
			io.WriteString(conn, "GET /api/v1beta1/tasks HTTP/1.1\r\nHost: x\r\n\r\n")
			ticker := time.NewTicker(100 * time.Millisecond)
			defer ticker.Stop()
			read := 0
			for buffer := make([]byte, 1024); ; <-ticker.C {
				n, err := conn.Read(buffer)
				if read += n; err != nil {
					break
				}
				if read > 100<<10 { // the server has given up: the rest comes at once
					rest, _ := io.Copy(io.Discard, conn)
					read += int(rest)
					break
				}
			}
			assert.Less(t, read, 10_000_000, "the answer was cut off")
		},
		"a client that goes away in its request": func(t *testing.T, conn net.Conn) {
			fmt.Fprintf(conn, post+"{", 100)
			conn.Close()
		},
		"a client that goes away in its answer": func(t *testing.T, conn net.Conn) {
			io.WriteString(conn, "GET /api/v1beta1/tasks HTTP/1.1\r\nHost: x\r\n\r\n")
			_, err := conn.Read(make([]byte, 1000))
			assert.NoError(t, err)
			conn.Close()
		},
		"a body of 3 MiB": func(t *testing.T, conn net.Conn) {
			fmt.Fprintf(conn, post, 3<<20)
			go io.WriteString(conn, strings.Repeat("x", 3<<20))
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			assert.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
		},
		"JSON that is 100,000 deep": func(t *testing.T, conn net.Conn) {
			body := `{"id": ` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
			fmt.Fprintf(conn, post+body, len(body))
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
		},
		"nearly a megabyte of labels": func(t *testing.T, conn net.Conn) {
			var labels []string
			for i := range 40_000 {
				labels = append(labels, fmt.Sprintf(`"label-%d":"value"`, i))
			}
			body := `{"id": "labels-` + strings.ReplaceAll(conn.LocalAddr().String(), ":", "-") + `", "labels": {` + strings.Join(labels, ",") + `}}`
			fmt.Fprintf(conn, post+body, len(body))
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, resp.StatusCode)
		},
		"something that is not HTTP": func(t *testing.T, conn net.Conn) {
			io.WriteString(conn, "\x16\x03\x01\x00\x00hello\r\n\r\n")
			assert.Contains(t, untilClosed(conn), "400 Bad Request")
		},
	}
	start := time.Now()
	var group sync.WaitGroup
	for name, misbehave := range clients {
		for range 4 {
			group.Go(func() {
				conn := dial(t, address)
				defer conn.Close()
				t.Run(name, func(t *testing.T) { misbehave(t, conn) })
			})
		}
	}
	var idle []net.Conn
	for range 2000 {
		conn := dial(t, address)
		defer conn.Close()
		idle = append(idle, conn)
	}

	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	most, served := 0, 0
	for open := true; open; served++ { // others are served meanwhile
		asked := time.Now()
		_, err := c.GetTask("large-0")
		require.NoError(t, err)
		assert.Less(t, time.Since(asked), 5*time.Second)
		most = max(most, memoryOf(t, cmd.Process.Pid))
		select {
		case <-done:
			open = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	assert.Less(t, time.Since(start), 35*time.Second, "each has its time, and no more")
	assert.Less(t, most, 768<<20, "bytes of memory")
	assert.Greater(t, served, 10)
	for _, conn := range idle[:10] {
		assert.Empty(t, untilClosed(conn), "an idle connection is closed")
	}
	t.Logf("%d requests served meanwhile, %d MiB of memory at the most, %v", served, most>>20, time.Since(start).Round(time.Second))
}
