// Package etcd has a client for each of etcd's two APIs: Client for the v2 keys API,
// on top of go-etcd, and V3 for the v3 API, on top of clientv3. Both add the same: every
// call has a timeout, a read sees every write that was acknowledged before, calls fail
// over to the next member, and a write is never sent twice. Served reports which of the
// two an etcd serves.
package etcd

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-etcd/etcd"
)

// Client calls the members of one etcd cluster: one of them as long as it
// answers, then the next. It is safe for concurrent use.
//
// An *etcd.EtcdError is etcd's own answer. If its code is from 300 to 399, or
// after any other error, the outcome is unknown: a read can be retried, a write
// may have taken effect. A call takes at most 3 seconds, except Watch.
type Client struct {
	urls      []string       // of the members
	members   []*etcd.Client // one client each: go-etcd's own failover sends writes twice
	current   atomic.Int32   // the member that answered last
	transport *transport
}

// New returns a client of the members at the URLs, without certificates or a user. It
// does not connect.
func New(servers []string) (*Client, error) { return NewClient(Config{Servers: servers}) }

// NewClient returns a client of etcd's v2 keys API. It does not connect. An error is a
// *ConfigError.
func NewClient(config Config) (*Client, error) {
	urls, security, err := config.read()
	if err != nil {
		return nil, err
	}
	transport := newTransport(len(urls), security)
	client := &Client{urls: urls, transport: transport}
	// SetTransport takes only an *http.Transport. This empty one passes every
	// request to ours; with TLSNextProto set, net/http does not replace ours by
	// its own HTTP/2 for https.
	shell := &http.Transport{TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
	shell.RegisterProtocol("http", transport)
	shell.RegisterProtocol("https", transport)
	for _, address := range urls {
		member := etcd.NewClient([]string{address})
		member.SetTransport(shell)
		member.CheckRetry = neverRetry
		if config.Username != "" {
			member.SetCredentials(config.Username, config.Password)
		}
		if err := member.SetConsistency(etcd.STRONG_CONSISTENCY); err != nil {
			return nil, err
		}
		client.members = append(client.members, member)
	}
	return client, nil
}

// ParseServers checks the URLs of members and returns them without a slash at the
// end. The error names what is wrong, but never shows a password.
func ParseServers(servers []string) (urls []string, err error) {
	if slices.ContainsFunc(servers, MayHoldPassword) { // a password may hold a comma: no other value is shown either
		return nil, errors.New("a user or a password in a URL is not supported (it is not shown here); give http://HOST:PORT")
	}
	for _, server := range servers {
		address, err := parseServer(server)
		if err != nil {
			return nil, err
		}
		urls = append(urls, address)
	}
	return urls, nil
}

// MayHoldPassword reports whether a text may be a URL with a password in it: one with
// an @, which may be escaped.
func MayHoldPassword(text string) bool {
	return strings.Contains(text, "@") || strings.Contains(text, "%40")
}

func parseServer(server string) (string, error) {
	u, err := url.Parse(server)
	if err == nil && u.Port() != "" {
		_, err = strconv.ParseUint(u.Port(), 10, 16)
	}
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%q is not a URL like http://127.0.0.1:4001", server)
	}
	return u.Scheme + "://" + u.Host, nil
}

// Close closes the idle connections.
func (c *Client) Close() { c.transport.inner.CloseIdleConnections() }

// SetTimeout sets the timeout of connecting and of each call to a member, so that tests
// do not depend on the speed of a machine. It must be called before the first call.
func (c *Client) SetTimeout(timeout time.Duration) {
	c.transport.inner.DialContext = (&net.Dialer{Timeout: timeout}).DialContext
	c.transport.callTimeout, c.transport.readTimeout, c.transport.watchTimeout = timeout, timeout, timeout
}

// neverRetry makes go-etcd return after one attempt, with etcd's own error if
// the answer holds one.
func neverRetry(_ *etcd.Cluster, _ int, last http.Response, err error) error {
	if last.StatusCode == 0 {
		return err
	}
	data, readErr := io.ReadAll(io.LimitReader(last.Body, 64<<10))
	if readErr != nil {
		return fmt.Errorf("etcd's answer broke off: %w", readErr)
	}
	var etcdErr etcd.EtcdError
	if json.Unmarshal(data, &etcdErr) == nil && etcdErr.ErrorCode != 0 {
		return &etcdErr
	}
	return fmt.Errorf("etcd answered %d", last.StatusCode)
}

