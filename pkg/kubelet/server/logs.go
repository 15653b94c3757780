package server

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"kube2014/pkg/kubelet/cri"
)

// logOptions are what a client wants of a log.
type logOptions struct {
	follow, timestamps, previous bool
	since                        time.Time
	tail, limit                  int64 // in lines, and in bytes that may still be written; -1 for all
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

// serveLog answers with a log as today's kubelet does.
func (s *Server) serveLog(w http.ResponseWriter, req *http.Request) {
	options, err := parseLogOptions(req.URL.Query(), time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name, container := req.PathValue("pod"), req.PathValue("container")
	pod := s.host.Pod(req.PathValue("namespace") + "/" + name)
	if pod == nil {
		http.Error(w, fmt.Sprintf("pod %q does not exist", name), http.StatusNotFound)
		return
	}
	run, err := pod.Log(container, options.previous)
	switch {
	case errors.Is(err, ErrNotFound):
		http.Error(w, fmt.Sprintf("container %q not found in pod %q", container, name), http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		options.write(w, req, run)
	}
}

// serveLogNames answers with the paths of the logs below /logs/, one in a line.
func (s *Server) serveLogNames(w http.ResponseWriter, _ *http.Request) {
	text := ""
	for _, pod := range s.host.Pods() {
		for _, name := range pod.LogNames() {
			text += pod.Key() + "/" + name + "\n"
		}
	}
	writeText(w, text)
}

// write writes a log. With follow it goes on until the container has exited or the client has gone.
func (o *logOptions) write(w http.ResponseWriter, req *http.Request, run cri.Container) {
	lines, next, more := run.Log(0)
	for len(lines) > 0 && lines[0].Time.Before(o.since) {
		lines = lines[1:]
	}
	if o.tail >= 0 && o.tail < int64(len(lines)) {
		lines = lines[int64(len(lines))-o.tail:]
	}
	for o.writeLines(w, lines) && o.follow && more != nil && req.Method != http.MethodHead {
		select {
		case <-more:
		case <-req.Context().Done():
			return
		}
		lines, next, more = run.Log(next)
	}
}

// writeLines reports whether more may be written.
func (o *logOptions) writeLines(w http.ResponseWriter, lines []cri.LogLine) bool {
	for _, line := range lines {
		text := line.Text + "\n"
		if o.timestamps {
			text = line.Time.Format(logStamp) + " " + text
		}
		if o.limit >= 0 {
			text = text[:min(int64(len(text)), o.limit)]
			o.limit -= int64(len(text))
		}
		if _, err := w.Write([]byte(text)); err != nil || o.limit == 0 {
			return false
		}
	}
	return http.NewResponseController(w).Flush() == nil
}
