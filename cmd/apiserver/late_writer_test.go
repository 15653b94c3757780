package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pieces remembers each piece that is written to it.
type pieces struct {
	mu  sync.Mutex // guards all
	all []string
}

func (p *pieces) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, string(text))
	return len(text), nil
}

func (p *pieces) written() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

func TestTheLogIsWrittenTogetherAndSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &pieces{}
		writer := &lateWriter{out: out}
		for range 2 {
			fmt.Fprint(writer, "one\n")
			fmt.Fprint(writer, "two\n")
			time.Sleep(2 * lateness)
		}
		assert.Equal(t, []string{"one\ntwo\n", "one\ntwo\n"}, out.written())
		fmt.Fprint(writer, "last\n")
		writer.flush()
		assert.Equal(t, "last\n", out.written()[2])
		time.Sleep(2 * lateness)
		assert.Len(t, out.written(), 3)
	})
}

// The bubble's clock stands still while the test runs, so no flush is due.
func TestTheLogIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &pieces{}
		writer := &lateWriter{out: out}
		line := strings.Repeat("x", 1000) + "\n"
		for range 2 * maxPending / len(line) {
			io.WriteString(writer, line)
			require.Less(t, len(writer.pending), maxPending)
		}
		assert.Len(t, out.written(), 1)
	})
}

// Eight goroutines write at once; every other one also flushes after each line.
func TestTheLogKeepsItsOrder(t *testing.T) {
	t.Parallel()
	const writers, lines = 8, 500
	line := func(id, number int) string {
		return fmt.Sprintf("%d: %d %s\n", id, number, strings.Repeat("x", 1000))
	}
	var out bytes.Buffer
	writer := &lateWriter{out: &out}
	var group sync.WaitGroup
	for id := range writers {
		group.Go(func() {
			for number := range lines {
				io.WriteString(writer, line(id, number))
				if id%2 == 0 {
					writer.flush()
				}
			}
		})
	}
	group.Wait()
	writer.flush()
	writer.mu.Lock()
	defer writer.mu.Unlock()
	var next [writers]int // the number of each writer's next line
	for got := range strings.Lines(out.String()) {
		id := int(got[0] - '0')
		require.Equal(t, line(id, next[id]), got)
		next[id]++
	}
	for id := range writers {
		assert.Equal(t, lines, next[id], "the lines of writer %d", id)
	}
}
