package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// conn is a minimal HTTP client on one connection: its own cost is part of both
// sides of a row, and would hide the difference.
type conn struct {
	net.Conn
	reader *bufio.Reader
}

func dial(address string) (*conn, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{c, bufio.NewReaderSize(c, 256<<10)}, nil
}

var contentLength = []byte("Content-Length: ")

// do sends a request and reads its answer to the end. The body is kept if keep
// is set. An answer that is not 200 is an error.
func (c *conn) do(request []byte, keep bool) (body []byte, err error) {
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	status, err := c.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	ok := bytes.HasPrefix(status, []byte("HTTP/1.1 200"))
	answered := string(bytes.TrimSpace(status))
	length := 0
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if len(line) == 2 {
			break
		}
		if value, found := bytes.CutPrefix(line, contentLength); found {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return nil, err
			}
		}
	}
	if keep || !ok {
		body = make([]byte, length)
		_, err = io.ReadFull(c.reader, body)
	} else {
		_, err = c.reader.Discard(length)
	}
	if err == nil && !ok {
		err = fmt.Errorf("%s: %s", answered, body)
	}
	return body, err
}

// request returns an HTTP request as it goes over the wire.
func request(method, path string, body []byte) []byte {
	head := method + " " + path + " HTTP/1.1\r\nHost: bench\r\n"
	if body != nil {
		head += "Content-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return append([]byte(head+"\r\n"), body...)
}

// ask sends one request on a connection of its own.
func ask(address, method, path string, body []byte) ([]byte, error) {
	c, err := dial(address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.do(request(method, path, body), true)
}

// timed sends one request on an open connection and returns how long it took.
func (c *conn) timed(request []byte) (time.Duration, error) {
	start := time.Now()
	_, err := c.do(request, false)
	return time.Since(start), err
}

func milliseconds(took time.Duration) float64 { return float64(took.Microseconds()) / 1000 }

// step is a request whose time, in milliseconds, is noted unless into is nil.
type step struct {
	c       *conn
	request []byte
	into    *[]float64
}

// inTurn takes the steps one after the other, n times.
func inTurn(n int, steps ...step) error {
	for range n {
		for _, s := range steps {
			took, err := s.c.timed(s.request)
			if err != nil {
				return err
			}
			if s.into != nil {
				*s.into = append(*s.into, milliseconds(took))
			}
		}
	}
	return nil
}

// throughput repeats a request on a number of connections, and returns the
// answers per second.
func throughput(address string, connections int, request []byte, duration time.Duration) (float64, error) {
	var answered atomic.Int64
	start := time.Now()
	end := start.Add(duration)
	err := parallel(connections, func(int) error {
		c, err := dial(address)
		if err != nil {
			return err
		}
		defer c.Close()
		for time.Now().Before(end) {
			if _, err := c.do(request, false); err != nil {
				return err
			}
			answered.Add(1)
		}
		return nil
	})
	return float64(answered.Load()) / time.Since(start).Seconds(), err
}

// sendAll sends n requests over a number of connections, and returns the time
// taken.
func sendAll(address string, connections, n int, requestOf func(i int) []byte) (time.Duration, error) {
	var next atomic.Int64
	start := time.Now()
	err := parallel(connections, func(int) error {
		c, err := dial(address)
		if err != nil {
			return err
		}
		defer c.Close()
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			if _, err := c.do(requestOf(i), false); err != nil {
				return err
			}
		}
		return nil
	})
	return time.Since(start), err
}

// parallel calls f from n goroutines, and returns the first error.
func parallel(n int, f func(worker int) error) error {
	var group sync.WaitGroup
	errs := make(chan error, n)
	for worker := range n {
		group.Go(func() {
			if err := f(worker); err != nil {
				errs <- err
			}
		})
	}
	group.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}
