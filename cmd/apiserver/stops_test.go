package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The program is stopped under load from 16 clients, gracefully or by kill -9:
// what was answered with 200 is in etcd, and no client sees half an answer.
func TestTheProgramIsEndedUnderLoad(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "kill -9": os.Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startEtcd(t)
			cmd, log, address := program(t, "-etcd_servers", server.URL)
			var mu sync.Mutex // guards acknowledged
			acknowledged := map[string]bool{}
			var count atomic.Int32
			stop := make(chan struct{})
			var group sync.WaitGroup
			transport := &http.Transport{MaxIdleConnsPerHost: 16}
			defer transport.CloseIdleConnections()
			httpClient := &http.Client{Transport: transport}
			for i := range 16 {
				group.Go(func() {
					for n := 0; ; n++ {
						select {
						case <-stop:
							return
						default:
						}
						id := fmt.Sprintf("x-%d-%d", i, n)
						resource, key := "services", "/registry/services/specs/"+id
						if i%2 == 0 { // three writes each
							resource, key = "tasks", "/registry/hosts/127.0.0.1/tasks/"+id
						}
						resp, err := httpClient.Post("http://"+address+"/api/v1beta1/"+resource, "", strings.NewReader(`{"id": "`+id+`"}`))
						if err != nil {
							continue // the program has stopped, or is about to
						}
						body, err := io.ReadAll(resp.Body)
						resp.Body.Close()
						if signal == syscall.SIGTERM {
							assert.NoError(t, err, "half an answer")
						} else if err != nil {
							assert.True(t, errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET), err)
							continue
						}
						if assert.Equal(t, http.StatusOK, resp.StatusCode, string(body)) {
							assert.True(t, json.Valid(body), string(body))
							assert.Contains(t, string(body), `"id": "`+id+`"`)
							mu.Lock()
							acknowledged[key] = true
							mu.Unlock()
							count.Add(1)
						}
					}
				})
			}
			eventually(t, func() bool { return count.Load() > 200 }, "the load runs")
			go func() {
				if signal == syscall.SIGTERM {
					log.find("terminated: finishing")
				}
				log.end()
			}()
			start := time.Now()
			require.NoError(t, cmd.Process.Signal(signal))
			err := cmd.Wait()
			close(stop)
			group.Wait()
			if signal == syscall.SIGTERM {
				assert.NoError(t, err, "exit 0")
				assert.Less(t, time.Since(start), drainTimeout)
			}
			stored := keysIn(t, server.URL, "/registry")
			for key := range acknowledged {
				assert.Contains(t, stored, key)
			}
			if signal == syscall.SIGTERM {
				assert.Empty(t, outOfLine(t, server.URL), "nothing was left half done")
				return
			}
			_, nextLog, _ := program(t, "-etcd_servers", server.URL)
			go nextLog.end()
			require.Eventually(t, func() bool { return outOfLine(t, server.URL) == "" }, time.Minute, 100*time.Millisecond, "the next one mends what was half done")
		})
	}
}
