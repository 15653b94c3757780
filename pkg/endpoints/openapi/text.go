package openapi

import (
	"sync"
	"time"
	"weak"
)

// keptFor is how long a text is kept after it was read: all of them are some megabytes, and clients keep what they read.
const keptFor = 5 * time.Minute

// text is the text of a document. It is made when it is read, and forgotten when nobody has read it for a while. Its methods
// may be called from several goroutines.
type text struct {
	make func() ([]byte, error)

	mu     sync.Mutex
	body   []byte      // nil if it must be made
	forget *time.Timer // nil before the first get
}

func newText(make func() ([]byte, error)) *text { return &text{make: make} }

func (t *text) get() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.body == nil {
		body, err := t.make()
		if err != nil {
			return nil, err
		}
		t.body = body
	}
	if t.forget == nil {
		self := weak.Make(t) // the timer does not keep the documents of a catalog that has changed
		t.forget = time.AfterFunc(keptFor, func() {
			if t := self.Value(); t != nil {
				t.drop()
			}
		})
	} else {
		t.forget.Reset(keptFor)
	}
	return t.body, nil
}

func (t *text) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.body = nil
}
