package hollow_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/util/loopback/loopbacktest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/kubelet/hollow"
)

// started is a container that was started, with what it told.
type started struct {
	cri.Container
	began    time.Time
	mu       sync.Mutex // guards what follows
	phases   []string   // with the time since it was started
	warnings []string
}

// start starts a container of a pod that is told to do something.
func start(r *hollow.Runtime, told map[string]string, change ...func(*cri.Spec)) *started {
	s := &started{began: time.Now()}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", UID: "u1", Annotations: map[string]string{}}}
	for name, value := range told {
		pod.Annotations[hollow.Prefix+name] = value
	}
	changed := make(chan struct{}, 100)
	spec := cri.Spec{
		Pod: pod, Container: &corev1.Container{Name: "web", Image: "nginx:1.8"}, Name: "web", Node: "m1", HostIP: "10.0.0.1", PodIP: "10.1.0.1",
		Changed: func() { changed <- struct{}{} },
		Warn: func(reason, message string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.warnings = append(s.warnings, reason+": "+message)
		},
	}
	for _, change := range change {
		change(&spec)
	}
	s.Container = r.Start(spec)
	go func() {
		for range changed {
			state := s.State()
			s.mu.Lock()
			s.phases = append(s.phases, fmt.Sprintf("%s %v", state.Phase, time.Since(s.began)))
			s.mu.Unlock()
			if state.Phase == cri.Exited {
				return
			}
		}
	}()
	return s
}

// end stops the container, and returns what it has told.
func (s *started) end() (phases, warnings []string) {
	synctest.Wait()
	s.Stop(0)
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phases, s.warnings
}

func (s *started) text() string {
	lines, _, _ := s.Log(0)
	text := ""
	for _, line := range lines {
		text += line.Text + "\n"
	}
	return text
}

func isInit(spec *cri.Spec) { spec.Init = true }

func TestAContainerDoesWhatAnnotationsTell(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		told   map[string]string
		change func(*cri.Spec)
		phases []string
		code   int32
	}{
		"it runs until it is told to stop": {nil, nil, []string{"running 200ms", "exited 1h0m0s"}, 137},
		"it starts later":                  {map[string]string{"start-after": "3s"}, nil, []string{"running 3s", "exited 1h0m0s"}, 137},
		"it exits":                         {map[string]string{"exit-after": "5s"}, nil, []string{"running 200ms", "exited 5.2s"}, 0},
		"it exits with a code":             {map[string]string{"exit-after": "5s", "exit-code": "7"}, nil, []string{"running 200ms", "exited 5.2s"}, 7},
		"a code alone lets it exit soon":   {map[string]string{"exit-code": "7"}, nil, []string{"running 200ms", "exited 1.2s"}, 7},
		"another container is told":        {map[string]string{"exit-after.other": "5s"}, nil, []string{"running 200ms", "exited 1h0m0s"}, 137},
		"its name counts more":             {map[string]string{"exit-after.web": "2s", "exit-after": "5s"}, nil, []string{"running 200ms", "exited 2.2s"}, 0},
		"an init container ends by itself": {nil, isInit, []string{"running 200ms", "exited 300ms"}, 0},
		"an init container fails":          {map[string]string{"exit-code": "1"}, isInit, []string{"running 200ms", "exited 300ms"}, 1},
		"no time at all":                   {map[string]string{"start-after": "0s", "exit-after": "1ms"}, nil, []string{"running 0s", "exited 1ms"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				change := test.change
				if change == nil {
					change = func(*cri.Spec) {}
				}
				s := start(&hollow.Runtime{StartAfter: 200 * time.Millisecond}, test.told, change)
				assert.Equal(t, cri.Created, s.State().Phase)
				time.Sleep(time.Hour)
				phases, warnings := s.end()
				assert.Equal(t, test.phases, phases)
				assert.Equal(t, test.code, s.State().ExitCode)
				assert.Empty(t, warnings)
			})
		})
	}
}

func TestABadAnnotationIsToldAndPassedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(&hollow.Runtime{StartAfter: time.Second}, map[string]string{
			"start-after": "soon", "exit-after": "-1s", "exit-code": "256", "stop-after.web": "9", "unready": "perhaps", "log": "", "unhealthy": strings.Repeat("x", 1000),
		})
		time.Sleep(time.Minute)
		phases, warnings := s.end()
		assert.Equal(t, []string{"running 1s", "exited 1m0s"}, phases)
		assert.ElementsMatch(t, []string{
			`InvalidAnnotation: annotation hollow.kube2014/start-after: "soon" is not a time such as 5s`,
			`InvalidAnnotation: annotation hollow.kube2014/exit-after: "-1s" is not a time such as 5s`,
			`InvalidAnnotation: annotation hollow.kube2014/exit-code: "256" is not a number from 0 to 255`,
			`InvalidAnnotation: annotation hollow.kube2014/stop-after.web: "9" is not a time such as 5s`,
			`InvalidAnnotation: annotation hollow.kube2014/unready: "perhaps" is not true or false`,
			`InvalidAnnotation: annotation hollow.kube2014/unhealthy: "` + strings.Repeat("x", 40) + `" is not true or false`,
		}, warnings)
	})
}

func TestAContainerStopsOrIsKilledWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		told   string
		graces []time.Duration // a second apart
		phase  string
		code   int32
	}{
		"it stops soon":                  {"", []time.Duration{time.Minute}, "exited 10.05s", 0},
		"it takes as long as it is told": {"20s", []time.Duration{time.Minute}, "exited 30s", 0},
		"it takes too long":              {"20s", []time.Duration{5 * time.Second}, "exited 15s", 137},
		"it is killed at once":           {"20s", []time.Duration{0}, "exited 10s", 137},
		"its time is shortened":          {"20s", []time.Duration{time.Minute, 3 * time.Second}, "exited 14s", 137},
		"its time is not made longer":    {"20s", []time.Duration{5 * time.Second, time.Minute}, "exited 15s", 137},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				told := map[string]string{}
				if test.told != "" {
					told["stop-after"] = test.told
				}
				s := start(&hollow.Runtime{StartAfter: time.Second}, told)
				time.Sleep(10 * time.Second)
				for _, grace := range test.graces {
					s.Stop(grace)
					time.Sleep(time.Second)
				}
				time.Sleep(2 * time.Minute)
				phases, _ := s.end()
				assert.Equal(t, []string{"running 1s", test.phase}, phases)
				assert.Equal(t, test.code, s.State().ExitCode)
			})
		})
	}
}

func TestAContainerThatHasNotStartedStopsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(&hollow.Runtime{StartAfter: time.Hour}, nil)
		s.Stop(time.Minute)
		time.Sleep(2 * time.Hour)
		phases, _ := s.end()
		assert.Equal(t, []string{"exited 0s"}, phases)
	})
}

func TestContainersStartAfterATimeThatTheirPodTells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := map[string]bool{}
		for i := range 20 {
			uid := types.UID(fmt.Sprint(i))
			var first []string
			for range 2 {
				s := start(&hollow.Runtime{}, nil, func(spec *cri.Spec) { spec.Pod.UID = uid })
				time.Sleep(time.Second)
				phases, _ := s.end()
				if first != nil {
					assert.Equal(t, first, phases)
				}
				first = phases
			}
			var after time.Duration
			after, err := time.ParseDuration(strings.TrimPrefix(first[0], "running "))
			require.NoError(t, err)
			assert.GreaterOrEqual(t, after, 100*time.Millisecond)
			assert.Less(t, after, 300*time.Millisecond)
			seen[first[0]] = true
		}
		assert.Greater(t, len(seen), 10)
	})
}

// get asks at an address of a network.
func get(t *testing.T, network *loopbacktest.Network, address string) (int, string) {
	client := &http.Client{Transport: &http.Transport{DialContext: network.DialContext, DisableKeepAlives: true}}
	resp, err := client.Get("http://" + address)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

func ports(all ...corev1.ContainerPort) func(*cri.Spec) {
	return func(spec *cri.Spec) { spec.Container.Ports = all }
}

func TestAContainerAnswersOnItsPortsWhileItRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &loopbacktest.Network{}
		s := start(&hollow.Runtime{Listen: network.Listen, StartAfter: time.Second}, map[string]string{"stop-after": "10s"}, ports(
			corev1.ContainerPort{ContainerPort: 80, HostPort: 8080, Protocol: corev1.ProtocolTCP}, corev1.ContainerPort{ContainerPort: 53, Protocol: corev1.ProtocolUDP},
			corev1.ContainerPort{ContainerPort: 81, HostPort: 8081, HostIP: "10.0.0.9"}, corev1.ContainerPort{HostPort: 8082, HostIP: "0.0.0.0"}))
		status, _ := get(t, network, "10.1.0.1:80")
		assert.Zero(t, status, "it has not started")
		time.Sleep(2 * time.Second)
		for _, address := range []string{"10.1.0.1:80", "10.0.0.1:8080", "10.1.0.1:81", "10.0.0.9:8081", "10.0.0.1:8082"} {
			status, text := get(t, network, address)
			assert.Equal(t, http.StatusOK, status, address)
			assert.Equal(t, "web-1 on m1 (web)\n", text, address)
		}
		status, _ = get(t, network, "10.1.0.1:53")
		assert.Zero(t, status)
		s.Stop(time.Minute)
		status, _ = get(t, network, "10.1.0.1:80/%0A"+strings.Repeat("x", 1000))
		assert.Equal(t, http.StatusOK, status, "it still runs")
		time.Sleep(11 * time.Second)
		status, _ = get(t, network, "10.1.0.1:80")
		assert.Zero(t, status)
		_, warnings := s.end()
		assert.Empty(t, warnings)
		assert.Contains(t, s.text(), "hollow: started nginx:1.8\nhollow: listening on 10.1.0.1:80\nhollow: listening on 10.0.0.1:8080\n")
		assert.Contains(t, s.text(), "GET / 200 from ")
		assert.Contains(t, s.text(), "GET /%0A"+strings.Repeat("x", 196)+" 200 from ")
		assert.Contains(t, s.text(), "hollow: told to stop\n")
		assert.True(t, strings.HasSuffix(s.text(), "hollow: stopped with code 0\n"))
	})
}

