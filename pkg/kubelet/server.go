package kubelet

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newServer returns the HTTP server. It only answers questions.
func (k *Kubelet) newServer() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, "ok") })
	mux.HandleFunc("GET /pods", k.servePods)
	mux.HandleFunc("GET /podInfo", k.servePodInfo)
	mux.HandleFunc("GET /containerInfo", k.serveContainerInfo)
	mux.HandleFunc("GET /logs/{$}", k.serveLogNames)
	mux.HandleFunc("GET /logs/{namespace}/{pod}/{container}", k.serveLog)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveContainerLog)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{$}", k.serveContainerLog) // a task of 2014 may have a container without a name
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}", k.serveContainerLog)
	return &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text) // who asks has gone
}

func writeJSON(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // who asks has gone
}

// servePods answers with the pods of the machine, as the kubelet knows them.
func (k *Kubelet) servePods(w http.ResponseWriter, _ *http.Request) {
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []corev1.Pod{}}
	for _, worker := range k.sorted() {
		pod, status, _ := worker.toReport()
		shown := *pod
		shown.Status = mergeStatus(pod.Status, status, metav1.Now())
		list.Items = append(list.Items, shown)
	}
	writeJSON(w, list)
}

// sorted returns the workers by their keys.
func (k *Kubelet) sorted() []*podWorker {
	all := k.all()
	slices.SortFunc(all, func(a, b *podWorker) int { return strings.Compare(a.key, b.key) })
	return all
}

// find returns the worker of the pod of a name: the one in the namespace default, if there are
// several. The questions of 2014 know no namespaces.
func (k *Kubelet) find(name string) *podWorker {
	if w := k.worker(metav1.NamespaceDefault + "/" + name); w != nil {
		return w
	}
	for _, w := range k.sorted() {
		if strings.HasSuffix(w.key, "/"+name) {
			return w
		}
	}
	return nil
}

func (k *Kubelet) servePodInfo(w http.ResponseWriter, req *http.Request) {
	name := req.URL.Query().Get("podID")
	if name == "" {
		http.Error(w, "Missing 'podID=' query entry.", http.StatusBadRequest)
		return
	}
	worker := k.find(name)
	if worker == nil {
		http.Error(w, "Pod does not exist", http.StatusNotFound)
		return
	}
	writeJSON(w, worker.infos())
}

// serveContainerInfo answers with the first container of a pod, or with the one that is named after a
// slash. The first door asks with the id of a task.
func (k *Kubelet) serveContainerInfo(w http.ResponseWriter, req *http.Request) {
	asked := req.URL.Query().Get("container")
	if asked == "" {
		http.Error(w, "Missing container selector arg.", http.StatusBadRequest)
		return
	}
	name, container, _ := strings.Cut(asked, "/")
	if worker := k.find(name); worker != nil {
		if info, ok := worker.info(container); ok {
			writeJSON(w, info)
			return
		}
	}
	http.Error(w, "Container does not exist", http.StatusNotFound)
}
