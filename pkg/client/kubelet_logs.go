package client

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"kube2014/pkg/api"
)

const (
	// logTimeout is how long a kubelet may take until it begins to answer.
	logTimeout = 10 * time.Second
	// maxRefusal is how much of a kubelet's error is read, in bytes.
	maxRefusal = 10 << 10
)

// KubeletError is the error of a kubelet that refuses, with its text.
type KubeletError struct {
	Status int // of HTTP
	Text   string
}

// Error implements error.
func (e *KubeletError) Error() string { return e.Text }

// Code returns the status.
func (e *KubeletError) Code() int { return e.Status }

// ContainerLogs asks SCHEME://HOST:PORT/containerLogs/NAMESPACE/POD/CONTAINER, as today's server
// does, for a log, which comes as the container writes it if the query says follow=true. The caller
// closes it. It ends with the context. The error is a *KubeletError if the kubelet refuses.
func (c *HTTPContainerInfo) ContainerLogs(ctx context.Context, host string, port uint, namespace, pod, container string, query url.Values) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	late := time.AfterFunc(logTimeout, cancel)
	address := url.URL{
		Scheme:   cmp.Or(c.Scheme, "http"),
		Host:     net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10)),
		RawQuery: query.Encode(),
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.JoinPath("containerLogs", namespace, pod, container).String(), nil)
	if err != nil {
		cancel()
		return nil, err
	}
	resp, err := c.sameHostClient().Do(req)
	if !late.Stop() && err == nil {
		resp.Body.Close()
		err = context.DeadlineExceeded
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("the kubelet at %s does not answer: %w", address.Host, reason(err))
	}
	if resp.StatusCode == http.StatusOK {
		return &logBody{resp.Body, cancel}, nil
	}
	defer cancel()
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil {
		return nil, fmt.Errorf("the kubelet of %s answered %d", host, resp.StatusCode)
	}
	return nil, &KubeletError{resp.StatusCode, api.Printable(strings.TrimSpace(string(text)), ' ')}
}

// logBody ends its request when it is closed.
type logBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *logBody) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}
