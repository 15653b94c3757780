package measure

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWhatWasStartedIsEndedWithTheRunTheLatestFirst(t *testing.T) {
	t.Parallel()
	var ended []string
	at := func(r *Run, name string) { r.AtEnd(func() { ended = append(ended, name) }) }
	failed := errors.New("failed")
	var run *Run
	err := Within(time.Hour, func(r *Run) error {
		run = r
		assert.DirExists(t, r.Dir)
		at(r, "a")
		r.Close()
		at(r, "b")
		at(r, "c")
		return failed
	})
	assert.Equal(t, failed, err)
	assert.Equal(t, []string{"a", "c", "b"}, ended)
	assert.NoDirExists(t, run.Dir)
	at(run, "late")
	assert.Equal(t, []string{"a", "c", "b", "late"}, ended, "at once")
}
