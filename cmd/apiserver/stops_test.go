package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	genericoptions "kube2014/pkg/server/options"
)

// posters send POSTs from 16 clients through both doors, and note the keys of what was
// answered as created.
type posters struct {
	t       *testing.T
	backend backend
	address string
	killed  bool // the program is: an answer may break off
	stop    chan struct{}
	clients sync.WaitGroup
	refused atomic.Bool // a POST was answered with 503: it may be half done

	mu           sync.Mutex // guards acknowledged
	acknowledged map[string]bool
}

// sendLoad returns when the load runs.
func sendLoad(t *testing.T, b backend, address string, killed bool) *posters {
	p := &posters{t: t, backend: b, address: address, killed: killed, stop: make(chan struct{}), acknowledged: map[string]bool{}}
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	t.Cleanup(transport.CloseIdleConnections)
	for i := range 16 {
		p.clients.Go(func() { p.send(&http.Client{Transport: transport}, i) })
	}
	eventually(t, func() bool { return len(p.known()) > 200 }, "the load runs")
	return p
}

// known returns the keys of what was answered as created until now.
func (p *posters) known() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.acknowledged))
}

func (p *posters) send(httpClient *http.Client, i int) {
	for n := 0; ; n++ {
		select {
		case <-p.stop:
			return
		default:
		}
		id := fmt.Sprintf("x-%d-%d", i, n)
		path, key := "/api/v1beta1/services", p.backend.key("/registry/services/specs/"+id)
		body, shown, created := `{"id": "`+id+`"}`, `"id": "`+id+`"`, http.StatusOK
		switch i % 3 {
		case 1: // three writes each
			path, key = "/api/v1beta1/tasks", p.backend.taskKey(id)
		case 2: // so has a pod
			path, key = todaysPods, p.backend.key("/registry/pods/"+id)
			body, shown, created = encodeAll(p.t, podNamed(id)), `"name":"`+id+`"`, http.StatusCreated
		}
		resp, err := httpClient.Post("http://"+p.address+path, "application/json", strings.NewReader(body))
		if err != nil {
			continue // the program has ended, or is about to
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		switch {
		case err != nil && p.killed:
			assert.True(p.t, errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET), err)
		case !assert.NoError(p.t, err, "half an answer"):
		case resp.StatusCode == http.StatusServiceUnavailable: // etcd is slow
			p.refused.Store(true)
		case assert.Equal(p.t, created, resp.StatusCode, string(answer)):
			assert.True(p.t, json.Valid(answer), string(answer))
			assert.Contains(p.t, string(answer), shown)
			p.mu.Lock()
			p.acknowledged[key] = true
			p.mu.Unlock()
		}
	}
}

// end stops the load and checks that what was answered as created is stored.
func (p *posters) end(etcdURL string) {
	close(p.stop)
	p.clients.Wait()
	stored := p.backend.keys(p.t, etcdURL)
	for _, key := range p.known() {
		assert.Contains(p.t, stored, key)
	}
}

// Under full load from 16 clients the program is ended, gracefully or by kill -9:
// what was answered as created is in etcd, and no client sees half an answer.
func TestTheProgramIsEndedUnderLoad(t *testing.T) {
	onBackends(t, func(t *testing.T, b backend) {
		t.Run("SIGTERM", func(t *testing.T) {
			t.Parallel()
			server := b.startOne(t)
			cmd, log, address := unhurriedProgram(t, b.flags(server.URL)...)
			p := sendLoad(t, b, address, false)
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			logged := log.rest()
			assert.NoError(t, cmd.Wait(), "exit 0")
			assert.Contains(t, logged, "terminated: finishing")
			p.end(server.URL)
			assert.True(t, p.refused.Load() || b.outOfLine(t, server.URL) == "", "nothing was left half done")
		})
		t.Run("kill -9", func(t *testing.T) {
			t.Parallel()
			server := b.startOne(t)
			cmd, log, address := program(t, b.flags(server.URL)...)
			p := sendLoad(t, b, address, true)
			require.NoError(t, cmd.Process.Kill())
			log.end()
			assert.Error(t, cmd.Wait())
			p.end(server.URL)
			if b == genericoptions.Etcd3 {
				assert.Empty(t, b.outOfLine(t, server.URL), "a transaction is not half done")
				return
			}
			_, nextLog, _ := program(t, b.flags(server.URL)...)
			go nextLog.end()
			eventually(t, func() bool { return b.outOfLine(t, server.URL) == "" }, "the next one repairs what was half done")
		})
	})
}
