package etcd3

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/storage"
)

// pageSize bounds how many keys are read in one call: large objects are to come within the
// time that a call has.
const pageSize = 500

// readAll reads everything, and again if etcd forgets meanwhile what that was.
func (s *Store) readAll(ctx context.Context) (*contents, error) {
	for {
		read, err := s.readAt(ctx, s.keys.root, 0)
		if !isCompacted(err) || ctx.Err() != nil {
			return read, err
		}
	}
}

// readAt reads all keys with a prefix as of a revision; 0 is the present one. What the
// cache has already is not decoded again.
func (s *Store) readAt(ctx context.Context, prefix string, revision int64) (*contents, error) {
	known := s.cache.objects
	if !s.cache.isLoaded() { // it may be of another etcd
		known = storage.NewCache(0)
	}
	read := &contents{revision: revision, broken: map[place]*broken{}, ports: map[string]hostPort{}}
	for from, end := prefix, clientv3.GetPrefixRangeEnd(prefix); ; {
		resp, err := s.client.Do(ctx, clientv3.OpGet(from, clientv3.WithRange(end), clientv3.WithRev(read.revision), clientv3.WithLimit(pageSize)))
		if err != nil {
			return nil, err
		}
		page := resp.Get()
		if read.revision == 0 {
			read.revision = page.Header.Revision
			s.note(read.revision)
		}
		for _, kv := range page.Kvs {
			s.add(read, kv, known)
		}
		if !page.More {
			return read, nil
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

// add adds what is in a key to what was read.
func (s *Store) add(read *contents, kv *mvccpb.KeyValue, known *storage.Cache) {
	key := string(kv.Key)
	at, ok := s.keys.place(key)
	switch {
	case ok:
		object, bad := knownOrDecoded(at, kv, known)
		if bad != nil {
			read.broken[at] = bad
		} else {
			read.objects = append(read.objects, object)
		}
	case s.keys.isHostPort(key):
		read.ports[key] = hostPort{string(kv.Value), kv.ModRevision}
	}
}

func knownOrDecoded(at place, kv *mvccpb.KeyValue, known *storage.Cache) (*storage.Object, *broken) {
	object, err := known.Get(at.kind, at.id)
	if err == nil && object.Version() == uint64(kv.ModRevision) && object.Meta().CreationVersion == uint64(kv.CreateRevision) {
		return object, nil
	}
	return decode(at, kv)
}
