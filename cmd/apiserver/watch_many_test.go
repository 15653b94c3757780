package main

import (
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sum reads so many events, and returns a sum of their text.
func (w *watcher) sum(events int) (uint64, error) {
	sum := fnv.New64a()
	for range events {
		line, err := w.reader.ReadBytes('\n')
		if err != nil {
			return 0, err
		}
		_, _ = sum.Write(line) // it never fails
	}
	return sum.Sum64(), nil
}

// writeServices makes a number of changes of one service, alternately through both doors,
// and returns the events that follow from them, in short.
func writeServices(url, name string, changes int) (told []string, err error) {
	for i := range changes {
		method, path, body, event := "PUT", "/api/v1beta1/services/"+name, fmt.Sprintf(`{"id":%q,"port":%d}`, name, 1+i), "MODIFIED"
		switch {
		case i%10 == 0:
			method, path, event = "POST", "/api/v1beta1/services", "ADDED"
		case i%10 == 9:
			method, path, body, event = "DELETE", todaysServices+"/"+name, "", "DELETED"
		case i%2 == 1:
			method, path, body = "PATCH", todaysServices+"/"+name, fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, i)
		}
		req, err := http.NewRequest(method, url+path, strings.NewReader(body))
		if err != nil {
			return told, err
		}
		req.Header.Set("Content-Type", mergePatch)
		resp, err := patient.Do(req)
		if err != nil {
			return told, err
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode >= 300 {
			return told, fmt.Errorf("%s %s: %s %s %w", method, path, resp.Status, text, err)
		}
		told = append(told, event+" "+name)
	}
	return told, nil
}

// KUBE2014_WATCHERS watch five times as many changes: each is told all of them, in one
// order. Then SIGTERM ends all watches with their last chunk, and the program: within a
// second, which is checked only if the number is given.
func TestManyWatchersAreToldAllInOneOrderAndEndedAtOnce(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			cmd, log, address := unhurriedProgram(t, flags(t)...)
			logged := make(chan string)
			go func() { logged <- log.rest() }()
			const writers = 4
			url, n := "http://"+address, manyWatchers(t)
			each := 5 * n / writers
			var watchers []*watcher
			for range n {
				watchers = append(watchers, openWatch(t, patient, url+"/api/v1/services?watch=1"))
			}
			began := time.Now()
			own := make([][]string, writers)
			var writing, watching sync.WaitGroup
			for i := range writers {
				writing.Go(func() {
					var err error
					own[i], err = writeServices(url, fmt.Sprint("s-", i), each)
					assert.NoError(t, err)
				})
			}
			sums := make([]uint64, n)
			for i, w := range watchers[1:] {
				watching.Go(func() {
					var err error
					sums[i+1], err = w.sum(writers * each)
					assert.NoError(t, err)
				})
			}
			inOrder, sum := make([][]string, writers), fnv.New64a()
			last := uint64(0)
			for range writers * each {
				e := watchers[0].next()
				require.Greater(t, e.version(), last)
				last = e.version()
				fmt.Fprintf(sum, "{\"type\":%q,\"object\":%s}\n", e.Type, e.Object)
				writer := e.about.Name[2] - '0'
				inOrder[writer] = append(inOrder[writer], e.inShort())
			}
			writing.Wait()
			assert.Equal(t, own, inOrder)
			watching.Wait()
			for i := range watchers[1:] {
				assert.Equal(t, sum.Sum64(), sums[i+1], "the events of watcher %d, byte for byte", i+1)
			}
			t.Logf("%d watchers were told %d changes in %v", n, writers*each, time.Since(began))

			began = time.Now()
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			for _, w := range watchers {
				w.ends()
			}
			text := <-logged
			took := time.Since(began)
			assert.NoError(t, cmd.Wait(), "exit 0")
			assert.Contains(t, text, "terminated: finishing the requests in flight")
			assert.NotContains(t, text, "cut off")
			assert.Equal(t, n, strings.Count(text, "GET /api/v1/services?watch=1 200 "))
			t.Logf("SIGTERM ended the program in %v", took)
			checkSoon(t, took, "SIGTERM")
		})
	}
}
