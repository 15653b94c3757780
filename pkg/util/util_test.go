package util

import (
	"bytes"
	"log"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// untilGoexit runs Forever until f ends its goroutine. In a synctest bubble the
// periods take no time.
func untilGoexit(f func(), period time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		Forever(f, period)
	}()
	<-done
}

func TestForeverCallsAtOnceAndThenOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const period = 5 * time.Hour
		start := time.Now()
		var at []time.Duration
		untilGoexit(func() {
			at = append(at, time.Since(start))
			if len(at) == 3 {
				runtime.Goexit()
			}
		}, period)
		assert.Equal(t, []time.Duration{0, period, 2 * period}, at)
	})
}

func TestForeverGoesOnAfterAPanicAndLogsItsStack(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		untilGoexit(func() {
			if calls++; calls == 2 {
				runtime.Goexit()
			}
			panicOnPurpose()
		}, time.Hour)
		assert.Equal(t, 2, calls)
	})
	assert.Contains(t, logged.String(), "panic: on purpose")
	assert.Contains(t, logged.String(), "panicOnPurpose", "the stack names the function")
}

func panicOnPurpose() { panic("on purpose") }

func TestHandleCrashIsSilentWithoutAPanic(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	func() { defer HandleCrash() }()
	assert.Empty(t, logged.String())
}

func TestMakeJSONStringIsCompactJSON(t *testing.T) {
	assert.Equal(t, `{"a":[1,null]}`, MakeJSONString(map[string]interface{}{"a": []interface{}{1, nil}}))
	assert.Panics(t, func() { MakeJSONString(make(chan int)) })
}
