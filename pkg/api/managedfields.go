package api

// ManagedFields say which manager owns which fields of an object, as v1 has them. They are nil for an object that v1 has not
// written yet: all of its fields are its creator's. They are read-only.
type ManagedFields []ManagedFieldsEntry

// ManagedFieldsEntry has the fields that one manager owns by one operation.
type ManagedFieldsEntry struct {
	Of   *Manager
	Time int64 // when the manager last changed them, in Unix seconds; 0 if it is unknown
}

// Manager is an entry of managed fields without its time. It is read-only: most objects that one program has made share it.
type Manager struct {
	Name, Operation, APIVersion, Subresource string
	Fields                                   string // JSON
}

// Same reports whether two objects have the same managers of the same fields, whenever those changed them.
func (m ManagedFields) Same(as ManagedFields) bool {
	if len(m) != len(as) {
		return false
	}
	for i := range m {
		if m[i].Of != as[i].Of && *m[i].Of != *as[i].Of {
			return false
		}
	}
	return true
}
