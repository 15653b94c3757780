package kubelet

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// logOptions are what a client wants of a log.
type logOptions struct {
	follow, timestamps, previous bool
	since                        time.Time
	tail, limit                  int64 // in lines, and bytes; -1 for all
}

// parseLogOptions reads today's query. The error names the parameter.
func parseLogOptions(query url.Values, now time.Time) (o logOptions, err error) {
	o.tail, o.limit = -1, -1
	for name, to := range map[string]*bool{"follow": &o.follow, "timestamps": &o.timestamps, "previous": &o.previous} {
		if text := query.Get(name); text != "" {
			if *to, err = strconv.ParseBool(text); err != nil {
				return o, fmt.Errorf("%s: must be true or false", name)
			}
		}
	}
	seconds := int64(-1)
	for _, number := range []struct {
		name  string
		to    *int64
		least int64
	}{{"tailLines", &o.tail, 0}, {"limitBytes", &o.limit, 1}, {"sinceSeconds", &seconds, 1}} {
		if text := query.Get(number.name); text != "" {
			if *number.to, err = strconv.ParseInt(text, 10, 64); err != nil || *number.to < number.least {
				return o, fmt.Errorf("%s: must be a number that is at least %d", number.name, number.least)
			}
		}
	}
	if seconds > 0 {
		o.since = now.Add(-time.Duration(min(seconds, int64(maxSince/time.Second))) * time.Second)
	}
	if text := query.Get("sinceTime"); text != "" {
		if o.since, err = time.Parse(time.RFC3339, text); err != nil {
			return o, fmt.Errorf("sinceTime: must be a time like 2014-06-06T12:00:00Z")
		}
	}
	return o, nil
}

// maxSince is more than the age of any log.
const maxSince = 100 * 365 * 24 * time.Hour

// logStamp is the form of a line's time.
const logStamp = "2006-01-02T15:04:05.000000000Z07:00"

// serveContainerLog answers with a log as today's kubelet does.
func (k *Kubelet) serveContainerLog(w http.ResponseWriter, req *http.Request) {
	options, err := parseLogOptions(req.URL.Query(), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	run, refusal := k.logOf(req, options.previous)
	if refusal != nil {
		http.Error(w, refusal.text, refusal.status)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	(&logWriter{w, options, options.limit}).write(req, run)
}

// serveLog answers with all there is of a container's log.
func (k *Kubelet) serveLog(w http.ResponseWriter, req *http.Request) {
	run, refusal := k.logOf(req, false)
	if refusal != nil {
		http.Error(w, refusal.text, refusal.status)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	(&logWriter{w, logOptions{tail: -1, limit: -1}, -1}).write(req, run)
}

// serveLogNames answers with the paths of the logs below /logs/, one in a line.
func (k *Kubelet) serveLogNames(w http.ResponseWriter, _ *http.Request) {
	text := ""
	for _, worker := range k.sorted() {
		for _, name := range worker.logNames() {
			text += worker.key + "/" + name + "\n"
		}
	}
	writeText(w, text)
}

// logNames returns the names of the containers that have a log.
func (w *podWorker) logNames() (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.containers {
		if c.run != nil {
			names = append(names, c.name)
		}
	}
	return names
}

// refusal is an answer instead of a log.
type refusal struct {
	status int
	text   string
}

// logOf returns the container whose log a request asks for.
func (k *Kubelet) logOf(req *http.Request, previous bool) (Container, *refusal) {
	namespace, pod, name := req.PathValue("namespace"), req.PathValue("pod"), req.PathValue("container")
	w := k.worker(namespace + "/" + pod)
	if w == nil {
		return nil, &refusal{http.StatusNotFound, fmt.Sprintf("pod %q does not exist", pod)}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.find(name)
	if c == nil {
		return nil, &refusal{http.StatusNotFound, fmt.Sprintf("container %q not found in pod %q", name, pod)}
	}
	run := c.run
	waits := run == nil || run.State().Phase == Created
	switch {
	case previous && c.before == nil:
		return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("previous terminated container %q in pod %q not found", c.name, pod)}
	case previous, waits && c.before != nil:
		return c.before, nil
	case run == nil && c.ended != nil:
		return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("container %q in pod %q is terminated, and its log is gone", c.name, pod)}
	case waits:
		return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("container %q in pod %q is waiting to start: %s", c.name, pod, w.waits(c))}
	}
	return run, nil
}

// waits returns why a container waits.
func (w *podWorker) waits(c *container) string {
	if c.run == nil && c.kind == mainContainer && len(w.pod.Spec.InitContainers) > 0 {
		return podInitializing
	}
	return containerCreating
}

// logWriter writes a log to a client.
type logWriter struct {
	http.ResponseWriter
	logOptions
	left int64 // how many bytes may still be written; -1 for any number
}

// write writes a log, and, if that is to be followed, goes on until its container has exited or the client
// has gone.
func (w *logWriter) write(req *http.Request, run Container) {
	lines, next, more := run.Log(0)
	lines = w.wanted(lines)
	for w.writeLines(lines) && w.follow && more != nil && req.Method != http.MethodHead {
		select {
		case <-more:
		case <-req.Context().Done():
			return
		}
		lines, next, more = run.Log(next)
	}
}

// wanted returns the last lines, and those since a time, if only they are wanted.
func (w *logWriter) wanted(lines []LogLine) []LogLine {
	for len(lines) > 0 && lines[0].Time.Before(w.since) {
		lines = lines[1:]
	}
	if w.tail >= 0 && w.tail < int64(len(lines)) {
		lines = lines[int64(len(lines))-w.tail:]
	}
	return lines
}

// writeLines reports whether more may be written.
func (w *logWriter) writeLines(lines []LogLine) bool {
	for _, line := range lines {
		text := line.Text + "\n"
		if w.timestamps {
			text = line.Time.Format(logStamp) + " " + text
		}
		if w.left >= 0 && int64(len(text)) >= w.left {
			_, _ = w.Write([]byte(text[:w.left])) // it ends here anyway
			return false
		}
		if w.left >= 0 {
			w.left -= int64(len(text))
		}
		if _, err := w.Write([]byte(text)); err != nil {
			return false
		}
	}
	return http.NewResponseController(w.ResponseWriter).Flush() == nil
}
