package endpoints

import (
	"net/http"
	"time"
)

// lines are the events of a watch as the body of an answer, one on each line.
type lines struct {
	*call
	control     *http.ResponseController
	deadlineSet time.Time
}

// begin writes what is before the first event.
func (l *lines) begin() error {
	_ = l.control.SetReadDeadline(time.Time{}) // it was for the request; a connection without one needs none
	l.writeWarnings()
	l.w.Header().Set("Content-Type", "application/json")
	l.w.WriteHeader(http.StatusOK)
	return l.flush()
}

func (l *lines) write(parts ...[]byte) error {
	l.setDeadline()
	for _, part := range parts {
		if _, err := l.w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

func (l *lines) flush() error {
	l.setDeadline()
	return l.control.Flush()
}

// end limits the time for the end of the answer, which net/http writes.
func (l *lines) end() { l.limit() }

// setDeadline lets the client have some time to read what is written next. It costs as much
// as half of the other work for an event, so it is not done for each.
func (l *lines) setDeadline() {
	if now := time.Now(); now.Sub(l.deadlineSet) > l.server.WriteTimeout/20 {
		l.deadlineSet = now
		l.limit()
	}
}

// limit ends the writes of now and those to come after a while: sooner if the server is ending, which
// would wait for them.
func (l *lines) limit() {
	timeout := l.server.WriteTimeout
	if l.server.watches.serving.Err() != nil {
		timeout /= 10
	}
	_ = l.control.SetWriteDeadline(time.Now().Add(timeout)) // as above
}
