package stream

import (
	"net/http"
	"time"
)

// lines implements Stream by the body of an answer, with one event per line.
type lines struct {
	w           http.ResponseWriter
	control     *http.ResponseController
	timeout     Timeout
	deadlineSet time.Time
}

// Lines returns a stream of lines. It begins the answer.
func Lines(w http.ResponseWriter, timeout Timeout) Stream {
	l := &lines{w: w, control: http.NewResponseController(w), timeout: timeout}
	_ = l.control.SetReadDeadline(time.Time{}) // the deadline was for the request; a connection without one needs none
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = l.Flush() // the next write fails if the client has gone
	return l
}

func (l *lines) Write(parts ...[]byte) error {
	l.setDeadline()
	for _, part := range parts {
		if _, err := l.w.Write(part); err != nil {
			return err
		}
	}
	_, err := l.w.Write(newline)
	return err
}

var newline = []byte("\n")

func (l *lines) Flush() error {
	l.setDeadline()
	return l.control.Flush()
}

// End leaves the end of the answer to net/http.
func (l *lines) End() { l.Limit() }

// setDeadline extends the deadline of writes. That costs half as much as all other work for an event, so
// it is not done for each event.
func (l *lines) setDeadline() {
	if now := time.Now(); now.Sub(l.deadlineSet) > l.timeout()/20 {
		l.deadlineSet = now
		l.Limit()
	}
}

func (l *lines) Limit() {
	_ = l.control.SetWriteDeadline(time.Now().Add(l.timeout())) // a connection without deadlines needs none
}
