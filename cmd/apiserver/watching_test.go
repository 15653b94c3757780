package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// event is one event of a watch.
type event struct {
	Type   string
	Object json.RawMessage // as it was sent
	about  metav1.PartialObjectMetadata
}

func (e event) String() string { return e.Type + " " + string(e.Object) }

// inShort tells an event without the object's contents.
func (e event) inShort() string { return fmt.Sprint(e.Type, " ", e.about.Name) }

func (e event) version() uint64 {
	version, _ := strconv.ParseUint(e.about.ResourceVersion, 10, 64) // a server's own number
	return version
}

// watcher reads a watch over HTTP.
type watcher struct {
	t      *testing.T
	body   io.ReadCloser
	reader *bufio.Reader
}

// patient is a client that takes for an error only what hangs.
var patient = &http.Client{Timeout: hangs, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}

// openWatch begins a watch, which the server accepts.
func openWatch(t *testing.T, client *http.Client, url string) *watcher {
	w, err := tryWatch(client, url)
	require.NoError(t, err)
	w.t = t
	t.Cleanup(func() { w.body.Close() })
	return w
}

// tryWatch is openWatch for other goroutines than the test's.
func tryWatch(client *http.Client, url string) (*watcher, error) {
	resp, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	w := &watcher{body: resp.Body, reader: bufio.NewReader(resp.Body)}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("%s: %s: %s %v", url, resp.Status, text, err)
	}
	return w, nil
}

// read returns the next event; io.EOF says that the server has ended the watch.
func (w *watcher) read() (e event, err error) {
	line, err := w.reader.ReadBytes('\n')
	if err != nil {
		if err == io.EOF && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return e, err
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("%s: %w", line, err)
	}
	return e, json.Unmarshal(e.Object, &e.about)
}

// next returns the next event.
func (w *watcher) next() event {
	w.t.Helper()
	e, err := w.read()
	require.NoError(w.t, err)
	return e
}

// tells requires the next events, in short.
func (w *watcher) tells(wanted ...string) {
	w.t.Helper()
	for _, want := range wanted {
		require.Equal(w.t, want, w.next().inShort())
	}
}

// ends requires that the server ends the watch, with its last chunk.
func (w *watcher) ends() {
	w.t.Helper()
	e, err := w.read()
	require.Equal(w.t, io.EOF, err, "%v", e)
}

// until returns all events up to one that is the last one to be read.
func (w *watcher) until(last func(event) bool) (all []event, err error) {
	for {
		e, err := w.read()
		if err != nil {
			return all, fmt.Errorf("after %d events: %w", len(all), err)
		}
		if all = append(all, e); last(e) {
			return all, nil
		}
	}
}

// listen serves the doors on a free port, however slow the clients are. Changes of other
// programs are followed.
func (d *doors) listen() (url string) {
	d.Today.WriteTimeout = hangs
	server := httptest.NewUnstartedServer(nil)
	server.Config = &http.Server{Handler: d.handler, ReadTimeout: hangs, WriteTimeout: hangs}
	server.Start()
	d.t.Cleanup(server.Close)
	d.t.Cleanup(d.Today.EndWatches)
	if d.Stores.Follow != nil {
		go d.Stores.Follow(d.t.Context())
	}
	return server.URL
}

// version returns that of the store.
func (d *doors) version() uint64 {
	version, err := d.Stores.Objects.Version()
	require.NoError(d.t, err)
	return version
}

// watchersVariable says how many watch at once, and that nothing else runs meanwhile.
const watchersVariable = "KUBE2014_WATCHERS"

// checkSoon checks that something took less than a second, unless other tests may run meanwhile.
func checkSoon(t *testing.T, took time.Duration, what string) {
	t.Helper()
	if os.Getenv(watchersVariable) != "" {
		assert.Less(t, took, time.Second, what)
	}
}

// manyWatchers is how many watch at once: KUBE2014_WATCHERS, or few.
func manyWatchers(t *testing.T) int {
	n := 100
	if text := os.Getenv(watchersVariable); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	return n
}

func TestAnEventIsReadAsItWasSent(t *testing.T) {
	t.Parallel()
	read := func(text string) (event, error) {
		return (&watcher{reader: bufio.NewReader(strings.NewReader(text))}).read()
	}
	e, err := read(`{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"7"}}}` + "\n")
	require.NoError(t, err)
	assert.Equal(t, "ADDED x", e.inShort())
	assert.EqualValues(t, 7, e.version())
	_, err = read("")
	assert.Equal(t, io.EOF, err)
	_, err = read(`{"type":`)
	assert.Equal(t, io.ErrUnexpectedEOF, err)
}
