// Package util has the helpers that the programs of the original share: an
// endless loop, recovery from panics, JSON texts, and a flag of many values.
package util

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"runtime/debug"
	"slices"
	"time"
)

// HandleCrash recovers from a panic of the function that defers it, and logs the
// panic with its stack.
func HandleCrash() {
	if r := recover(); r != nil {
		log.Printf("panic: %v\n%s", r, debug.Stack())
	}
}

// Forever calls f, waits for the period, and repeats. A panic in f is logged and
// the loop continues. Run it in its own goroutine, which f can end with
// runtime.Goexit.
func Forever(f func(), period time.Duration) {
	for {
		func() {
			defer HandleCrash()
			f()
		}()
		time.Sleep(period)
	}
}

// Find returns the first element of a list that a function accepts, nil if there is none.
func Find[T any](list []T, accepts func(T) bool) *T {
	if i := slices.IndexFunc(list, accepts); i >= 0 {
		return &list[i]
	}
	return nil
}

// Sleep waits until the pause is over or the context ends. It reports whether the context is
// still alive.
func Sleep(ctx context.Context, pause time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pause):
		return true
	}
}

// MakeJSONString returns the compact JSON of a value. It panics on a value that
// has none, such as a channel. The wire types always have one.
func MakeJSONString(value interface{}) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// SystemError returns the system's own error, without the call and the addresses that Go puts
// before it. Any other error is returned as it is.
func SystemError(err error) error {
	if refused, ok := errors.AsType[*os.SyscallError](err); ok {
		return refused.Err
	}
	return err
}
