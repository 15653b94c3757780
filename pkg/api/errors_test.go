package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestErrorTextIsWords(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		err  error
		kind ErrorKind
		text string
	}{
		"a missing object":         {NewNotFound("task", "web-1"), NotFound, `task "web-1" does not exist`},
		"an id that is taken":      {NewAlreadyExists("service", "s1"), AlreadyExists, `service "s1" already exists`},
		"a field out of range":     {NewInvalid("desiredState.replicas", "%d is negative", -1), Invalid, "desiredState.replicas: -1 is negative"},
		"a conflict":               {NewConflict("no machine for %s", "web-1"), Conflict, "no machine for web-1"},
		"a host port in use":       {NewHostPortTaken("b", 80, "m1", "a"), HostPortTaken, `task "b" needs host port 80, but on machine m1 task "a" has it`},
		"a store out of reach":     {NewUnavailable("list tasks", errors.New("dial tcp")), Unavailable, "list tasks: the store cannot be reached"},
		"an error of another kind": {errors.New("boom"), Internal, "boom"},
		"an error inside another":  {fmt.Errorf("sync: %w", NewNotFound("task", "x")), NotFound, `sync: task "x" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.kind, KindOf(row.err))
			assert.Equal(t, row.text, row.err.Error())
		})
	}
}

func TestNilHasNoKind(t *testing.T) {
	t.Parallel()
	assert.Empty(t, KindOf(nil))
}

func TestUnavailableKeepsItsCauseForLogs(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp")
	err := NewUnavailable("list tasks", cause)
	assert.ErrorIs(t, err, cause)
	assert.Equal(t, "sync: list tasks: the store cannot be reached: dial tcp", InFull(fmt.Errorf("sync: %w", err)))
	assert.Equal(t, "boom", InFull(errors.New("boom")))
}

func TestAnErrorSurvivesItsLineOfText(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status ErrorKind // what a client learns from the status
		err    error
	}{
		"not found":      {NotFound, NewNotFound("task", "web-1")},
		"already exists": {Conflict, NewAlreadyExists("task", "web-1")},
		"conflict":       {Conflict, NewConflict("no machine has the host ports of task %s free", Quote("x"))},
		"invalid":        {Invalid, NewInvalid("labels", "%s is not of the form key=value", Quote("a: b"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.err, ParseError(row.status, row.err.Error()))
		})
	}
}

func TestQuoteMakesAnyValueShortAndOneLine(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `"web-1"`, Quote("web-1"))
	assert.Equal(t, `"a\nb\u00e9\xff"`, Quote("a\nbé\xff"))
	assert.Less(t, len(Quote(strings.Repeat("\x00", 1<<20))), 300)
}
