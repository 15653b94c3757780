package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/coreos/go-etcd/etcd"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Served tells which of its APIs an etcd serves, by two clients of the same Config. The
// key is one that will be read. If no API is served, or if that is not certain, there is an
// error: an *UnusableError when what is at one of the URLs can never serve, or when one
// of the APIs does not let us read the key; another error may go away. It returns soon
// after the context has ended.
func Served(ctx context.Context, v2Client *Client, v3Client *V3, key string) (v2, v3 bool, err error) {
	// An etcd that hangs is waited for once, and not again to find out why.
	bounded, cancel := context.WithTimeout(ctx, v3Client.callTimeout)
	defer cancel()
	var v2Err, v3Err error
	var asked sync.WaitGroup
	asked.Go(func() { v2Err = v2Client.serves(ctx, key) })
	v3Err = v3Client.serves(ctx, key)
	asked.Wait()
	var refused *UnusableError
	if errors.As(v2Err, &refused) || errors.As(v3Err, &refused) {
		return false, false, refused
	}
	prober := prober{v2Client.transport.inner, wants{v2: true, v3: true}}
	switch {
	case v2Err == nil && v3Err == nil:
		return true, true, nil
	case v3Err == nil:
		url := v3Client.urls[v3Client.current.Load()]
		// A peer port serves the v3 API too.
		if err := prober.peerPort(bounded, url); err != nil {
			return false, false, err
		}
		// Who answers anything but that there is no such page may serve the v2 API later. An etcd whose
		// client URLs speak only gRPC cannot tell: its users name the API by -storage_backend.
		if keys, err := prober.get(bounded, url+"/v2/keys/"); err != nil || keys.isJSON || keys.status != http.StatusNotFound {
			return false, false, uncertain("v2", v2Err)
		}
		return false, true, nil
	case v2Err == nil && slices.ContainsFunc(v2Client.urls, func(url string) bool { return lacksV3(prober.version(bounded, url)) }):
		return true, false, nil
	}
	if unusable := prober.diagnoseAll(bounded, v2Client.urls); unusable != nil {
		return false, false, unusable
	}
	if v2Err == nil {
		return false, false, uncertain("v3", v3Err)
	}
	return false, false, v3Err
}

// uncertain is the error of an API that an etcd may serve or not, while it serves the other.
func uncertain(api string, err error) error {
	return fmt.Errorf("it is not certain whether the %s API is served (-storage_backend says which one to use): %w", api, err)
}

// Check is CheckKey of the root.
func (c *Client) Check() error { return c.CheckKey("/") }

// CheckKey returns nil when a member serves the v2 keys API, and lets us read the key.
// When none does, it is an *UnusableError if what is at one of the URLs can never serve
// it, and another error if that may change.
func (c *Client) CheckKey(key string) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.transport.callTimeout)
	defer cancel()
	return prober{c.transport.inner, wants{v2: true}}.why(ctx, c.urls, c.serves(context.Background(), key))
}

// Check returns nil when a member serves the v3 API, and lets us read the key. When none
// does, it is an *UnusableError if what is at one of the URLs can never serve it, and
// another error if that may change.
func (c *V3) Check(ctx context.Context, key string) error {
	err := c.serves(ctx, key)
	bounded, cancel := context.WithTimeout(ctx, c.callTimeout)
	defer cancel()
	transport := newTransport(len(c.urls), c.security).inner
	defer transport.CloseIdleConnections()
	return prober{transport, wants{v3: true}}.why(bounded, c.urls, err)
}

// why returns a better reason for an error, if there is one.
func (p prober) why(ctx context.Context, members []string, err error) error {
	var refused *UnusableError
	if err == nil || errors.As(err, &refused) {
		return err
	}
	if unusable := p.diagnoseAll(ctx, members); unusable != nil {
		return unusable
	}
	return err
}

// codeUnauthorized is etcd's code of the v2 API for a user, or nobody, who may not read.
const codeUnauthorized = 110

// serves returns nil when a member answers on the v2 keys API, and an *UnusableError
// when it does not let us read a key.
func (c *Client) serves(ctx context.Context, key string) error {
	_, err := c.getUntil(ctx, key)
	var answered *etcd.EtcdError
	switch {
	case !errors.As(err, &answered):
		return err
	case answered.ErrorCode == codeUnauthorized:
		return unusable(c.urls[c.current.Load()], "does not let us read %s on the v2 keys API: check -etcd_username and -etcd_password_file", key)
	}
	return nil
}

// serves returns nil when a member answers on the v3 API, and an *UnusableError when it
// does not let us read a key.
func (c *V3) serves(ctx context.Context, key string) error {
	_, err := c.Do(ctx, clientv3.OpGet(key, clientv3.WithCountOnly()))
	url := c.urls[c.current.Load()]
	switch {
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return unusable(url, "does not know the user with this password: check -etcd_username and -etcd_password_file")
	case errors.Is(err, rpctypes.ErrUserEmpty):
		return unusable(url, "wants to know the user: -etcd_username and -etcd_password_file name one")
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return unusable(url, "does not let the user read %s", key)
	case Answered(err):
		return nil
	}
	return err
}
