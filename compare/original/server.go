package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// server is one of the two that are compared.
type server struct {
	name, url string
	timeout   time.Duration
	client    *http.Client
	made      map[object]bool // what it may hold because it was asked to
}

func newServer(name, address string, timeout time.Duration) *server {
	return &server{
		name: name, url: address, timeout: timeout, made: map[object]bool{},
		client: &http.Client{
			// A connection for each request: a GET on one that the server has
			// closed would be sent again.
			Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// answer is what a server answered; without an answer the status is 0 and the
// note says why.
type answer struct {
	Status      int
	ContentType string `json:"-"` // the recordings do not have the original's
	Body, Note  string
	timedOut    bool
}

const (
	closedNote = "the connection was closed without an answer"
	maxBody    = 16 << 20
)

var errInterrupted = errors.New("interrupted")

// ask sends a request. A server that cannot be reached is an error, one that
// hangs or closes the connection is not.
func (s *server) ask(ctx context.Context, method, path, body string) (answer, error) {
	bounded, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(bounded, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	got, err := s.send(req)
	var dial *net.OpError
	switch {
	case err == nil:
		return got, nil
	case ctx.Err() != nil:
		return answer{}, errInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		return answer{Note: fmt.Sprintf("no answer in %v", s.timeout), timedOut: true}, nil
	case errors.As(err, &dial) && dial.Op == "dial":
		return answer{}, s.errorf("does not answer: %w", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return answer{Note: closedNote}, nil
	}
	return answer{}, s.errorf("does not answer: %w", err)
}

func (s *server) send(req *http.Request) (answer, error) {
	resp, err := s.client.Do(req)
	if urlError := (*url.Error)(nil); errors.As(err, &urlError) {
		return answer{}, urlError.Err
	} else if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	return answer{Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"), Body: string(body)}, err
}

func (s *server) errorf(format string, arguments ...any) error {
	return fmt.Errorf("%s at %s "+format, append([]any{s.name, s.url}, arguments...)...)
}

// perform sends the request of a step, and remembers what it may have made.
func (s *server) perform(ctx context.Context, step step) (answer, error) {
	got, err := s.ask(ctx, step.Method, step.Path, step.Body)
	if refused := got.Status >= 400 && got.Status < 500; !refused {
		for _, made := range step.makes() {
			s.made[made] = true
		}
	}
	return got, err
}

// list returns all objects of the server.
func (s *server) list(ctx context.Context) ([]object, error) {
	var objects []object
	for _, resource := range resources {
		got, err := s.ask(ctx, "GET", prefix+resource, "")
		if err != nil {
			return nil, err
		}
		var list struct{ Items []struct{ ID string } }
		switch {
		case got.Status == 0:
			return nil, s.errorf("does not answer GET %s: %s", prefix+resource, got.Note)
		case got.Status != http.StatusOK || json.Unmarshal([]byte(got.Body), &list) != nil:
			return nil, s.errorf("does not list its objects: GET %s is answered with %d and %s",
				prefix+resource, got.Status, excerpt(got.Body, ""))
		}
		for _, item := range list.Items {
			objects = append(objects, object{resource, item.ID})
		}
	}
	return objects, nil
}
