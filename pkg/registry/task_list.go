package registry

import (
	"slices"

	"kube2014/pkg/api"
	"kube2014/pkg/conversion"
)

// tasks decodes the tasks.
func (t taskRuns) tasks() ([]api.Task, error) {
	tasks := []api.Task{}
	for entry := range t.all {
		task, err := entry.task()
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, task)
	}
	return tasks, nil
}

// addresses returns the addresses of the tasks that have one.
func (t taskRuns) addresses() []string {
	addresses := []string{}
	for entry := range t.all {
		if address := entry.address(); address != "" {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// The JSON of an api.TaskList around its items. The first item is sent without
// its comma.
const (
	listHead  = "{\n    \"items\": ["
	listTail  = "\n    ]\n}"
	emptyList = listHead + "]\n}"
)

// sendSize is about how many bytes of a list are sent at once.
const sendSize = 64 << 10

// encoded returns the JSON of the tasks' api.TaskList, which is made while it is
// sent; the text of whole runs is kept if keep is set.
func (t taskRuns) encoded(keep bool) conversion.Encoded {
	if len(t.runs) == 0 {
		return conversion.EncodedBytes([]byte(emptyList))
	}
	size := len(listHead) - 1 + len(listTail)
	for _, run := range t.runs {
		size += run.size
	}
	items := t.texts
	if !keep {
		items = func(f func([]byte) bool) { t.unfolded(size, f) }
	}
	return conversion.Encoded{Size: size, Pieces: func(send func([]byte) bool) {
		if !send([]byte(listHead)) {
			return
		}
		first := true
		for text := range items {
			if first {
				text, first = text[1:], false
			}
			if !send(text) {
				return
			}
		}
		send([]byte(listTail))
	}}
}

// texts calls f with the text of each run.
func (t taskRuns) texts(f func([]byte) bool) {
	for _, run := range t.runs {
		if !f(run.text()) {
			return
		}
	}
}

// unfolded calls f with the same text in pieces of about sendSize. They share a
// buffer, so f must not keep them. size is their length together, or more.
func (t taskRuns) unfolded(size int, f func([]byte) bool) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	text := slices.Grow((*buffer)[:0], min(size, sendSize+sendSize/4))
	for entry := range t.all {
		text = entry.appendItem(text)
		if len(text) >= sendSize {
			if !f(text) {
				return
			}
			text = text[:0]
		}
	}
	*buffer = text
	if len(text) > 0 {
		f(text)
	}
}
