// Package stream sends the events of a watch to its client: as lines of an answer, or as messages of a web
// socket.
package stream

import "time"

// Stream sends events to one client. A write fails if the client stops reading. A stream is for one
// goroutine at a time, but Limit may be called concurrently.
type Stream interface {
	// Write sends one event, given in parts.
	Write(parts ...[]byte) error
	// Flush sends buffered events.
	Flush() error
	// End ends the stream.
	End()
	// Limit bounds the time of a pending write, because the server ends.
	Limit()
}

// Timeout returns how long a write may wait for the client. It is shorter while the server ends.
type Timeout func() time.Duration
