package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/coreos/go-etcd/etcd"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// codes of etcd's v2 API.
const (
	codeNotFound     = 100 // there is no such key
	codeUnauthorized = 110 // the user, if any, may not read
)

// API is the state of one of etcd's APIs.
type API struct {
	Served bool
	Holds  bool // whether anything exists below the key
}

// Served checks both APIs of an etcd, by two clients of the same Config, and whether a key holds anything. If
// no API is served, or if that is uncertain, it returns an error. An *UnusableError is permanent: a
// URL can never serve, or an API does not let us read the key. Any other error may disappear. Served
// returns soon after the context has ended.
func Served(ctx context.Context, v2Client *Client, v3Client *V3, key string) (v2, v3 API, err error) {
	// Wait for a hanging etcd once, and not again for its diagnosis.
	bounded, cancel := context.WithTimeout(ctx, v3Client.callTimeout)
	defer cancel()
	var holds2 bool
	answered := make(chan error, 1)
	go func() {
		var err error
		holds2, err = v2Client.holds(key)
		answered <- err
	}()
	holds3, v3Err := v3Client.holds(ctx, key)
	var v2Err error
	select {
	case v2Err = <-answered:
	case <-ctx.Done(): // go-etcd's calls have no context: this one goes on, but its result is dropped
		return API{}, API{}, ctx.Err()
	}
	var refused *UnusableError
	if errors.As(v2Err, &refused) || errors.As(v3Err, &refused) {
		return API{}, API{}, refused
	}
	prober := prober{v2Client.transport.inner, wants{v2: true, v3: true}}
	switch {
	case v2Err == nil && v3Err == nil:
		return API{true, holds2}, API{true, holds3}, nil
	case v3Err == nil:
		url := v3Client.urls[v3Client.current.Load()]
		// A peer port serves the v3 API too.
		if err := prober.peerPort(bounded, url); err != nil {
			return API{}, API{}, err
		}
		// Any answer but a 404 means that the v2 API may be served later. An etcd whose client URLs
		// speak only gRPC cannot report that: its users name the API by -storage_backend.
		if keys, err := prober.get(bounded, url+"/v2/keys/"); err != nil || keys.isJSON || keys.status != http.StatusNotFound {
			return API{}, API{}, uncertain("v2", v2Err)
		}
		return API{}, API{true, holds3}, nil
	case v2Err == nil && slices.ContainsFunc(v2Client.urls, func(url string) bool { return lacksV3(prober.version(bounded, url)) }):
		return API{true, holds2}, API{}, nil
	}
	if unusable := prober.diagnoseAll(bounded, v2Client.urls); unusable != nil {
		return API{}, API{}, unusable
	}
	if v2Err == nil {
		return API{}, API{}, uncertain("v3", v3Err)
	}
	return API{}, API{}, v3Err
}

// uncertain returns the error for an API that may or may not be served while the other one is.
func uncertain(api string, err error) error {
	return fmt.Errorf("it is not certain whether the %s API is served (-storage_backend says which one to use): %w", api, err)
}

// CheckKey returns nil if a member serves the v2 keys API, and lets us read the key.
// Otherwise the error is an *UnusableError if one of the URLs can never serve it, and
// another error if that may change.
func (c *Client) CheckKey(key string) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.transport.callTimeout)
	defer cancel()
	_, err := c.holds(key)
	return prober{c.transport.inner, wants{v2: true}}.explain(ctx, c.urls, err)
}

// Check returns nil if a member serves the v3 API, and lets us read the key. Otherwise
// the error is an *UnusableError if one of the URLs can never serve it, and another
// error if that may change.
func (c *V3) Check(ctx context.Context, key string) error {
	_, err := c.holds(ctx, key)
	bounded, cancel := context.WithTimeout(ctx, c.callTimeout)
	defer cancel()
	transport := newTransport(len(c.urls), c.security).inner
	defer transport.CloseIdleConnections()
	return prober{transport, wants{v3: true}}.explain(bounded, c.urls, err)
}

// explain returns a more specific error, if the diagnosis finds one.
func (p prober) explain(ctx context.Context, members []string, err error) error {
	var refused *UnusableError
	if err == nil || errors.As(err, &refused) {
		return err
	}
	if unusable := p.diagnoseAll(ctx, members); unusable != nil {
		return unusable
	}
	return err
}

// holds reports whether a directory has entries, through the v2 keys API. The error is an
// *UnusableError if a member does not let us read it.
func (c *Client) holds(directory string) (bool, error) {
	resp, err := c.Get(directory, false, false)
	var etcdErr *etcd.EtcdError
	switch {
	case err == nil:
		return resp.Node != nil && len(resp.Node.Nodes) > 0, nil
	case !errors.As(err, &etcdErr):
	case etcdErr.ErrorCode == codeNotFound:
		return false, nil
	case etcdErr.ErrorCode == codeUnauthorized:
		return false, unusable(c.urls[c.current.Load()], "does not let us read %s on the v2 keys API: check -etcd_username and -etcd_password_file", directory)
	}
	return false, err
}

// holds reports whether a key with a prefix exists, through the v3 API. The error is an
// *UnusableError if a member does not let us read it.
func (c *V3) holds(ctx context.Context, prefix string) (bool, error) {
	resp, err := c.Do(ctx, clientv3.OpGet(prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()))
	url := c.urls[c.current.Load()]
	switch {
	case err == nil:
		return resp.Get().Count > 0, nil
	case errors.Is(err, rpctypes.ErrAuthFailed):
		err = unusable(url, "does not know the user with this password: check -etcd_username and -etcd_password_file")
	case errors.Is(err, rpctypes.ErrUserEmpty):
		err = unusable(url, "wants to know the user: -etcd_username and -etcd_password_file name one")
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		err = unusable(url, "does not let the user read %s", prefix)
	}
	return false, err
}
