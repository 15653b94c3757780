package endpoints

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"

	"kube2014/pkg/conversion"
)

// compressedFrom is the size above which an answer is compressed, in bytes, as by today's server.
const compressedFrom = 128 << 10

// acceptsGzip reports whether a client accepts answers that are compressed. As in today's server, one that gives gzip a weight
// does not.
func acceptsGzip(header http.Header) bool {
	for encoding := range strings.SplitSeq(header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}

// writeCompressed writes a text compressed. If that fails, the client is gone.
func writeCompressed(w io.Writer, body conversion.Encoded) {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	for piece := range body.Pieces {
		if err == nil {
			_, err = compressed.Write(piece)
		}
	}
	if err == nil {
		_ = compressed.Close()
	}
}
