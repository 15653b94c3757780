package api

// Any is an object of a kind that June 2014 does not know. Its remainder has all but its
// metadata.
type Any struct {
	Kind Kind
	ID   string
	ObjectMeta
	Labels map[string]string
}

// Key implements Object.
func (a *Any) Key() Key { return Key{a.Kind, a.Namespace, a.ID} }

// GetLabels implements Object.
func (a *Any) GetLabels() map[string]string { return a.Labels }

// SetLabels implements Object.
func (a *Any) SetLabels(labels map[string]string) { a.Labels = labels }

// SetID sets the id.
func (a *Any) SetID(id string) { a.ID = id }
