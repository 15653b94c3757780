package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// ErrEarlyProgress is the error of a progress request to a member whose answer may
// precede the events that it covers: etcd before 3.4.31, and 3.5.0 to 3.5.12, or one
// that does not report its version.
var ErrEarlyProgress = errors.New("etcd may answer requests for progress too early")

// Watch watches the keys with a prefix, from a revision on, or from now on if that is 0.
// It uses one member, the current one or the next that is not down, and returns when the
// watch has begun or failed: after 2.5 seconds at most.
//
// The channel is closed when ctx ends, when the member fails or has no leader, or when the
// revision is compacted. Only the last response reports the reason, if there is one; there
// are no retries. The caller must end ctx in any case. progress requests a progress
// notification of this watch only, and does not wait for it. If the member does not answer,
// the watch ends. The error is ErrEarlyProgress if the notification could not be trusted.
// The periodic notifications of the member can always be trusted.
func (c *V3) Watch(ctx context.Context, prefix string, revision int64) (events clientv3.WatchChan, progress func(context.Context) error) {
	member := c.watchable()
	client, err := member.open()
	if err != nil {
		return closedWatch(), func(context.Context) error { return err }
	}
	watcher := clientv3.NewWatcher(client)
	watched, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	context.AfterFunc(watched, func() {
		_ = watcher.Close() // the error only says how its stream has ended
	})
	hangTimer := time.AfterFunc(c.callTimeout, func() {
		c.moveOn(member)
		cancel()
	})
	events = watcher.Watch(watched, prefix, clientv3.WithPrefix(), clientv3.WithRev(revision), clientv3.WithProgressNotify())
	hangTimer.Stop()
	var trusted atomic.Bool
	return events, func(ctx context.Context) error {
		if !trusted.Load() {
			if err := member.checkProgress(ctx); err != nil {
				if !errors.Is(err, ErrEarlyProgress) && ctx.Err() == nil { // the member does not answer
					c.moveOn(member)
					cancel()
				}
				return err
			}
			trusted.Store(true)
		}
		return watcher.RequestProgress(clientv3.WithRequireLeader(ctx))
	}
}

// watchable returns the current member, or the next one that is not known to be down.
func (c *V3) watchable() *member {
	first := int(c.current.Load())
	for i := range c.members {
		if member := c.members[(first+i)%len(c.members)]; !member.isDown() {
			return member
		}
	}
	return c.members[first]
}

func closedWatch() clientv3.WatchChan {
	events := make(chan clientv3.WatchResponse)
	close(events)
	return events
}

// checkProgress returns an error unless the member's version is known to answer progress
// requests after the preceding events.
func (m *member) checkProgress(ctx context.Context) error {
	var version string
	_, err := m.call(ctx, true, func(ctx context.Context, client *clientv3.Client) error {
		answer, err := etcdserverpb.NewMaintenanceClient(client.ActiveConnection()).Status(ctx, &etcdserverpb.StatusRequest{})
		if err == nil {
			version = answer.Version
		}
		return rpctypes.Error(err)
	})
	switch {
	case err != nil && Answered(err):
		return fmt.Errorf("%w: its version is not known: %w", ErrEarlyProgress, err)
	case err != nil:
		return err
	case !progressInOrder(version):
		return fmt.Errorf("%w: it is version %q", ErrEarlyProgress, version)
	}
	return nil
}

// progressInOrder reports whether a version of etcd answers progress requests after the
// preceding events.
func progressInOrder(version string) bool {
	var major, minor, patch int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); err != nil {
		return false
	}
	switch {
	case major != 3 || minor > 5:
		return major >= 3
	case minor == 5:
		return patch >= 13
	}
	return minor == 4 && patch >= 31
}