func TestAPortThatCannotBeOpenedIsToldAndTheContainerRunsOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &loopbacktest.Network{}
		var tries []time.Duration
		began := time.Now()
		r := &hollow.Runtime{StartAfter: time.Second, Listen: func(n, address string) (net.Listener, error) {
			if address == "10.1.0.1:80" {
				tries = append(tries, time.Since(began))
				return nil, os.NewSyscallError("bind", syscall.EACCES)
			}
			return network.Listen(n, address)
		}}
		s := start(r, nil, ports(corev1.ContainerPort{ContainerPort: 80}, corev1.ContainerPort{ContainerPort: 81}))
		time.Sleep(2 * time.Minute)
		status, _ := get(t, network, "10.1.0.1:81")
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, cri.Running, s.State().Phase)
		assert.Equal(t, "container web cannot listen on 10.1.0.1:80: permission denied", s.State().Blocked)
		phases, warnings := s.end()
		assert.Equal(t, []string{"FailedListen: Container web cannot listen on 10.1.0.1:80: permission denied"}, warnings, "once")
		assert.Contains(t, s.text(), "hollow: cannot listen on 10.1.0.1:80: permission denied\n")
		const second = time.Second
		assert.Equal(t, []time.Duration{1 * second, 3 * second, 7 * second, 15 * second, 31 * second, 63 * second}, tries)
		assert.Equal(t, []string{"running 1s", "exited 2m0s"}, phases, "there is no news while it stays so")
		assert.Empty(t, s.State().Blocked)
		time.Sleep(10 * time.Minute)
		assert.Len(t, tries, 6, "it does not listen any more")
	})
}

func TestAPortIsOpenedWhenItIsFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &loopbacktest.Network{}
		var taken []net.Listener
		for _, address := range []string{"10.1.0.1:80", "10.1.0.1:81"} {
			listener, err := network.Listen("tcp", address)
			require.NoError(t, err)
			taken = append(taken, listener)
		}
		s := start(&hollow.Runtime{StartAfter: time.Second, Listen: network.Listen}, nil, ports(corev1.ContainerPort{ContainerPort: 80}, corev1.ContainerPort{ContainerPort: 81}))
		time.Sleep(2 * time.Second)
		assert.Contains(t, s.State().Blocked, "10.1.0.1:80")
		assert.Contains(t, s.State().Blocked, "10.1.0.1:81")
		require.NoError(t, taken[0].Close())
		time.Sleep(2 * time.Second)
		assert.NotContains(t, s.State().Blocked, "10.1.0.1:80")
		assert.Contains(t, s.State().Blocked, "10.1.0.1:81")
		status, _ := get(t, network, "10.1.0.1:80")
		assert.Equal(t, http.StatusOK, status)
		require.NoError(t, taken[1].Close())
		time.Sleep(5 * time.Second)
		assert.Empty(t, s.State().Blocked)
		status, _ = get(t, network, "10.1.0.1:81")
		assert.Equal(t, http.StatusOK, status)
		phases, _ := s.end()
		assert.Equal(t, []string{"running 1s", "running 3s", "running 7s", "exited 9s"}, phases)
		assert.Contains(t, s.text(), "hollow: listening on 10.1.0.1:81\n")
		_, err := network.Listen("tcp", "10.1.0.1:81")
		assert.NoError(t, err, "it is free again")
	})
}

func TestAProbeFailsAsAnnotationsTellNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := &loopbacktest.Network{}
		probe := func(path string) *corev1.Probe {
			return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path}}}
		}
		s := start(&hollow.Runtime{Listen: network.Listen, StartAfter: time.Second}, nil, ports(corev1.ContainerPort{ContainerPort: 80}), func(spec *cri.Spec) {
			spec.Container.ReadinessProbe, spec.Container.LivenessProbe = probe("/ready"), probe("/alive?how=well")
		})
		time.Sleep(2 * time.Second)
		for _, test := range []struct {
			told, value       string
			ready, alive, any int
		}{
			{"unready", "false", 200, 200, 200},
			{"unready", "true", 503, 200, 200},
			{"unready.other", "true", 200, 200, 200},
			{"unhealthy.web", "true", 200, 503, 200},
			{"unhealthy", "who knows", 200, 200, 200},
		} {
			s.Update(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{hollow.Prefix + test.told: test.value}}})
			for path, want := range map[string]int{"/ready": test.ready, "/alive?how=well": test.alive, "/": test.any} {
				status, _ := get(t, network, "10.1.0.1:80"+path)
				assert.Equal(t, want, status, "%s: %s", test.told, path)
			}
			assert.Equal(t, test.ready == 503, s.Probe(context.Background(), cri.Readiness) != nil, test.told)
			assert.Equal(t, test.alive == 503, s.Probe(context.Background(), cri.Liveness) != nil, test.told)
			assert.Equal(t, test.alive == 503, s.Probe(context.Background(), cri.Startup) != nil, test.told)
		}
		_, warnings := s.end()
		assert.Len(t, warnings, 1)
	})
}

func TestALogKeepsItsNewestLines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		log         string
		lines, from int
		last        string
	}{
		"many lines":      {strings.Repeat("x\n", 3000) + "last", 1000, 2002, "last"},
		"long lines":      {strings.Repeat(strings.Repeat("y", 10_000)+"\n", 20) + "last", 7, 15, "last"},
		"a line too long": {strings.Repeat("z", 100_000), 2, 0, strings.Repeat("z", 16<<10)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := start(&hollow.Runtime{StartAfter: time.Second}, map[string]string{"log": test.log})
				time.Sleep(2 * time.Second)
				lines, next, more := s.Log(0)
				assert.Len(t, lines, test.lines)
				assert.Equal(t, test.from, next-len(lines))
				assert.Equal(t, test.last, lines[len(lines)-1].Text)
				assert.NotNil(t, more)
				fewer, _, _ := s.Log(next - 1)
				assert.Len(t, fewer, 1)
				none, _, _ := s.Log(next + 5)
				assert.Empty(t, none)
				s.end()
				<-more
				_, _, more = s.Log(next)
				assert.Nil(t, more)
			})
		})
	}
}

func TestWhatIsStartedAgainIsAnotherContainer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ids := map[string]bool{}
		for attempt := range int32(3) {
			s := start(&hollow.Runtime{}, nil, func(spec *cri.Spec) { spec.Attempt = attempt })
			ids[s.State().ID] = true
			s.end()
		}
		assert.Len(t, ids, 3)
		assert.Equal(t, "hollow://1.0", (&hollow.Runtime{}).Version())
	})
}

func TestAContainerUsesWhatItRequestedWhileItRuns(t *testing.T) {
	t.Parallel()
	requested := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("1Gi")}
	for name, row := range map[string]struct {
		requests corev1.ResourceList
		uses     cri.Usage // in a second
	}{
		"what it requested": {requested, cri.Usage{CPU: .25, Memory: 1 << 30}},
		"only a CPU":        {corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}, cri.Usage{CPU: 2, Memory: 10 << 20}},
		"nothing":           {nil, cri.Usage{CPU: .01, Memory: 10 << 20}},
		"zero":              {corev1.ResourceList{corev1.ResourceCPU: {}, corev1.ResourceMemory: {}}, cri.Usage{CPU: .01, Memory: 10 << 20}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := start(&hollow.Runtime{StartAfter: time.Second}, map[string]string{"exit-after": "10s"}, func(spec *cri.Spec) { spec.Container.Resources.Requests = row.requests })
				began := time.Now().Add(time.Second)
				assert.Equal(t, cri.Usage{}, s.Usage(time.Now()), "it does not run yet")
				time.Sleep(5 * time.Second)
				synctest.Wait()
				assert.Equal(t, cri.Usage{CPU: 4 * row.uses.CPU, Memory: row.uses.Memory}, s.Usage(time.Now()))
				assert.Equal(t, cri.Usage{Memory: row.uses.Memory}, s.Usage(began.Add(-time.Millisecond)), "never less than nothing")
				time.Sleep(time.Hour)
				synctest.Wait()
				assert.Equal(t, cri.Usage{CPU: 10 * row.uses.CPU}, s.Usage(time.Now()), "it has exited")
				s.end()
			})
		})
	}
}
