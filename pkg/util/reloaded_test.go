package util

import (
	"bytes"
	"errors"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// text is a file whose times are those of the bubble.
type text struct {
	*testing.T
	path  string
	reads int
}

func newText(t *testing.T, content string) *text {
	file := &text{t, filepath.Join(t.TempDir(), "file"), 0}
	file.write(content, time.Now())
	return file
}

func (f *text) write(content string, at time.Time) {
	require.NoError(f, os.WriteFile(f.path, []byte(content), 0o600))
	require.NoError(f, os.Chtimes(f.path, at, at))
}

func (f *text) read() (string, error) {
	f.reads++
	content, err := os.ReadFile(f.path)
	if err == nil && strings.HasPrefix(string(content), "broken") {
		err = errors.New("it is " + string(content))
	}
	return string(content), err
}

func (f *text) reloaded() *Reloaded[string] {
	value, err := Reload("-some_flag", f.read, f.path)
	require.NoError(f, err)
	return value
}

func TestAChangeIsSeenWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := newText(t, "one")
		value := file.reloaded()
		time.Sleep(time.Hour)
		assert.Equal(t, "one", value.Get())
		file.write("two", time.Now())
		time.Sleep(reloadPeriod)
		assert.Equal(t, "two", value.Get())
	})
}

func TestAFileThatStaysIsNotReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := newText(t, "one")
		time.Sleep(settled)
		value := file.reloaded()
		for range 100 {
			time.Sleep(reloadPeriod / 3)
			assert.Equal(t, "one", value.Get())
		}
		assert.Equal(t, 1, file.reads)
	})
}

// The second write leaves the size, the time and the file as they were.
func TestTwoWritesAtTheSameTimeAreBothSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := newText(t, "one")
		now := time.Now()
		value := file.reloaded()
		file.write("two", now)
		time.Sleep(reloadPeriod)
		assert.Equal(t, "two", value.Get())
		for range 10 {
			time.Sleep(reloadPeriod)
			value.Get()
		}
		assert.LessOrEqual(t, file.reads, 4, "it is settled after two seconds")
	})
}

func TestAFileInPlaceOfAnotherIsSeenByNothingButItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := newText(t, "one")
		long, written := time.Hour, time.Now()
		time.Sleep(long)
		value := file.reloaded()
		other := newText(t, "two")
		require.NoError(t, os.Chtimes(other.path, written, written))
		require.NoError(t, os.Rename(other.path, file.path))
		time.Sleep(reloadPeriod)
		assert.Equal(t, "two", value.Get())
	})
}

func TestOfTwoFilesEitherMayChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one, two := newText(t, "1"), newText(t, "2")
		time.Sleep(time.Hour)
		value, err := Reload("-two", func() (string, error) {
			first, err := one.read()
			second, err2 := two.read()
			return first + second, errors.Join(err, err2)
		}, one.path, two.path)
		require.NoError(t, err)
		two.write("3", time.Now())
		time.Sleep(reloadPeriod)
		assert.Equal(t, "13", value.Get())
		one.write("2", time.Now())
		time.Sleep(reloadPeriod)
		assert.Equal(t, "23", value.Get())
	})
}

func TestTheFirstErrorIsThatOfReload(t *testing.T) {
	t.Parallel()
	_, err := Reload("-some_flag", func() (int, error) { return 0, errors.New("no") }, "/nowhere")
	assert.EqualError(t, err, "no")
}

func TestABrokenEditKeepsTheOldValueAndIsLoggedOnce(t *testing.T) { // not parallel, for the log is everybody's
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	synctest.Test(t, func(t *testing.T) {
		file := newText(t, "one")
		value := file.reloaded()
		after := func(change func()) string {
			change()
			time.Sleep(reloadPeriod)
			got := value.Get()
			time.Sleep(reloadPeriod)
			assert.Equal(t, got, value.Get())
			return got
		}
		assert.Equal(t, "one", after(func() { file.write("broken", time.Now()) }))
		assert.Equal(t, 1, strings.Count(lines.String(), "-some_flag cannot be read again, so what was read before stays: it is broken\n"))
		assert.Equal(t, "one", after(func() { file.write("broken again", time.Now()) }))
		assert.Equal(t, 1, strings.Count(lines.String(), "it is broken again\n"))
		assert.Equal(t, "one", after(func() { require.NoError(t, os.Remove(file.path)) }))
		assert.Equal(t, 3, strings.Count(lines.String(), "\n"), lines.String())
		assert.Equal(t, "two", after(func() { file.write("two", time.Now()) }))
		assert.Equal(t, "two", after(func() { file.write("broken again", time.Now()) }))
		assert.Equal(t, 4, strings.Count(lines.String(), "\n"), "it is told again: %s", lines.String())
	})
}

// Such as a file whose permissions were wrong, which do not count as a change.
func TestWhatCouldNotBeReadIsTriedAgainWithoutAChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := newText(t, "one")
		var problem error
		value, err := Reload("-some_flag", func() (string, error) {
			content, _ := file.read()
			return content, problem
		}, file.path)
		require.NoError(t, err)
		problem = errors.New("no permission")
		file.write("two", time.Now())
		for range 10 {
			time.Sleep(reloadPeriod)
			assert.Equal(t, "one", value.Get())
		}
		problem = nil
		time.Sleep(reloadPeriod)
		assert.Equal(t, "two", value.Get())
	})
}

func TestNobodyWaitsWhileAnotherOneReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := newText(t, "one")
		reads := 0
		value, err := Reload("-slow", func() (string, error) {
			reads++
			time.Sleep(time.Minute)
			return file.read()
		}, file.path)
		require.NoError(t, err)
		file.write("two", time.Now())
		time.Sleep(reloadPeriod)
		var all sync.WaitGroup
		all.Go(func() { assert.Equal(t, "two", value.Get()) })
		synctest.Wait()
		for range 10 {
			all.Go(func() {
				start := time.Now()
				assert.Equal(t, "one", value.Get())
				assert.Zero(t, time.Since(start))
			})
		}
		all.Wait()
		assert.Equal(t, 2, reads)
	})
}
