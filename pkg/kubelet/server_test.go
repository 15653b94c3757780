package kubelet_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet"
	"kube2014/pkg/kubelet/hollow"
	"kube2014/pkg/master/servertest"
)

// request sends a request to the kubelet, and returns the status and the body.
func (c *cluster) request(method, path string) (int, string) {
	client := &http.Client{Transport: &http.Transport{DialContext: c.network.DialContext, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://"+machine+":10250"+path, nil)
	require.NoError(c.t, err)
	resp, err := client.Do(req)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return resp.StatusCode, string(text)
}

func (c *cluster) get200(path string) string {
	status, text := c.request(http.MethodGet, path)
	assert.Equal(c.t, http.StatusOK, status, path)
	return text
}

// K77.
func TestAKubeletAnswersAboutItsPods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", withPort, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Command, pod.Spec.Containers[0].Args = []string{"nginx", "-g"}, []string{"daemon off"}
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "log", Image: "i"})
		}))
		c.create(makePod("late", told("start-after", "1h")))
		pass(time.Second)
		assert.Equal(t, "ok", c.get200("/healthz"))

		var list corev1.PodList
		require.NoError(t, json.Unmarshal([]byte(c.get200("/pods")), &list))
		assert.Equal(t, "PodList", list.Kind)
		require.Len(t, list.Items, 2)
		assert.Equal(t, "late", list.Items[0].Name)
		assert.Equal(t, corev1.PodRunning, list.Items[1].Status.Phase)

		var info map[string]any
		require.NoError(t, json.Unmarshal([]byte(c.get200("/containerInfo?container=web-1")), &info))
		state := info["State"].(map[string]any)
		assert.Equal(t, []any{"nginx", []any{"-g", "daemon off"}, "/web", true, 1.0, 0.0, "nginx:1.8"},
			[]any{info["Path"], info["Args"], info["Name"], state["Running"], state["Pid"], state["ExitCode"], info["Config"].(map[string]any)["Image"]})
		assert.Regexp(t, "^[0-9a-f]{64}$", info["ID"])
		assert.Regexp(t, "^sha256:[0-9a-f]{64}$", info["Image"])
		assert.Contains(t, c.get200("/containerInfo?container=web-1/log"), `"Name":"/log"`)
		assert.Contains(t, c.get200("/containerInfo?container=late"), `"Running":false`, "the first door would not ask for a while after an error")
		var infos map[string]any
		require.NoError(t, json.Unmarshal([]byte(c.get200("/podInfo?podID=web-1")), &infos))
		assert.Len(t, infos, 2)
		assert.Contains(t, infos, "log")

		for _, test := range []struct {
			method, path string
			status       int
			text         string
		}{
			{"GET", "/podInfo", 400, "Missing 'podID=' query entry.\n"},
			{"GET", "/podInfo?podID=nope", 404, "Pod does not exist\n"},
			{"GET", "/containerInfo", 400, "Missing container selector arg.\n"},
			{"GET", "/containerInfo?container=nope", 404, "Container does not exist\n"},
			{"GET", "/containerInfo?container=web-1/nope", 404, "Container does not exist\n"},
			{"GET", "/nope", 404, "404 page not found\n"},
			{"HEAD", "/healthz", 200, ""},
			{"POST", "/healthz", 405, "Method Not Allowed\n"},
			{"DELETE", "/pods", 405, "Method Not Allowed\n"},
		} {
			status, text := c.request(test.method, test.path)
			assert.Equal(t, test.status, status, test.path)
			assert.Equal(t, test.text, text, test.path)
		}
	})
}

func TestWhatAClientSaysAtLengthIsToldInShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("long", func(pod *corev1.Pod) {
			for range 300 {
				pod.Spec.Containers[0].Args = append(pod.Spec.Containers[0].Args, strings.Repeat("long", 50))
			}
		}))
		pass(time.Second)
		assert.Less(t, len(c.get200("/containerInfo?container=long")), 16<<10)
	})
}

func TestALogIsAnsweredAsItIsAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", told("log", "one\ntwo\n")))
		pass(time.Second)
		const path = "/containerLogs/default/web-1/web"
		all := "hollow: started nginx:1.8\none\ntwo\n"
		for query, want := range map[string]string{
			"":                                 all,
			"?tailLines=1":                     "two\n",
			"?tailLines=0":                     "",
			"?tailLines=9":                     all,
			"?limitBytes=10":                   "hollow: st",
			"?limitBytes=26":                   "hollow: started nginx:1.8\n",
			"?sinceSeconds=60":                 all,
			"?sinceTime=2030-01-01T00:00:00Z":  "",
			"?sinceTime=1999-01-01T00:00:00Z":  all,
			"?timestamps=true&tailLines=1":     "2000-01-01T00:00:01.200000000Z two\n",
			"?follow=false":                    all,
			"?sinceSeconds=999999999999999999": all,
		} {
			assert.Equal(t, want, c.get200(path+query), query)
		}
		pass(10 * time.Second)
		assert.Empty(t, c.get200(path+"?sinceSeconds=5"))
		assert.Equal(t, all, c.get200("/logs/default/web-1/web"))
		assert.Equal(t, all, c.get200("/containerLogs/default/web-1"))
		assert.Equal(t, "default/web-1/web\n", c.get200("/logs/"))
		for query, text := range map[string]string{
			"tailLines=-1":           "tailLines: must be a number that is at least 0\n",
			"tailLines=x":            "tailLines: must be a number that is at least 0\n",
			"limitBytes=0":           "limitBytes: must be a number that is at least 1\n",
			"sinceSeconds=0":         "sinceSeconds: must be a number that is at least 1\n",
			"sinceTime=yesterday":    "sinceTime: must be a time like 2014-06-06T12:00:00Z\n",
			"follow=maybe":           "follow: must be true or false\n",
			"previous=true&x=y":      "previous terminated container \"web\" in pod \"web-1\" not found\n",
			"timestamps=2&follow=no": "",
		} {
			status, got := c.request(http.MethodGet, path+"?"+query)
			assert.Equal(t, http.StatusBadRequest, status, query)
			if text != "" {
				assert.Equal(t, text, got, query)
			}
		}
	})
}

func TestAContainerWithoutALogIsToldWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("late", told("start-after", "1h")))
		c.create(makePod("init", told("exit-after.first", "1h"), func(pod *corev1.Pod) { pod.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "i"}} }))
		c.create(makePod("done", policy(corev1.RestartPolicyNever)))
		pass(time.Second)
		c.stop()
		c.start()
		for path, want := range map[string]string{
			"default/late/web":  "400 container \"web\" in pod \"late\" is waiting to start: ContainerCreating\n",
			"default/init/web":  "400 container \"web\" in pod \"init\" is waiting to start: PodInitializing\n",
			"default/late/nope": "404 container \"nope\" not found in pod \"late\"\n",
			"default/nope/web":  "404 pod \"nope\" does not exist\n",
			"other/late/web":    "404 pod \"late\" does not exist\n",
			"default/done/web":  "400 container \"web\" in pod \"done\" is terminated, and its log is gone\n",
		} {
			status, text := c.request(http.MethodGet, "/containerLogs/"+path)
			assert.Equal(t, want, fmt.Sprintf("%d %s", status, text), path)
		}
		status, _ := c.request(http.MethodGet, "/logs/default/late/web")
		assert.Equal(t, http.StatusBadRequest, status)
	})
}

func TestALogIsThatOfTheLastStartUntilThereIsAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("crash", told("exit-after", "1s"), told("exit-code", "3")))
		pass(3 * time.Second)
		const path, crashed = "/containerLogs/default/crash/web", "hollow: started nginx:1.8\nhollow: exited with code 3\n"
		assert.Equal(t, crashed, c.get200(path), "it waits for its third start")
		assert.Equal(t, crashed, c.get200(path+"?previous=true"))
		pass(10 * time.Second)
		assert.Equal(t, "Running 1/1 running, 2 restarts", c.glance("crash"))
		assert.Equal(t, "hollow: started nginx:1.8\n", c.get200(path))
		assert.Equal(t, crashed, c.get200(path+"?previous=true"))
	})
}

func TestALogIsFollowedUntilItsContainerHasExited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", withPort, told("exit-after", "5s")))
		pass(time.Second)
		var text string
		done := make(chan struct{})
		go func() {
			defer close(done)
			text = c.get200("/containerLogs/default/web-1/web?follow=true&tailLines=1")
		}()
		pass(time.Second)
		c.ask("127.1.2.1:80/hello")
		<-done
		assert.Regexp(t, "^hollow: listening on 127.1.2.1:80\nGET /hello 200 from .*\nhollow: exited with code 0\n$", text)
	})
}

// It is made with real sockets: what is written must not wait in a buffer.
func TestALogComesAsItIsWrittenAndEndsWithTheKubelet(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	listening := make(chan net.Addr, 1)
	k := kubelet.New(kubelet.Config{
		Name: "127.0.0.1", Client: server.Client(t, "kubelet"), Runtime: &hollow.Runtime{}, PodCIDR: netip.Prefix{},
		Listening: func(address net.Addr) { listening <- address },
	})
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	address := "http://" + (<-listening).String()
	client := server.Client(t, "test")
	pod := makePod("web-1", told("log", "hello"), func(pod *corev1.Pod) { pod.Spec.NodeName = "127.0.0.1" })
	_, err := client.Pods().Create(t.Context(), pod)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		resp, err := http.Get(address + "/containerLogs/default/web-1/web")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 10*time.Millisecond)

	resp, err := http.Get(address + "/containerLogs/default/web-1/web?follow=true")
	require.NoError(t, err)
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{"hollow: started nginx:1.8", "hello"} {
		require.True(t, lines.Scan(), "it does not wait for what comes later")
		assert.Equal(t, want, lines.Text())
	}
	cancel()
	for lines.Scan() { // it may tell its end
	}
	require.NoError(t, <-ended)
	_, err = http.Get(address + "/healthz")
	assert.Error(t, err, "nobody listens any more")
}
