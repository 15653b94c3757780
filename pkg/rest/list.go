package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/conversion"
	"kube2014/pkg/storage"
)

// List is the objects that a list asked for.
type List struct {
	v1.ListMeta
	*Encoding
	items []*storage.Object
	made  []k8sruntime.Object // instead of the items, if they are not stored
}

// MakeList returns a list of objects, which have their kind set and are not stored.
func MakeList(kind schema.GroupVersionKind, version uint64, objects []k8sruntime.Object) *List {
	return &List{ListMeta: v1.ListMeta{Version: version}, Encoding: NewEncoding(kind, nil), made: objects}
}

// Len returns how many items the list has.
func (l *List) Len() int { return len(l.items) + len(l.made) }

// chunk is how many items are converted before it is looked whether the context has ended.
const chunk = 64

// Each calls a function for the items. Many processors share the work, so it is called
// concurrently, and in any order. Each returns an error of the function, or a timeout if the
// context ends before all is done.
func (l *List) Each(ctx context.Context, do func(i int, item Answer) error) error {
	var next atomic.Int64 // the first item that nobody has taken
	work := func() (err error) {
		defer func() {
			if panicked := recover(); panicked != nil { // else the process would end
				err = fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
			}
		}()
		for {
			first := int(next.Add(chunk)) - chunk
			if first >= l.Len() {
				return nil
			}
			if err := checkTime(ctx); err != nil {
				return err
			}
			for i := first; i < min(first+chunk, l.Len()); i++ {
				if err := do(i, l.item(i)); err != nil {
					return err
				}
			}
		}
	}
	errs := make([]error, min(runtime.GOMAXPROCS(0), (l.Len()+chunk-1)/chunk))
	var group sync.WaitGroup
	for worker := range errs {
		group.Go(func() { errs[worker] = work() })
	}
	group.Wait()
	return cmp.Or(errs...)
}

func (l *List) item(i int) Answer {
	if i < len(l.items) {
		return storedAnswer{l.Encoding, l.items[i]}
	}
	return made{l.made[i-len(l.items)]}
}

// Encode returns the list's JSON.
func (l *List) Encode() (conversion.Encoded, error) {
	texts := make([][]byte, len(l.items), len(l.items)+len(l.made))
	for i, item := range l.items {
		var err error
		if texts[i], err = item.Item(l.Codec); err != nil {
			return conversion.Encoded{}, err
		}
	}
	for _, object := range l.made {
		item := object.DeepCopyObject()
		item.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		text, err := json.Marshal(item)
		if err != nil {
			return conversion.Encoded{}, err
		}
		texts = append(texts, text)
	}
	return v1.EncodeList(l.Kind.GroupVersion().String(), l.Kind.Kind+"List", l.ListMeta, texts), nil
}

// List implements Lister. It gives up when the context ends.
func (s *Store[T]) List(ctx context.Context, namespace string, options ListOptions) (*List, error) {
	page, err := s.page(options)
	if err != nil {
		return nil, err
	}
	all, err := s.read(page, equalities(options.Labels, s.Labelled))
	if err != nil {
		return nil, err
	}
	list := &List{Encoding: s.Encoding, ListMeta: v1.ListMeta{Version: all.Version}}
	if !s.hasNamespace(namespace) {
		return list, nil
	}
	first := sort.Search(len(all.Items), func(i int) bool { return all.Items[i].GetID() >= page.start })
	for i, item := range all.Items[first:] {
		if err := checkTime(ctx); err != nil {
			return nil, err
		}
		wanted, err := s.matches(item, options)
		if err != nil {
			return nil, err
		}
		if !wanted {
			continue
		}
		// A page does not end between two tasks of one id, which other programs may have made.
		if n := len(list.items); options.Limit > 0 && int64(n) >= options.Limit && item.GetID() != list.items[n-1].GetID() {
			list.Continue = tokenFor(int64(all.Version), item.GetID())
			if options.Labels.Empty() && options.Fields.Empty() {
				list.Remaining = int64(len(all.Items) - first - i)
			}
			break
		}
		list.items = append(list.items, item)
	}
	return list, nil
}

