package hollow

import (
	"sync"
	"time"

	"kube2014/pkg/kubelet/cri"
)

const (
	// What a log has of lines and bytes at most: the newest. A longer line is cut.
	maxLogLines = 1000
	maxLogBytes = 64 << 10
	maxLine     = 16 << 10
)

// logBuffer is a container's log. It is safe for concurrent use.
type logBuffer struct {
	mu     sync.Mutex // guards what follows
	lines  []cri.LogLine
	first  int // the number of the first line
	bytes  int
	more   chan struct{} // closed when a line is added; nil if nobody waits
	closed bool
}

// add adds a line.
func (b *logBuffer) add(text string) {
	text = text[:min(len(text), maxLine)]
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.lines = append(b.lines, cri.LogLine{Time: time.Now(), Text: text})
	b.bytes += len(text)
	for len(b.lines) > maxLogLines || b.bytes > maxLogBytes {
		b.bytes -= len(b.lines[0].Text)
		b.lines[0] = cri.LogLine{} // the array stays for a while
		b.lines = b.lines[1:]
		b.first++
	}
	b.wakeLocked()
}

// close ends the log.
func (b *logBuffer) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.wakeLocked()
}

func (b *logBuffer) wakeLocked() {
	if b.more != nil {
		close(b.more)
		b.more = nil
	}
}

// read returns the lines from a number on, as cri.Container.Log does.
func (b *logBuffer) read(from int) (lines []cri.LogLine, next int, more <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next = b.first + len(b.lines)
	lines = append(lines, b.lines[min(max(from-b.first, 0), len(b.lines)):]...)
	if b.closed {
		return lines, next, nil
	}
	if b.more == nil {
		b.more = make(chan struct{})
	}
	return lines, next, b.more
}
