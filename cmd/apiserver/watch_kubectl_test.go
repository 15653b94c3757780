package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kubectlUser is somebody with kubectl, and the log of the server.
type kubectlUser struct {
	t         *testing.T
	path, url string
	log       *watched
	home      string
}

// running is a kubectl that has not ended.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr string // a file
}

// onKubectl runs a test on the program, with a node whose kubelet is alive, on each store.
func onKubectl(t *testing.T, test func(t *testing.T, u *kubectlUser)) {
	t.Parallel()
	path := kubectlPath(t)
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			_, log, address := unhurriedProgram(t, append(flags(t), "-scheduler", "none")...)
			u := &kubectlUser{t: t, path: path, url: "http://" + address, log: log, home: t.TempDir()}
			u.send("POST", "/api/v1/nodes", `{"metadata":{"name":"n1"}}`)
			u.send("PATCH", "/api/v1/nodes/n1/status", fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":%q}]}}`,
				time.Now().Add(time.Hour).UTC().Format(time.RFC3339)))
			test(t, u)
		})
	}
}

// send does what other clients do.
func (u *kubectlUser) send(method, path, body string) string {
	req, err := http.NewRequest(method, u.url+path, strings.NewReader(body))
	require.NoError(u.t, err)
	req.Header.Set("Content-Type", map[string]string{"POST": "application/json", "PATCH": mergePatch}[method])
	resp, err := patient.Do(req)
	require.NoError(u.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(u.t, err)
	require.Less(u.t, resp.StatusCode, 300, "%s %s: %s", method, path, text)
	return string(text)
}

func (u *kubectlUser) kubectl(args ...string) *running {
	r := &running{t: u.t, cmd: exec.CommandContext(unhurriedContext(u.t), u.path, append([]string{"-s", u.url}, args...)...)}
	r.cmd.Env = append(os.Environ(), "HOME="+u.home, "KUBECONFIG=")
	stdout, err := r.cmd.StdoutPipe()
	require.NoError(u.t, err)
	r.stdout = bufio.NewReader(stdout)
	stderr, err := os.Create(filepath.Join(u.t.TempDir(), "stderr"))
	require.NoError(u.t, err)
	r.cmd.Stderr, r.stderr = stderr, stderr.Name()
	require.NoError(u.t, r.cmd.Start())
	require.NoError(u.t, stderr.Close())
	return r
}

// complaints returns what it has written to standard error.
func (r *running) complaints() string {
	text, err := os.ReadFile(r.stderr)
	require.NoError(r.t, err)
	return string(text)
}

// ages are how long ago something was, which varies.
var ages = regexp.MustCompile(`\b(\d+[hms])+$`)

// prints requires the next lines, with single blanks between the columns.
func (r *running) prints(lines ...string) {
	r.t.Helper()
	for _, want := range lines {
		line, err := r.stdout.ReadString('\n')
		require.NoError(r.t, err, "%s instead of %s", r.complaints(), want)
		require.Equal(r.t, want, ages.ReplaceAllString(strings.Join(strings.Fields(line), " "), "AGE"))
	}
}

// ends requires that it has printed these lines at last, and exits with 0.
func (r *running) ends(lines ...string) {
	r.t.Helper()
	r.prints(lines...)
	rest, err := io.ReadAll(r.stdout)
	require.NoError(r.t, err)
	assert.Empty(r.t, string(rest))
	assert.NoError(r.t, r.cmd.Wait(), r.complaints())
	assert.Empty(r.t, r.complaints())
}

// interrupt ends one that would go on for ever, after it has printed nothing else.
func (r *running) interrupt() {
	require.NoError(r.t, r.cmd.Process.Kill())
	rest, err := io.ReadAll(r.stdout)
	require.NoError(r.t, err)
	assert.Empty(r.t, string(rest))
	_ = r.cmd.Wait() // it was killed
}

const (
	bindWeb   = `{"metadata":{"name":"web"},"target":{"kind":"Node","name":"n1"}}`
	startsWeb = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],
		"containerStatuses":[{"name":"web","ready":true,"started":true,"state":{"running":{}},"image":"i","imageID":"i"}]}}`
)

func TestKubectlWatchesPods(t *testing.T) {
	onKubectl(t, func(t *testing.T, u *kubectlUser) {
		u.send("POST", todaysPods, encodeAll(t, podNamed("old")))
		all := u.kubectl("get", "pods", "-w", "--output-watch-events")
		all.prints("EVENT NAME READY STATUS RESTARTS AGE", "ADDED old 0/1 Pending 0 AGE")
		only := u.kubectl("get", "pods", "--watch-only")
		u.log.find("GET " + todaysPods + `\?limit=500 200 `)
		u.log.find("GET " + todaysPods + `\?limit=500 200 `)

		u.send("POST", todaysPods, encodeAll(t, podNamed("web")))
		only.prints("NAME READY STATUS RESTARTS AGE", "web 0/1 Pending 0 AGE")
		u.send("POST", todaysPods+"/web/binding", bindWeb)
		u.send("PATCH", todaysPods+"/web/status", startsWeb)
		u.send("PATCH", todaysPods+"/old", `{"metadata":{"labels":{"a":"b"}}}`)
		u.send("DELETE", todaysPods+"/web", "")
		u.send("DELETE", "/api/v1beta1/tasks/web", "")
		all.prints("ADDED web 0/1 Pending 0 AGE", "MODIFIED web 0/1 Pending 0 AGE", "MODIFIED web 1/1 Running 0 AGE", "MODIFIED old 0/1 Pending 0 AGE",
			"MODIFIED web 1/1 Terminating 0 AGE", "DELETED web 1/1 Terminating 0 AGE")
		only.prints("web 0/1 Pending 0 AGE", "web 1/1 Running 0 AGE", "old 0/1 Pending 0 AGE", "web 1/1 Terminating 0 AGE", "web 1/1 Terminating 0 AGE")
		for _, kubectl := range []*running{all, only} {
			kubectl.interrupt()
		}
	})
}

// Of one object kubectl watches what it is when the watch begins, and that is later than when it has printed
// it for the first time.
func TestKubectlWatchesOnePod(t *testing.T) {
	onKubectl(t, func(t *testing.T, u *kubectlUser) {
		u.send("POST", todaysPods, encodeAll(t, podNamed("old")))
		named := u.kubectl("get", "pod", "old", "-w", "-o", "name")
		named.prints("pod/old")
		next := make(chan string, 1)
		go func() {
			line, _ := named.stdout.ReadString('\n') // "" if it has ended
			next <- line
		}()
		for i := 0; len(next) == 0; i++ {
			u.send("PATCH", todaysPods+"/old", fmt.Sprintf(`{"metadata":{"labels":{"a":"%d"}}}`, i))
		}
		assert.Equal(t, "pod/old\n", <-next, named.complaints())
		require.NoError(t, named.cmd.Process.Kill())
		_ = named.cmd.Wait() // it was killed
	})
}

func TestKubectlWaits(t *testing.T) {
	onKubectl(t, func(t *testing.T, u *kubectlUser) {
		u.send("POST", todaysPods, encodeAll(t, podNamed("web")))
		u.send("POST", todaysPods+"/web/binding", bindWeb)
		wait := func(condition string) *running {
			return u.kubectl("wait", "--for="+condition, "pod/web", "--timeout", hangs.String())
		}
		waiting := []*running{wait("jsonpath={.status.phase}=Running"), wait("condition=Ready"), wait("delete")}
		for range len(waiting) + 1 { // who waits for the end looks twice
			u.log.find("GET " + todaysPods + "/web 200 ")
		}
		u.send("PATCH", todaysPods+"/web/status", startsWeb)
		for _, kubectl := range waiting[:2] {
			kubectl.ends("pod/web condition met")
		}
		wait("jsonpath={.spec.nodeName}=n1").ends("pod/web condition met")

		deletes := u.kubectl("delete", "pod", "web") // its kubelet has 30 seconds
		deletes.prints(`pod "web" deleted from default namespace`)
		eventually(t, func() bool { return strings.Contains(u.send("GET", todaysPods+"/web", ""), "deletionTimestamp") }, "it is to end")
		u.send("DELETE", todaysPods+"/web?gracePeriodSeconds=0", "") // what its kubelet sends
		deletes.ends()
		waiting[2].ends("pod/web condition met")
	})
}

func TestKubectlWatchesEventsAndServices(t *testing.T) {
	onKubectl(t, func(t *testing.T, u *kubectlUser) {
		seen := func(name string) {
			u.send("POST", "/api/v1/namespaces/default/events", fmt.Sprintf(`{"metadata":{"name":%q},"involvedObject":{"namespace":"default",
				"kind":"Pod","name":"web"},"reason":"Seen","message":%q,"type":"Normal"}`, name, "it is "+name))
		}
		service := func(name string) {
			u.send("POST", todaysServices, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"ports":[{"port":80}]}}`, name))
		}
		seen("old")
		service("old")
		events, services := u.kubectl("get", "events", "-w"), u.kubectl("get", "svc", "-w")
		events.prints("LAST SEEN TYPE REASON OBJECT MESSAGE", "<unknown> Normal Seen pod/web it is old")
		services.prints("NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE", "old ClusterIP <none> <none> 80/TCP AGE")
		seen("new")
		service("new")
		u.send("DELETE", "/api/v1beta1/services/old", "")
		events.prints("<unknown> Normal Seen pod/web it is new")
		services.prints("new ClusterIP <none> <none> 80/TCP AGE", "old ClusterIP <none> <none> 80/TCP AGE")
		events.interrupt()
		services.interrupt()
	})
}
