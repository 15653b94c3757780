// Package stream brings the events of a watch to its client: as lines of an answer, or as messages of a web
// socket.
package stream

import "time"

// Stream carries events to one client. A client that does not read fails a write after a while. It is for
// one goroutine at a time, but Limit may be called concurrently.
type Stream interface {
	// Write sends one event, given in parts.
	Write(parts ...[]byte) error
	// Flush sends what was written.
	Flush() error
	// End ends the stream.
	End()
	// Limit bounds the time of a write that is waiting now, because the server ends.
	Limit()
}

// Timeout is how long a write may wait for the client. It gets shorter when the server ends.
type Timeout func() time.Duration
