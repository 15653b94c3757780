package responsewriters

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"kube2014/pkg/api/conversion"
	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/endpoints/negotiation"
	"kube2014/pkg/server/request"
)

// write writes an answer. Encode encodes it in the form that the client accepts, but for YAML and lines: that begins as compact JSON.
func (r *Response) write(status int, encode func() (conversion.Encoded, error)) error {
	body, err := encode()
	if err == nil && r.Form.MediaType == bodies.YAML {
		body, err = asYAML(body)
	}
	if err != nil {
		return err
	}
	if r.Form.MediaType == negotiation.JSON && (r.Form.Pretty || wantsIndented(r.Request)) {
		body = indented(body)
	}
	r.WriteWarnings()
	header := r.W.Header()
	header.Set("Content-Type", r.Form.MediaType)
	compressed := body.Size > compressedFrom && acceptsGzip(r.Header)
	if compressed {
		header.Set("Content-Encoding", "gzip")
		header.Add("Vary", "Accept-Encoding")
	} else {
		header.Set("Content-Length", strconv.Itoa(body.Size))
	}
	if compressed || r.Form.MediaType != negotiation.JSON {
		request.ObserverFrom(r.Context()).ResponseObject(func() []byte { return r.inJSON(encode) })
	}
	r.W.WriteHeader(status)
	if compressed {
		writeCompressed(r.W, body)
		return nil
	}
	for piece := range body.Pieces {
		if _, err := r.W.Write(piece); err != nil {
			return nil // the client is gone
		}
	}
	return nil
}

// inJSON returns an answer in JSON whatever its form, nil if it cannot be encoded.
func (r *Response) inJSON(encode func() (conversion.Encoded, error)) []byte {
	accepted := r.Form
	defer func() { r.Form = accepted }()
	r.Form.MediaType = negotiation.JSON
	body, err := encode()
	if err != nil {
		return nil
	}
	return body.Bytes()
}

// wantsIndented reports whether a person reads the answer: the query requests it, or the client is curl,
// wget or a browser.
func wantsIndented(req *http.Request) bool {
	if pretty := req.URL.Query().Get("pretty"); pretty != "" {
		return pretty != "false" && pretty != "0"
	}
	agent := req.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

func asYAML(body conversion.Encoded) (conversion.Encoded, error) {
	text, err := yaml.JSONToYAML(body.Bytes())
	return conversion.EncodedBytes(text), err
}

// indented returns a JSON text with each value on a line of its own.
func indented(body conversion.Encoded) conversion.Encoded {
	var text bytes.Buffer
	if err := json.Indent(&text, bytes.TrimSpace(body.Bytes()), "", "  "); err != nil {
		return body
	}
	return conversion.EncodedBytes(text.Bytes())
}

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

// compressors are reused: to make one takes a third of the time of an answer of 200 KB.
var compressors = sync.Pool{New: func() any {
	compressor, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // there is no such level
	}
	return compressor
}}

// writeCompressed writes a text compressed. If that fails, the client is gone.
func writeCompressed(w io.Writer, body conversion.Encoded) {
	compressor := compressors.Get().(*gzip.Writer)
	defer compressors.Put(compressor)
	compressor.Reset(w)
	defer compressor.Reset(nil) // the connection must not stay in memory
	for piece := range body.Pieces {
		if _, err := compressor.Write(piece); err != nil {
			return
		}
	}
	_ = compressor.Close()
}
