package registry

import (
	"sync"
	"time"

	"kube2014/pkg/conversion"
)

// textAge is the least time that the unused JSON of a list is kept.
const textAge = time.Minute

// listTexts drops the JSON of lists when they are no longer requested: it is
// three times as large as the tasks.
type listTexts struct {
	sweep func() bool // drops what was not used since the last call; false when nothing is left

	mu       sync.Mutex // guards sweeping
	sweeping bool       // a sweep will come
}

// encode returns the JSON of a list. Only that of all tasks is kept.
func (t *listTexts) encode(tasks taskRuns, query map[string]string) conversion.Encoded {
	if len(query) > 0 {
		return tasks.encoded(false)
	}
	t.keep()
	return tasks.encoded(true)
}

// keep schedules a sweep, unless there is one. Call it before texts are made.
func (t *listTexts) keep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.sweeping {
		t.sweeping = true
		time.AfterFunc(textAge, t.run)
	}
}

func (t *listTexts) run() {
	t.mu.Lock()
	t.sweeping = false
	t.mu.Unlock()
	if t.sweep() {
		t.keep()
	}
}