// read returns the objects of the version that a page wants.
func (s *Store[T]) read(page page, labels map[string]string) (*storage.List, error) {
	if !page.exact {
		list, err := readNew(s.Objects, s.Internal, page, labels)
		return list, StatusError(err, s.Resource, "")
	}
	list, err := s.Objects.ListAt(s.Internal, page.version)
	if api.KindOf(err) == api.Expired {
		if current, err := s.Objects.Version(); err == nil && current < page.version {
			return nil, tooLarge(page.version, current)
		}
		return nil, page.expired()
	}
	return list, StatusError(err, s.Resource, "")
}

// readNew returns objects of the version that a page wants or a later one.
func readNew(objects storage.Interface, kind api.Kind, page page, labels map[string]string) (*storage.List, error) {
	if page.mayBeStale {
		if list, err := objects.Cached().List(kind, labels); err == nil && list.Version >= page.version && list.Version > 0 {
			return list, nil
		}
	}
	list, err := objects.List(kind, labels)
	if err != nil {
		return nil, err
	}
	if list.Version < page.version {
		return nil, tooLarge(page.version, list.Version)
	}
	return list, nil
}

// tooLarge says that a list is asked for of a version that is still to come.
func tooLarge(wanted, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// matches reports whether an object is selected. One whose internal object tells that it
// is not is not converted to find that out: kubelets select their pods so, and who waits
// for one object.
func (s *Store[T]) matches(item *storage.Object, options ListOptions) (bool, error) {
	if options.Labels.Empty() && options.Fields.Empty() {
		return true, nil
	}
	if name, byName := options.Fields.RequiresExactMatch("metadata.name"); byName && item.GetID() != name {
		return false, nil
	}
	if s.Strategy.InternalFields != nil {
		for field, value := range s.Strategy.InternalFields(item.Object) {
			if wanted, byField := options.Fields.RequiresExactMatch(field); byField && wanted != value {
				return false, nil
			}
		}
	}
	if s.Labelled && options.Fields.Empty() {
		return options.Labels.Matches(labels.Set(item.GetLabels())), nil
	}
	object, err := s.versioned(item)
	if err != nil {
		return false, err
	}
	return options.Matches(object, s.fieldsOf(object)), nil
}

// fieldsOf returns what field selectors can select an object by.
func (s *Store[T]) fieldsOf(object T) fields.Set {
	set := fields.Set{}
	if s.Strategy.Fields != nil {
		set = s.Strategy.Fields(object)
	}
	set["metadata.name"] = object.GetName()
	if s.Namespaced {
		set["metadata.namespace"] = object.GetNamespace()
	}
	return set
}

// checkFields returns an error if a selector selects by a field that it cannot select
// by.
func (s *Store[T]) checkFields(options ListOptions) error {
	if s.Strategy.Fields == nil {
		return options.OnlyName()
	}
	return options.OnlyFields(s.fieldsOf(s.New().(T)))
}

// OnlyFields returns an error if a list selects by a field that is not known.
func (o ListOptions) OnlyFields(known fields.Set) error {
	for _, requirement := range o.Fields.Requirements() {
		if !known.Has(requirement.Field) {
			return apierrors.NewBadRequest("field label not supported: " + requirement.Field)
		}
	}
	return nil
}

// OnlyName returns an error if a list selects by more than the name and the namespace.
func (o ListOptions) OnlyName() error {
	for _, requirement := range o.Fields.Requirements() {
		if _, _, err := k8sruntime.DefaultMetaV1FieldSelectorConversion(requirement.Field, requirement.Value); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	return nil
}

// Matches reports whether an object is selected that is not in a store. The fields are
// those besides its name and namespace.
func (o ListOptions) Matches(object metav1.Object, more fields.Set) bool {
	set := fields.Set{"metadata.name": object.GetName(), "metadata.namespace": object.GetNamespace()}
	maps.Copy(set, more)
	return o.Labels.Matches(labels.Set(object.GetLabels())) && o.Fields.Matches(set)
}

// equalities returns the labels that objects must carry, as far as a selector says so in
// so many words: the store looks up those that carry them.
func equalities(selector labels.Selector, labelled bool) map[string]string {
	requirements, selectable := selector.Requirements()
	if !labelled || !selectable {
		return nil
	}
	carried := map[string]string{}
	for _, requirement := range requirements {
		values := requirement.ValuesUnsorted()
		if len(values) == 1 && slices.Contains([]selection.Operator{selection.Equals, selection.DoubleEquals, selection.In}, requirement.Operator()) {
			carried[requirement.Key()] = values[0]
		}
	}
	return carried
}
