package measure

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"slices"
	"strconv"
	"time"
)

// Conn is a minimal HTTP client on one connection: its own cost is part of both
// sides of a row, and would hide the difference.
type Conn struct {
	net.Conn
	reader *bufio.Reader
}

// Dial opens a connection. Over TLS it has shaken hands when Dial returns.
func (s Server) Dial() (*Conn, error) { return s.DialSized(256 << 10) }

// DialSized is Dial with a number of bytes for what is read.
func (s Server) DialSized(buffer int) (*Conn, error) {
	c, err := net.Dial("tcp", s.Address)
	if err != nil {
		return nil, err
	}
	if s.TLS {
		secure := tls.Client(c, &tls.Config{InsecureSkipVerify: true})
		if err := secure.Handshake(); err != nil {
			c.Close()
			return nil, err
		}
		c = secure
	}
	return &Conn{c, bufio.NewReaderSize(c, buffer)}, nil
}

// Do sends a request and reads its answer to the end. The body is kept if keep
// is set. An answer that is not 200 or 201 is an error.
func (c *Conn) Do(request []byte, keep bool) (body []byte, err error) {
	status, length, err := c.begin(request)
	if err != nil {
		return nil, err
	}
	ok := status == "200 OK" || status == "201 Created"
	body, err = c.body(length, keep || !ok)
	if err == nil && !ok {
		err = StatusError(status + ": " + string(body))
	}
	return body, err
}

// StatusError is an answer that is not 200 or 201, with its body. The connection can be used
// on.
type StatusError string

func (e StatusError) Error() string { return string(e) }

const chunked = -1 // the length of a body that comes in chunks

// begin sends a request and reads the head of its answer.
func (c *Conn) begin(request []byte) (status string, length int, err error) {
	if _, err := c.Write(request); err != nil {
		return "", 0, err
	}
	first, err := c.reader.ReadSlice('\n')
	if err != nil {
		return "", 0, err
	}
	status = string(bytes.TrimSpace(bytes.TrimPrefix(first, []byte("HTTP/1.1 "))))
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil || len(line) == 2 {
			return status, length, err
		}
		if value, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return "", 0, err
			}
		} else if bytes.HasPrefix(line, []byte("Transfer-Encoding: chunked")) {
			length = chunked
		}
	}
}

// body reads a body to its end.
func (c *Conn) body(length int, keep bool) (body []byte, err error) {
	if length != chunked {
		return c.read(nil, length, keep)
	}
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		size, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
		if err != nil {
			return nil, err
		}
		if body, err = c.read(body, int(size), keep); err != nil {
			return nil, err
		}
		if _, err := c.reader.Discard(len("\r\n")); err != nil || size == 0 {
			return body, err
		}
	}
}

// read reads n bytes and, if they are to be kept, appends them.
func (c *Conn) read(to []byte, n int, keep bool) ([]byte, error) {
	if !keep {
		_, err := c.reader.Discard(n)
		return nil, err
	}
	from := len(to)
	to = slices.Grow(to, n)[:from+n]
	_, err := io.ReadFull(c.reader, to[from:])
	return to, err
}

// Stream sends a request whose answer is a stream that comes in chunks, and returns the
// stream. The connection can send no other one.
func (c *Conn) Stream(request []byte) (io.Reader, error) {
	status, length, err := c.begin(request)
	if err != nil {
		return nil, err
	}
	if status != "200 OK" || length != chunked {
		body, err := c.body(length, true)
		return nil, errors.Join(fmt.Errorf("no stream, but %s: %s", status, body), err)
	}
	return httputil.NewChunkedReader(c.reader), nil
}

// Request returns an HTTP request as it goes over the wire. The headers are lines without
// an end.
func Request(method, path string, body []byte, headers ...string) []byte {
	head := method + " " + path + " HTTP/1.1\r\nHost: bench\r\n"
	for _, header := range headers {
		head += header + "\r\n"
	}
	if body != nil {
		head += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return append([]byte(head+"\r\n"), body...)
}

// Ask sends one request on a connection of its own.
func (s Server) Ask(method, path string, body []byte) ([]byte, error) {
	c, err := s.Dial()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Do(Request(method, path, body), true)
}

// Timed sends one request on an open connection and returns how long it took.
func (c *Conn) Timed(request []byte) (time.Duration, error) {
	start := time.Now()
	_, err := c.Do(request, false)
	return time.Since(start), err
}
