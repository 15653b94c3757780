package storage

import (
	"strings"

	"kube2014/pkg/api"
)

// Selection selects objects of one kind. An empty field selects all.
type Selection struct {
	Kind      api.Kind
	Namespace string
	Labels    map[string]string // the object must have all of them
	Machine   string            // of an api.Placed object
}

// InDefault selects the objects of a kind in the namespace default, or all nodes, which have no namespace.
func InDefault(kind api.Kind) Selection {
	return Selection{Kind: kind, Namespace: api.DefaultKey(kind, "").Namespace}
}

// With returns a selection that also requires labels.
func (s Selection) With(labels map[string]string) Selection {
	s.Labels = labels
	return s
}

// Includes reports whether the selection includes an object of its kind; false for nil.
func (s Selection) Includes(object *Object) bool {
	if object == nil || (s.Namespace != "" && object.Key().Namespace != s.Namespace) {
		return false
	}
	return (s.Machine == "" || MachineOf(object) == s.Machine) && Carries(object.GetLabels(), s.Labels)
}

// MachineOf returns the machine that runs an object, which may be nil, "" for none.
func MachineOf(object *Object) string {
	if object != nil {
		if placed, ok := object.Object.(api.Placed); ok {
			return placed.Machine()
		}
	}
	return ""
}

// ListInWords describes a list, for example "list tasks", for errors.
func ListInWords(kind api.Kind) string {
	if strings.Contains(string(kind), ".") { // a resource and its group
		return "list " + string(kind)
	}
	return "list " + strings.TrimSuffix(string(kind), "s") + "s"
}

// Carries reports whether labels includes all labels of the query.
func Carries(labels, query map[string]string) bool {
	for key, value := range query {
		if own, ok := labels[key]; !ok || own != value {
			return false
		}
	}
	return true
}
