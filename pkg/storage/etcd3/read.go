package etcd3

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/cacher"
)

// pageSize bounds the number of keys of one call, so that even large objects arrive before its
// timeout.
const pageSize = 500

// readAll reads everything, and again if etcd compacts the revision meanwhile.
func (s *Store) readAll(ctx context.Context) (*contents, error) {
	for {
		read, err := s.readAt(ctx, s.keys.root(), 0)
		if !isCompacted(err) || ctx.Err() != nil {
			return read, err
		}
	}
}

// readAt reads all keys with a prefix as of a revision; 0 is the present one. Cached objects are
// not decoded again.
func (s *Store) readAt(ctx context.Context, prefix string, revision int64) (*contents, error) {
	known := s.cache.objects
	if _, loaded := s.cache.next(); !loaded { // its objects may be those of another etcd
		known = cacher.New(0)
	}
	read := &contents{others: newOthers()}
	var err error
	read.revision, err = s.eachAt(ctx, prefix, revision, func(kv *mvccpb.KeyValue) { s.add(read, kv, known) })
	if err != nil {
		return nil, err
	}
	return read, nil
}

// eachAt reads all keys with a prefix as of a revision, page by page; 0 is the present one. It returns
// the revision.
func (s *Store) eachAt(ctx context.Context, prefix string, revision int64, pass func(*mvccpb.KeyValue), options ...clientv3.OpOption) (int64, error) {
	for from, end := prefix, clientv3.GetPrefixRangeEnd(prefix); ; {
		of := append([]clientv3.OpOption{clientv3.WithRange(end), clientv3.WithRev(revision), clientv3.WithLimit(pageSize)}, options...)
		resp, err := s.client.Do(ctx, clientv3.OpGet(from, of...))
		if err != nil {
			return 0, err
		}
		page := resp.Get()
		if revision == 0 {
			revision = page.Header.Revision
			s.observe(revision, 0)
		}
		for _, kv := range page.Kvs {
			pass(kv)
		}
		if !page.More {
			return revision, nil
		}
		from = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
}

// add adds a key to what was read.
func (s *Store) add(read *contents, kv *mvccpb.KeyValue, known *cacher.Cache) {
	at, ok := s.keys.place(string(kv.Key))
	if !ok {
		read.set(s.keys, kv)
		return
	}
	if object, bad := knownOrDecoded(at, kv, known); bad != nil {
		read.broken[at] = bad
	} else {
		read.objects = append(read.objects, object)
	}
}

func knownOrDecoded(at api.Key, kv *mvccpb.KeyValue, known *cacher.Cache) (*storage.Object, *broken) {
	object, err := known.Get(at)
	if err == nil && isVersion(object, kv) {
		return object, nil
	}
	return decode(at, kv)
}

// isVersion reports whether an object is this version of its key.
func isVersion(object *storage.Object, kv *mvccpb.KeyValue) bool {
	return object.Version() == uint64(kv.ModRevision) && object.Meta().CreationVersion == uint64(kv.CreateRevision)
}
