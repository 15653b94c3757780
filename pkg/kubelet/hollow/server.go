package hollow

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/util"

	corev1 "k8s.io/api/core/v1"
)

// addressesOf returns where a container listens: on its pod's own address, and with its host ports on
// the machine's.
func addressesOf(spec cri.Spec) (all []string) {
	for _, port := range spec.Container.Ports {
		if port.Protocol != corev1.ProtocolTCP && port.Protocol != "" {
			continue
		}
		if spec.PodIP != "" && port.ContainerPort > 0 {
			all = append(all, net.JoinHostPort(spec.PodIP, strconv.Itoa(int(port.ContainerPort))))
		}
		if port.HostPort > 0 {
			host := spec.HostIP
			if ip, err := netip.ParseAddr(port.HostIP); err == nil && !ip.IsUnspecified() { // another machine of the process may have that port
				host = port.HostIP
			}
			all = append(all, net.JoinHostPort(host, strconv.Itoa(int(port.HostPort))))
		}
	}
	return all
}

// paths are those of the probes by HTTP.
type paths struct{ readiness, liveness, startup string }

func pathsOf(c *corev1.Container) paths {
	return paths{pathOf(c.ReadinessProbe), pathOf(c.LivenessProbe), pathOf(c.StartupProbe)}
}

func pathOf(probe *corev1.Probe) string {
	if probe == nil || probe.HTTPGet == nil {
		return ""
	}
	return cmp.Or(probe.HTTPGet.Path, "/")
}

// A port that cannot be opened is tried again after a pause that begins with minListenPause, and doubles up to
// maxListenPause.
const (
	minListenPause = 2 * time.Second
	maxListenPause = time.Minute
)

// server answers HTTP on the ports of a container. The container's mutex guards it.
type server struct {
	http    *http.Server
	serving sync.WaitGroup
	closed  []string    // the addresses that cannot be listened on yet
	retry   *time.Timer // of the next try; nil if all are open
}

// serve listens on the ports, and returns their server, nil if there is none. The container runs on without a
// port that cannot be opened, and is not ready.
func (c *container) serve() *server {
	if len(c.ports) == 0 {
		return nil
	}
	s := &server{closed: c.ports, http: &http.Server{
		Handler: http.HandlerFunc(c.answer), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: silent,
	}}
	c.open(s, minListenPause)
	return s
}

// open opens the ports of a server that are closed. The first failure of each is reported.
func (c *container) open(s *server, pause time.Duration) {
	closed, isFirst, why := s.closed, s.retry == nil, []string(nil)
	s.closed, s.retry = nil, nil
	for _, address := range closed {
		listener, err := c.listen("tcp", address)
		if err == nil {
			c.say("listening on " + address)
			s.serving.Go(func() { _ = s.http.Serve(listener) }) // it ends with close
			continue
		}
		failure := fmt.Sprintf("cannot listen on %s: %v", address, util.SystemError(err))
		s.closed, why = append(s.closed, address), append(why, failure)
		if isFirst {
			c.say(failure)
			c.warn("FailedListen", fmt.Sprintf("Container %s %s", c.name, failure))
		}
	}
	c.state.Blocked = ""
	if len(why) > 0 {
		c.state.Blocked = fmt.Sprintf("container %s %s", c.name, strings.Join(why, ", "))
		s.retry = time.AfterFunc(pause, func() { c.reopen(s, min(2*pause, maxListenPause)) })
	}
}

// reopen tries again to open the ports of a server, unless its container has exited.
func (c *container) reopen(s *server, pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != s {
		return
	}
	before := c.state.Blocked
	if c.open(s, pause); c.state.Blocked != before {
		c.changed()
	}
}

var silent = log.New(io.Discard, "", 0)

// close closes the ports, and cuts all connections.
func (s *server) close() {
	if s.retry != nil {
		s.retry.Stop()
	}
	_ = s.http.Close() // it only closes connections
	s.serving.Wait()
}

// maxPath is how much of a path is logged, in bytes.
const maxPath = 200

// answer answers with the container's name, or with an error to a probe that should fail.
func (c *container) answer(w http.ResponseWriter, req *http.Request) {
	status, text := http.StatusOK, fmt.Sprintf("%s on %s (%s)\n", c.pod, c.node, c.name)
	if err := c.refuses(req); err != nil {
		status, text = http.StatusServiceUnavailable, err.Error()+"\n"
	}
	if status != http.StatusOK || !strings.HasPrefix(req.UserAgent(), cri.ProbeAgent) { // else the log would have little besides probes
		path := req.URL.EscapedPath()
		c.log.add(fmt.Sprintf("%s %s %d from %s", req.Method, path[:min(len(path), maxPath)], status, req.RemoteAddr))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the client has gone
}

// refuses returns an error if a request has the path of a probe that should fail.
func (c *container) refuses(req *http.Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := []string{req.URL.Path, req.URL.RequestURI()}
	switch {
	case c.health.unready && slices.Contains(asked, c.paths.readiness):
		return errUnready
	case c.health.unhealthy && (slices.Contains(asked, c.paths.liveness) || slices.Contains(asked, c.paths.startup)):
		return errUnhealthy
	}
	return nil
}