type call func(*etcd.Client) (*etcd.Response, error)

// read tries one member after the other until one has an answer.
func (c *Client) read(f call) (*etcd.Response, error) {
	return c.try(f, func(error) bool { return true })
}

// write tries the next member only if the last one cannot have seen the request.
func (c *Client) write(f call) (*etcd.Response, error) {
	return c.try(f, func(err error) bool {
		var failed *net.OpError
		return errors.As(err, &failed) && failed.Op == "dial"
	})
}

func (c *Client) try(f call, again func(error) bool) (*etcd.Response, error) {
	first := c.current.Load()
	for i := 0; ; i++ {
		member := (int(first) + i) % len(c.members)
		resp, err := f(c.members[member])
		if decided(err) {
			c.current.Store(int32(member))
			return resp, err
		}
		if i == len(c.members)-1 || !again(err) {
			c.current.Store(int32((member + 1) % len(c.members)))
			return nil, err
		}
	}
}

// decided reports whether etcd's answer is final. Codes 300 to 399 are errors of
// the raft protocol: no leader, or no quorum in time.
func decided(err error) bool {
	if etcdErr, ok := errors.AsType[*etcd.EtcdError](err); ok {
		return etcdErr.ErrorCode < 300 || etcdErr.ErrorCode >= 400
	}
	return err == nil
}

// Get returns a key, or a directory with its contents.
func (c *Client) Get(key string, sort, recursive bool) (*etcd.Response, error) {
	return c.read(func(m *etcd.Client) (*etcd.Response, error) { return m.Get(key, sort, recursive) })
}

// Set sets a key.
func (c *Client) Set(key, value string, ttl uint64) (*etcd.Response, error) {
	return c.write(func(m *etcd.Client) (*etcd.Response, error) { return m.Set(key, value, ttl) })
}

// Create sets a key that must not exist.
func (c *Client) Create(key, value string, ttl uint64) (*etcd.Response, error) {
	return c.write(func(m *etcd.Client) (*etcd.Response, error) { return m.Create(key, value, ttl) })
}

// AddChild adds a key, which etcd names, to a directory.
func (c *Client) AddChild(key, data string, ttl uint64) (*etcd.Response, error) {
	return c.write(func(m *etcd.Client) (*etcd.Response, error) { return m.AddChild(key, data, ttl) })
}

// Delete deletes a key, or a directory with its contents.
func (c *Client) Delete(key string, recursive bool) (*etcd.Response, error) {
	return c.write(func(m *etcd.Client) (*etcd.Response, error) { return m.Delete(key, recursive) })
}

// CompareAndSwap sets a key if it has a value ("" for any) and a modified index
// (0 for any). If it compares the index, the request makes etcd omit the
// values, which may be large: the response's node has only a key, a value and a
// modified index, and there is no previous node.
func (c *Client) CompareAndSwap(key, value string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	resp, err := c.write(func(m *etcd.Client) (*etcd.Response, error) {
		return m.CompareAndSwap(key, value, ttl, prevValue, prevIndex)
	})
	if err == nil && resp.Node == nil {
		resp.Node = &etcd.Node{Key: key, Value: value, ModifiedIndex: resp.EtcdIndex}
	}
	return resp, err
}

// CompareAndDelete deletes a key if it has a value ("" for any) and a modified
// index (0 for any).
func (c *Client) CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return c.write(func(m *etcd.Client) (*etcd.Response, error) { return m.CompareAndDelete(key, prevValue, prevIndex) })
}

// Watch waits for changes like go-etcd's Watch: for one if there is no receiver,
// and for at most a minute. It uses one member only.
func (c *Client) Watch(prefix string, waitIndex uint64, recursive bool, receiver chan *etcd.Response, stop chan bool) (*etcd.Response, error) {
	return c.members[c.current.Load()].Watch(prefix, waitIndex, recursive, receiver, stop)
}
