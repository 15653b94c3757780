package stream

import (
	"encoding/binary"
	"net/http"
	"time"
)

// lines implements Stream by the body of an answer, with one event per line, or after its length in protobuf.
type lines struct {
	w           http.ResponseWriter
	req         *http.Request
	control     *http.ResponseController
	timeout     Timeout
	deadlineSet time.Time
	inProtobuf  bool
}

// Lines returns a stream of lines, or in protobuf one of events after their lengths, four bytes each. It begins the answer to the
// request.
func Lines(w http.ResponseWriter, req *http.Request, timeout Timeout, inProtobuf bool) Stream {
	l := &lines{w: w, req: req, control: http.NewResponseController(w), timeout: timeout, inProtobuf: inProtobuf}
	contentType := "application/json"
	if inProtobuf {
		contentType = "application/vnd.kubernetes.protobuf;stream=watch"
	}
	_ = l.control.SetReadDeadline(time.Time{}) // the deadline was for the request; a connection without one needs none
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	_ = l.Flush() // the next write fails if the client has gone
	return l
}

func (l *lines) Write(parts ...[]byte) error {
	l.setDeadline()
	if l.inProtobuf {
		size := 0
		for _, part := range parts {
			size += len(part)
		}
		if _, err := l.w.Write(binary.BigEndian.AppendUint32(nil, uint32(size))); err != nil {
			return err
		}
	}
	for _, part := range parts {
		if _, err := l.w.Write(part); err != nil {
			return err
		}
	}
	if l.inProtobuf {
		return nil
	}
	_, err := l.w.Write(newline)
	return err
}

var newline = []byte("\n")

func (l *lines) Flush() error {
	l.setDeadline()
	err := l.control.Flush()
	if Rest(l.control, l.req) {
		l.deadlineSet = time.Time{}
	}
	return err
}

// Rest removes the deadline of the writes of an answer while nothing is written, and reports whether there is none then.
// In HTTP/2 a deadline is a timer that ends the answer. In HTTP/1 only writes look at it, so it may stay.
func Rest(control *http.ResponseController, req *http.Request) bool {
	return req.ProtoMajor > 1 && control.SetWriteDeadline(time.Time{}) == nil
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
