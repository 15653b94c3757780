package endpoints

import (
	"context"
	"net/http"
	"time"

	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/endpoints/stream"
	"kube2014/pkg/rest"
)

// stream sends a text as it arrives, until the text ends, the client goes or stops reading, or the server
// ends.
func (r *call) stream(storage rest.Streamer) error {
	if _, err := bodies.Read(r.w, r.Request); err != nil { // as for a watch
		return err
	}
	release, err := r.server.openStream()
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	control := http.NewResponseController(r.w)
	limit := func() { _ = control.SetWriteDeadline(time.Now().Add(r.server.watchTimeout())) } // a connection without deadlines needs none
	defer context.AfterFunc(r.server.watches.serving, func() {
		cancel()
		limit()
	})()
	text, err := storage.Stream(ctx, r.key(), r.URL.Query())
	if err != nil {
		return err
	}
	defer text.Close()
	_ = control.SetReadDeadline(time.Time{}) // the deadline was for the request; a connection without one needs none
	r.w.Header().Set("Content-Type", "text/plain")
	r.w.WriteHeader(http.StatusOK)
	for piece := make([]byte, textPiece); ; {
		stream.Rest(control, r.Request)
		n, ended := text.Read(piece)
		limit()
		if n > 0 {
			if _, err := r.w.Write(piece[:n]); err != nil {
				return nil // the client has gone
			}
			_ = control.Flush() // the next write fails if the client has gone
		}
		if ended != nil {
			return nil // the answer has begun: an error cannot be sent any more
		}
	}
}

// textPiece is the maximum size of the pieces of a text, in bytes.
const textPiece = 32 << 10
