package parts

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/options"
)

func TestThePartsBeginAfterTheHooks(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		end   func(p *Parts, started chan struct{})
		after time.Duration
		runs  bool
	}{
		"that have ended":              {func(_ *Parts, started chan struct{}) { close(started) }, 0, true},
		"that fail again and again":    {func(*Parts, chan struct{}) {}, partsWait, true},
		"unless the server ends first": {func(p *Parts, _ chan struct{}) { assert.NoError(t, p.Stop()) }, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, err := New(Config{Options: &options.ServerRunOptions{}, Connect: func(string) (*clientv1.Client, error) { return &clientv1.Client{HTTP: &http.Client{}}, nil }})
				require.NoError(t, err)
				var runs atomic.Bool
				began, started := time.Now(), make(chan struct{})
				p.addLoop(func(ctx context.Context) {
					runs.Store(ctx.Err() == nil)
					p.halt()
				})
				go p.RunAfter(t.Context(), started)
				synctest.Wait()
				assert.False(t, runs.Load(), "the hooks still run")
				row.end(p, started)
				<-p.ended
				assert.Equal(t, row.runs, runs.Load())
				assert.Equal(t, row.after, time.Since(began))
			})
		})
	}
}
