// Package server serves information about the pods of a machine over HTTP: as in June 2014, and the logs and
// what they use as today, and the streams of kubectl exec, attach and port-forward.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"kube2014/pkg/kubelet/cri"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Host knows the pods of the machine. It is safe for concurrent use.
type Host interface {
	// Pods returns the pods by their keys.
	Pods() []Pod
	// Pod returns the pod of a key, NAMESPACE/NAME, nil if there is none.
	Pod(key string) Pod
	// Usage returns what the machine and its pods use at a time, which is now or was just before.
	Usage(at time.Time) Usage
}

// Pod is a pod of the machine. It is safe for concurrent use.
type Pod interface {
	Key() string
	// Object returns the pod with the status that its kubelet knows. It is only read.
	Object() corev1.Pod
	// Infos describes the containers by their names.
	Infos() map[string]Info
	// Info describes a container, the first one if the name is empty.
	Info(container string) (info Info, ok bool)
	// LogNames returns the names of the containers that have a log.
	LogNames() []string
	// Log returns the container with the log, or with previous the one before its last start. The error
	// says why there is none: ErrNotFound if there is no such container.
	Log(container string, previous bool) (cri.Container, error)
	// Running returns a container that runs, nil if there is none of that name. Without a name it is the first.
	Running(container string) cri.Container
	// Address returns where a port of the pod can be reached.
	Address(port uint16) string
}

// ErrNotFound is the error for a container that a pod does not have.
var ErrNotFound = errors.New("container not found")

// Server is the server of a host. It is safe for concurrent use.
type Server struct {
	host Host
	dial Dial
	http *http.Server
	sessions
}

// New returns the server of a host, which reaches the ports of pods by dial.
func New(host Host, dial Dial) *Server {
	s := &Server{host: host, dial: dial}
	s.ctx, s.end = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, "ok") })
	mux.HandleFunc("GET /pods", s.servePods)
	mux.Handle("GET /metrics/resource", resourceMetrics(host))
	mux.HandleFunc("GET /podInfo", s.servePodInfo)
	mux.HandleFunc("GET /containerInfo", s.serveContainerInfo)
	mux.HandleFunc("GET /logs/{$}", s.serveLogNames)
	mux.HandleFunc("GET /logs/{namespace}/{pod}/{container}", s.serveLog)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", s.serveLog)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{$}", s.serveLog) // a task of 2014 may have a container without a name
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}", s.serveLog)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, pod := range []string{"/{namespace}/{pod}", "/{namespace}/{pod}/{uid}"} {
			mux.HandleFunc(method+" /exec"+pod+"/{container}", s.session(s.serveExec))
			mux.HandleFunc(method+" /attach"+pod+"/{container}", s.session(s.serveAttach))
			mux.HandleFunc(method+" /portForward"+pod, s.session(s.servePortForward))
		}
	}
	s.http = &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return s
}

// Serve answers the connections of a listener, with and without TLS, until the server is closed. The listener
// belongs to it.
func (s *Server) Serve(listener net.Listener) { _ = s.http.Serve(bothListener{listener}) } // it ends with Close

// Close closes all connections, and ends the sessions of clients.
func (s *Server) Close() {
	_ = s.http.Close() // it only closes connections
	s.sessions.close()
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // after an error, the client has gone
}

func writeJSON(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // after an error, the client has gone
}

// servePods answers with the pods of the machine, as the kubelet knows them.
func (s *Server) servePods(w http.ResponseWriter, _ *http.Request) {
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{}}
	for _, pod := range s.host.Pods() {
		list.Items = append(list.Items, pod.Object())
	}
	writeJSON(w, list)
}

// find returns the pod of a name: the one in the namespace default, if there are several. The requests of
// 2014 have no namespaces.
func (s *Server) find(name string) Pod {
	if pod := s.host.Pod(metav1.NamespaceDefault + "/" + name); pod != nil {
		return pod
	}
	for _, pod := range s.host.Pods() {
		if strings.HasSuffix(pod.Key(), "/"+name) {
			return pod
		}
	}
	return nil
}

func (s *Server) servePodInfo(w http.ResponseWriter, req *http.Request) {
	name := req.URL.Query().Get("podID")
	if name == "" {
		http.Error(w, "Missing 'podID=' query entry.", http.StatusBadRequest)
		return
	}
	pod := s.find(name)
	if pod == nil {
		http.Error(w, "Pod does not exist", http.StatusNotFound)
		return
	}
	writeJSON(w, pod.Infos())
}

// serveContainerInfo answers with the first container of a pod, or with the one that is named after a
// slash. The first door sends the id of a task.
func (s *Server) serveContainerInfo(w http.ResponseWriter, req *http.Request) {
	asked := req.URL.Query().Get("container")
	if asked == "" {
		http.Error(w, "Missing container selector arg.", http.StatusBadRequest)
		return
	}
	name, container, _ := strings.Cut(asked, "/")
	if pod := s.find(name); pod != nil {
		if info, ok := pod.Info(container); ok {
			writeJSON(w, info)
			return
		}
	}
	http.Error(w, "Container does not exist", http.StatusNotFound)
}
