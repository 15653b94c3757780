// Package kubeletclient has the client of kubelets.
package kubeletclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"kube2014/pkg/api/conversion"
	"kube2014/pkg/client"
	"kube2014/pkg/util"
)

const (
	kubeletTimeout = time.Second
	kubeletBackoff = 10 * time.Second
	// An answer is decoded as a whole. These limits, and one on headers in the
	// HTTP client, keep its memory below 1 MiB. A real kubelet answers a few
	// KiB.
	maxInfoSize   = 128 << 10
	maxInfoValues = 4096
)

// HTTPContainerInfo sends requests to kubelets over HTTP. A request takes at most
// a second and 1 MiB of memory. After a failure the kubelet gets no request for 10
// seconds (D21). It is safe for concurrent use.
type HTTPContainerInfo struct {
	Client  *http.Client  // http.DefaultClient when nil; it bounds the headers
	Scheme  string        // http when empty
	Port    uint          // where the kubelets listen
	Timeout time.Duration // of a request; a second when 0
	// Through is the transport of requests that are sent on to kubelets. It speaks HTTP/1.1 only; http.DefaultTransport when nil.
	Through http.RoundTripper

	mu      sync.Mutex           // guards failing; never held during a request
	failing map[string]time.Time // host → when a request may be sent again
}

var _ client.ContainerInfo = (*HTTPContainerInfo)(nil)

// GetContainerInfo gets SCHEME://HOST:PORT/containerInfo?container=NAME.
func (c *HTTPContainerInfo) GetContainerInfo(host, name string) (interface{}, error) {
	if !c.mayTry(host) {
		return nil, client.ErrKubeletSkipped
	}
	info, err := c.request(host, name)
	c.record(host, err)
	return info, err
}

// mayTry reports whether a request may be sent to the host now. When the wait after
// a failure is over, only one caller may try; the others may again once it has
// succeeded.
func (c *HTTPContainerInfo) mayTry(host string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	again, failed := c.failing[host]
	if !failed {
		return true
	}
	now := time.Now()
	if now.Before(again) {
		return false
	}
	c.failing[host] = now.Add(kubeletBackoff)
	return true
}

func (c *HTTPContainerInfo) record(host string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		delete(c.failing, host)
		return
	}
	if c.failing == nil {
		c.failing = map[string]time.Time{}
	}
	c.failing[host] = time.Now().Add(kubeletBackoff)
}

func (c *HTTPContainerInfo) request(host, name string) (interface{}, error) {
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(c.Timeout, kubeletTimeout))
	defer cancel()
	resp, err := c.get(ctx, c.address(host, c.Port, url.Values{"container": {name}}).JoinPath("containerInfo"))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the kubelet of %s answered %d", host, resp.StatusCode)
	}
	return decodeInfo(host, resp.Body)
}

// address returns the URL of a kubelet.
func (c *HTTPContainerInfo) address(host string, port uint, query url.Values) *url.URL {
	return &url.URL{
		Scheme:   cmp.Or(c.Scheme, "http"),
		Host:     net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10)),
		RawQuery: query.Encode(),
	}
}

// At returns the URL of a kubelet, which the caller owns, and the transport of requests that are sent on to it.
func (c *HTTPContainerInfo) At(host string, port uint) (*url.URL, http.RoundTripper) {
	return c.address(host, port, nil).JoinPath("/"), cmp.Or(c.Through, http.DefaultTransport)
}

// get sends a request to a kubelet. The caller closes the body of the answer.
func (c *HTTPContainerInfo) get(ctx context.Context, address *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.sameHostClient().Do(req)
	if err != nil {
		return nil, noAnswer(address, err)
	}
	return resp, nil
}

// noAnswer returns the error of a failed request, with the host instead of the whole URL.
func noAnswer(address *url.URL, err error) error {
	err = util.SystemError(err)
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	return fmt.Errorf("the kubelet at %s does not answer: %w", address.Host, err)
}

// sameHostClient returns the client, but without redirects to another host.
func (c *HTTPContainerInfo) sameHostClient() *http.Client {
	bounded := *cmp.Or(c.Client, http.DefaultClient)
	bounded.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != via[0].URL.Host {
			return errors.New("the kubelet sends to another host")
		}
		if len(via) >= 3 {
			return errors.New("the kubelet redirects in a circle")
		}
		return nil
	}
	return &bounded
}

func decodeInfo(host string, body io.Reader) (interface{}, error) {
	data, err := io.ReadAll(io.LimitReader(body, maxInfoSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxInfoSize {
		return nil, fmt.Errorf("the kubelet of %s answered more than %d bytes", host, maxInfoSize)
	}
	if values(data) > maxInfoValues || conversion.IndentedSize(data) > maxInfoSize*8 {
		return nil, fmt.Errorf("the kubelet of %s answered JSON that is too deep or has too many values", host)
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("the kubelet of %s answered something that is not JSON", host)
	}
	var info interface{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // a large number keeps its digits
	err = decoder.Decode(&info)
	return info, err
}

// values returns an upper bound for the number of values in a JSON text.
func values(data []byte) int {
	return 1 + bytes.Count(data, []byte(",")) + bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{"))
}
