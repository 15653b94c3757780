package kubelet_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// upgrade asks the kubelet for streams.
func (c *cluster) upgrade(path, protocol string) (httpstream.Connection, string) {
	conn, err := c.network.DialContext(c.t.Context(), "tcp", machine+":10250")
	require.NoError(c.t, err)
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: k\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: %s\r\n\r\n", path, protocol)
	require.NoError(c.t, err)
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, nil)
	require.NoError(c.t, err)
	if resp.StatusCode != http.StatusSwitchingProtocols {
		text, err := io.ReadAll(resp.Body)
		require.NoError(c.t, err)
		require.NoError(c.t, conn.Close())
		return nil, fmt.Sprintf("%d %s", resp.StatusCode, text)
	}
	require.Zero(c.t, reader.Buffered())
	streams, err := spdy.NewClientConnection(conn)
	require.NoError(c.t, err)
	return streams, ""
}

func (c *cluster) stream(conn httpstream.Connection, headers map[string]string) httpstream.Stream {
	header := http.Header{}
	for key, value := range headers {
		header.Set(key, value)
	}
	s, err := conn.CreateStream(header)
	require.NoError(c.t, err)
	return s
}

// run returns the output of a command, and how it ends, or why it cannot be run.
func (c *cluster) run(path string) string {
	conn, refused := c.upgrade(path, "v4.channel.k8s.io")
	if conn == nil {
		return refused
	}
	defer conn.Close()
	status := c.stream(conn, map[string]string{corev1.StreamType: corev1.StreamTypeError})
	stdout := c.stream(conn, map[string]string{corev1.StreamType: corev1.StreamTypeStdout})
	text, err := io.ReadAll(stdout)
	require.NoError(c.t, err)
	how, err := io.ReadAll(status)
	require.NoError(c.t, err)
	return string(text) + string(how)
}

const succeeded = `{"metadata":{},"status":"Success"}`

func TestACommandIsRunInAContainerOfAPod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		uid := c.create(makePod("web-1")).UID
		c.create(makePod("late", told("start-after", "1h")))
		pass(time.Second)
		for path, want := range map[string]string{
			"/exec/default/web-1/web?output=1&command=hostname":                     "web-1\n" + succeeded,
			"/exec/default/web-1/" + string(uid) + "/web?output=1&command=hostname": "web-1\n" + succeeded,
			"/exec/default/web-1/u/web?output=1&command=hostname":                   "500 container not found (\"web\")\n",
			"/exec/default/late/web?output=1&command=hostname":                      "500 container not found (\"web\")\n",
			"/exec/default/nope/web?output=1&command=hostname":                      "404 pod does not exist\n",
		} {
			assert.Equal(t, want, c.run(path), path)
		}
	})
}

func TestAPodSucceedsOrFailsAsItsCommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		runs := func(command ...string) func(*corev1.Pod) {
			return func(pod *corev1.Pod) {
				pod.Spec.Containers[0].Args, pod.Spec.RestartPolicy = command, corev1.RestartPolicyNever
			}
		}
		c.create(makePod("good", runs("echo", "hi")))
		c.create(makePod("bad", runs("exit", "3")))
		c.create(makePod("busy", runs("sleep", "1m")))
		pass(2 * time.Second)
		assert.Equal(t, "Succeeded 0/1 Completed 0, 0 restarts", c.glance("good"))
		assert.Equal(t, "Failed 0/1 Error 3, 0 restarts", c.glance("bad"))
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("busy"))
		assert.Equal(t, "hi\n", c.get200("/containerLogs/default/good/web"))
		assert.Len(t, c.events.of("Started"), 3)
		pass(time.Minute)
		assert.Equal(t, "Succeeded 0/1 Completed 0, 0 restarts", c.glance("busy"))
	})
}

func TestAPortOfAPodIsForwarded(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		block netip.Prefix
		ports []string // that lead there
	}{
		"at its own address": {netip.MustParsePrefix("127.1.2.0/24"), []string{"80"}},
		"at its machine's":   {netip.Prefix{}, []string{"80", "8080"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				c.config.PodCIDR = row.block
				c.start()
				c.create(makePod("web-1", func(pod *corev1.Pod) {
					pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
				}))
				pass(time.Second)
				conn, refused := c.upgrade("/portForward/default/web-1", "portforward.k8s.io")
				require.Empty(t, refused)
				defer conn.Close()
				for _, port := range row.ports {
					headers := map[string]string{corev1.PortHeader: port, corev1.PortForwardRequestIDHeader: port, corev1.StreamType: corev1.StreamTypeError}
					c.stream(conn, headers)
					headers[corev1.StreamType] = corev1.StreamTypeData
					data := c.stream(conn, headers)
					_, err := io.WriteString(data, "GET / HTTP/1.0\r\n\r\n")
					require.NoError(t, err)
					resp, err := http.ReadResponse(bufio.NewReader(data), nil)
					require.NoError(t, err)
					text, err := io.ReadAll(resp.Body)
					require.NoError(t, err)
					assert.Equal(t, "web-1 on "+machine+" (web)\n", string(text), port)
				}
			})
		})
	}
}

func TestAClientMustOpenTheStreamsThatItHasAskedForInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1"))
		pass(time.Second)
		conn, refused := c.upgrade("/exec/default/web-1/web?output=1&command=env", "v5.channel.k8s.io")
		require.Empty(t, refused)
		c.stream(conn, map[string]string{corev1.StreamType: corev1.StreamTypeStdout})
		isClosed := func() bool {
			select {
			case <-conn.CloseChan():
				return true
			default:
				return false
			}
		}
		pass(29 * time.Second)
		assert.False(t, isClosed(), "it may still open one")
		pass(2 * time.Second)
		assert.True(t, isClosed())
	})
}

func TestStreamsInWhichNothingIsSentEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.config.NodeStatusUpdateFrequency = time.Hour
		c.start()
		c.create(makePod("web-1"))
		pass(time.Second)
		began := time.Now()
		c.run("/exec/default/web-1/web?output=1&command=sleep&command=5h")
		assert.Equal(t, 4*time.Hour, time.Since(began))
	})
}

func TestStreamsEndWithTheirKubelet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1"))
		pass(time.Second)
		ended := make(chan string, 1)
		go func() { ended <- c.run("/exec/default/web-1/web?output=1&command=sleep&command=1h") }()
		synctest.Wait()
		c.stop()
		assert.Contains(t, <-ended, `"message":"command terminated with non-zero exit code: 137"`)
	})
}
