package kubeletclient

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/util"
)

const (
	// logTimeout is how long a kubelet may take until it begins to answer.
	logTimeout = 10 * time.Second
	// maxRefusal is how much of a kubelet's error is read, in bytes.
	maxRefusal = 10 << 10
)

// Error is the error of a kubelet that refuses, with its text.
type Error struct {
	Status int // of HTTP
	Text   string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Code returns the status.
func (e *Error) Code() int { return e.Status }

// ContainerLogs gets a log from SCHEME://HOST:PORT/containerLogs/NAMESPACE/POD/CONTAINER, as today's
// server does. With follow=true in the query it is streamed. The caller closes it; it also ends with
// the context. The error is a *Error if the kubelet refuses.
func (c *HTTPContainerInfo) ContainerLogs(ctx context.Context, host string, port uint, namespace, pod, container string, query url.Values) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(logTimeout, cancel)
	address := c.address(host, port, query)
	resp, err := c.get(ctx, address.JoinPath("containerLogs", namespace, pod, container))
	if !late.Stop() && err == nil {
		resp.Body.Close()
		err = noAnswer(address, context.DeadlineExceeded)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return util.CancelOnClose(resp.Body, cancel), nil
	}
	defer cancel()
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil {
		return nil, fmt.Errorf("the kubelet of %s answered %d", host, resp.StatusCode)
	}
	return nil, &Error{resp.StatusCode, api.Printable(strings.TrimSpace(string(text)), ' ')}
}
