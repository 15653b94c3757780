package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api/conversion"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/storage"
	"kube2014/pkg/util"
)

// List is the result of a list request.
type List struct {
	v1.ListMeta
	Kind     schema.GroupVersionKind // of the items
	ListKind string                  // "" for the usual one: that of the items with List
	Codec    *v1.Codec               // of Items
	Items    []*storage.Object       // the stored objects
	unstored []k8sruntime.Object     // the other objects
}

// MakeList returns a list of objects that are not stored. Their kind must be set.
func MakeList(kind schema.GroupVersionKind, version uint64, objects []k8sruntime.Object) *List {
	return &List{ListMeta: v1.ListMeta{Version: version}, Kind: kind, unstored: objects}
}

// Len returns the number of items.
func (l *List) Len() int { return len(l.Items) + len(l.unstored) }

// chunk is the number of items that are processed between two checks of the context.
const chunk = 64

// Each calls do for the items, concurrently on all processors and in any order. It returns an
// error of do, or a timeout if the context ends first. A panic of do becomes an error.
func (l *List) Each(ctx context.Context, do func(i int, item Answer) error) error {
	errs := make([]error, (l.Len()+chunk-1)/chunk)
	util.InParallel(len(errs), runtime.GOMAXPROCS(0), func(n int) {
		defer func() {
			if panicked := recover(); panicked != nil { // the process would end otherwise
				errs[n] = fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
			}
		}()
		err := CheckTime(ctx)
		for i := n * chunk; err == nil && i < min((n+1)*chunk, l.Len()); i++ {
			err = do(i, l.item(i))
		}
		errs[n] = err
	})
	return cmp.Or(errs...)
}

func (l *List) item(i int) Answer {
	if i < len(l.Items) {
		return storedAnswer{l.Codec, l.Items[i]}
	}
	return unstoredAnswer{l.unstored[i-len(l.Items)]}
}

// unreadable returns the error for a list with an object that cannot be read. That of a kind without a Go type may be stored in
// a version that its definition does not have: as in today's server, the client is to try again. On the v2 API of etcd there is
// such an object for a moment, when a definition is made again while objects are created.
func (l *List) unreadable(err error) error {
	if err == nil || l.ListKind == "" || apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		return err
	}
	return apierrors.NewTooManyRequests(fmt.Sprintf("storage is (re)initializing: %v", err), 1)
}

// Encode returns the list's JSON.
func (l *List) Encode() (conversion.Encoded, error) {
	kind := l.kind()
	return v1.EncodeList(kind.GroupVersion().String(), kind.Kind, l.ListMeta, l.Len(), func(parts *conversion.Parts, i int) error {
		if i < len(l.Items) {
			return l.unreadable(storedAnswer{l.Codec, l.Items[i]}.addJSON(parts, false))
		}
		item := l.unstored[i-len(l.Items)].DeepCopyObject()
		item.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		text, err := json.Marshal(item)
		parts.Add(text)
		return err
	})
}

// EncodeProtobuf returns the list in protobuf.
func (l *List) EncodeProtobuf() (conversion.Encoded, error) {
	return v1.EncodeMessages(l.kind(), l.ListMeta, l.Len(), func(parts *conversion.Parts, i int) error {
		_, err := l.item(i).AddMessage(parts, false)
		return err
	})
}

// EncodeMetadata returns a PartialObjectMetadataList of a version, in protobuf.
func (l *List) EncodeMetadata(version schema.GroupVersion) (conversion.Encoded, error) {
	return v1.EncodeMessages(version.WithKind("PartialObjectMetadataList"), l.ListMeta, l.Len(), func(parts *conversion.Parts, i int) error {
		return l.item(i).AddMetadata(parts)
	})
}

// kind returns the kind of the list.
func (l *List) kind() schema.GroupVersionKind {
	return l.Kind.GroupVersion().WithKind(cmp.Or(l.ListKind, l.Kind.Kind+"List"))
}
