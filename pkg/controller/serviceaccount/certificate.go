package serviceaccount

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"kube2014/pkg/util/pems"
)

// certificate is what pods know a server by, in PEM, "" for none. Servers of one store may have different ones. Each puts its
// own in place of another's once, when it starts: else they would replace those of each other for ever.
type certificate struct {
	text string

	mu   sync.Mutex
	told sets.Set[string] // keys of the objects in which it has been
}

func newCertificate(text string) *certificate {
	return &certificate{text: text, told: sets.New[string]()}
}

// replaces reports whether an object gets the certificate in place of what it has.
func (c *certificate) replaces(key, has string) bool {
	if has == c.text {
		return false
	}
	if _, err := pems.Certificates(key, []byte(has)); err != nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text != "" && !c.told.Has(key)
}

// note remembers that an object has the certificate, if it is this one.
func (c *certificate) note(key, has string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if has == c.text {
		c.told.Insert(key)
	}
}

// forget notes that an object is gone.
func (c *certificate) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told.Delete(key)
}
