package registry

import (
	"context"
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/watch"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// List implements rest.Lister. It stops when the context ends.
func (s *Store[T]) List(ctx context.Context, namespace string, options rest.ListOptions) (*rest.List, error) {
	page, err := s.page(namespace, options)
	if err != nil {
		return nil, err
	}
	all, err := s.read(page, s.selection(namespace, options))
	if err != nil {
		return nil, err
	}
	list := &rest.List{Kind: s.row.Kind, ListKind: s.row.Untyped.ListKind, Codec: s.Codec, ListMeta: v1.ListMeta{Version: all.Version, Untyped: s.row.Untyped.ListKind != ""}}
	if options.ResourceVersion == "0" && !page.continued {
		options.Limit = 0 // today's server answers such a list from its cache, whole
	}
	if s.row.Untyped.Prepare != nil {
		if err := s.row.Untyped.Prepare(ctx, all.Items); err != nil {
			return nil, rest.StatusError(err, s.resource, "")
		}
	}
	isSelected := s.filter(options)
	first := sort.Search(len(all.Items), func(i int) bool { return !page.isAfter(all.Items[i].Key()) })
	for i, item := range all.Items[first:] {
		if err := rest.CheckTime(ctx); err != nil {
			return nil, err
		}
		wanted, err := isSelected(item)
		if err != nil {
			return nil, err
		}
		if !wanted {
			continue
		}
		// A page does not end between two tasks with the same id, which other programs may have stored.
		if n := len(list.Items); options.Limit > 0 && int64(n) >= options.Limit && item.Key() != list.Items[n-1].Key() {
			list.Continue = tokenFor(int64(all.Version), page.textOf(item.Key()))
			if options.Labels.Empty() && options.Fields.Empty() {
				list.Remaining = int64(len(all.Items) - first - i)
			}
			break
		}
		list.Items = append(list.Items, item)
	}
	return list, nil
}

// selection returns the part of a list's options that the store has indexes for.
func (s *Store[T]) selection(namespace string, options rest.ListOptions) storage.Selection {
	selection := storage.Selection{Kind: s.row.StoredKind, Namespace: namespace, Labels: equalities(options.Labels, s.labelled())}
	if selected, is := options.Fields.RequiresExactMatch("metadata.namespace"); is && namespace == "" && s.row.Namespaced {
		selection.Namespace = selected
	}
	selection.Machine, _ = s.machine(options)
	return selection
}

// machine returns the machine that a list selects. It may be "", which selects objects without a machine.
func (s *Store[T]) machine(options rest.ListOptions) (name string, selected bool) {
	if s.Strategy.MachineField == "" {
		return "", false
	}
	return options.Fields.RequiresExactMatch(s.Strategy.MachineField)
}

// read returns the objects of the version of a page.
func (s *Store[T]) read(page page, selection storage.Selection) (*storage.List, error) {
	if !page.exact {
		list, err := rest.ReadNew(s.Objects, selection, page.version, page.mayBeStale)
		return list, rest.StatusError(err, s.resource, "")
	}
	list, err := s.Objects.ListAt(selection, page.version)
	if api.KindOf(err) == api.Expired {
		if current, err := s.Objects.Version(); err == nil && current < page.version {
			return nil, rest.TooLarge(page.version, current)
		}
		return nil, page.expired()
	}
	return list, rest.StatusError(err, s.resource, "")
}

// filter returns a function that reports whether an object is selected. If possible, it decides without
// converting the object: kubelets select their pods, and other clients wait for one object.
func (s *Store[T]) filter(options rest.ListOptions) func(item *storage.Object) (bool, error) {
	requirements := options.Fields.Requirements()
	return func(item *storage.Object) (bool, error) {
		if options.Labels.Empty() && len(requirements) == 0 {
			return true, nil
		}
		more := false // fields that only the converted object has
		for _, wanted := range requirements {
			var value string
			switch placed, ok := item.Object.(api.Placed); {
			case wanted.Field == "metadata.name":
				value = item.Key().ID
			case wanted.Field == "metadata.namespace":
				value = item.Key().Namespace
			case wanted.Field == s.Strategy.MachineField && ok:
				value = placed.Machine()
			default:
				more = true
				continue
			}
			if (value == wanted.Value) != (wanted.Operator != selection.NotEquals) {
				return false, nil
			}
		}
		if s.labelled() && !more {
			return options.Labels.Matches(labels.Set(item.GetLabels())), nil
		}
		read, err := s.answer(item).Object() // it may share memory with the stored object
		if err != nil {
			return false, err
		}
		object := read.(T)
		return options.Matches(object, s.fieldsOf(object)), nil
	}
}

// fieldsOf returns the fields of an object for selectors.
func (s *Store[T]) fieldsOf(object T) fields.Set {
	set := fields.Set{}
	if s.Strategy.Fields != nil {
		set = s.Strategy.Fields(object)
	}
	set["metadata.name"] = object.GetName()
	if s.row.Namespaced {
		set["metadata.namespace"] = object.GetNamespace()
	}
	return set
}

// checkFields returns an error if a selector has an unknown field.
func (s *Store[T]) checkFields(options rest.ListOptions) error {
	if s.Strategy.Fields == nil {
		return options.OnlyName()
	}
	return options.OnlyFields(s.fieldsOf(s.New().(T)))
}

// equalities returns the labels that a selector requires exactly: the store has an index of them.
func equalities(selector labels.Selector, labelled bool) map[string]string {
	requirements, selectable := selector.Requirements()
	if !labelled || !selectable {
		return nil
	}
	required := map[string]string{}
	for _, requirement := range requirements {
		values := requirement.ValuesUnsorted()
		if len(values) == 1 && slices.Contains([]selection.Operator{selection.Equals, selection.DoubleEquals, selection.In}, requirement.Operator()) {
			required[requirement.Key()] = values[0]
		}
	}
	return required
}

// Watch implements rest.Watcher.
func (s *Store[T]) Watch(_ context.Context, namespace string, options rest.WatchOptions) (*rest.Watch, error) {
	if err := s.checkFields(options.ListOptions); err != nil {
		return nil, err
	}
	w, err := rest.BeginWatch(s.Objects, s.selection(namespace, options.ListOptions), options)
	if err != nil {
		return nil, rest.StatusError(err, s.resource, "")
	}
	w.New = func() rest.Object { return s.empty() }
	w.Prepare = s.row.Untyped.Prepare
	isSelected := s.filter(options.ListOptions)
	w.Translate = func(into []rest.Event, change storage.Event) ([]rest.Event, error) {
		eventType, object, err := selects(change, isSelected)
		if err != nil || object == nil {
			return into, err
		}
		return append(into, rest.Event{Type: eventType, Object: rest.StoredAnswer(s.Codec, object)}), nil
	}
	return w, nil
}

// selects returns the type and the object of the event for a change, nil for no event. An object may enter
// or leave the selection: if it leaves, the event has its last selected state, at the version of the
// change.
func selects(change storage.Event, isSelected func(*storage.Object) (bool, error)) (_ watch.EventType, _ *storage.Object, err error) {
	var was, is bool
	if change.Before != nil {
		was, err = isSelected(change.Before)
	}
	if err == nil && change.After != nil {
		is, err = isSelected(change.After)
	}
	switch {
	case err != nil:
		return "", nil, err
	case is && was:
		return watch.Modified, change.After, nil
	case is:
		return watch.Added, change.After, nil
	case was:
		return watch.Deleted, change.Last(), nil
	}
	return "", nil, nil
}
