package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
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

func TestTheLogKeepsItsOrderAndIsBounded(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	writer := &lateWriter{out: &out}
	line := strings.Repeat("x", 1000) + "\n"
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 500 {
				fmt.Fprint(writer, line)
				writer.mu.Lock()
				assert.Less(t, len(writer.pending), maxPending+8*len(line))
				writer.mu.Unlock()
			}
		})
	}
	group.Wait()
	writer.flush()
	writer.writing.Lock()
	defer writer.writing.Unlock()
	assert.Equal(t, strings.Repeat(line, 4000), out.String())
}
