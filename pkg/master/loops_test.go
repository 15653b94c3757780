package master

import (
	"bytes"
	"context"
	"errors"
	"log"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
	"kube2014/pkg/util"
)

// It replaces the process's log, so it is not parallel.
func TestTheProgramFollowsOtherProgramsAlsoAfterAPanic(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		calls, done := 0, make(chan struct{})
		go func() {
			defer close(done)
			(&Loops{forever: util.Forever, follow: func(ctx context.Context) {
				if calls++; calls == 1 {
					panic("broken")
				}
				<-ctx.Done()
			}}).followForever(ctx)
		}()
		time.Sleep(time.Minute) // the bubble's clock: it takes no time
		synctest.Wait()
		assert.Equal(t, 2, calls)
		assert.Contains(t, logged.String(), "panic: broken\n")
		stop()
		<-done
	})
}

// away is a store that cannot be reached.
type away struct{ storage.Interface }

func (away) List(storage.Selection) (*storage.List, error) {
	return nil, api.NewUnavailable("list services", errors.New("connection refused"))
}

// It replaces the process's log, so it is not parallel.
func TestASyncThatFailsIsLoggedWithItsCause(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	stores := registry.MakeRegistry(away{})
	logError(registry.MakeEndpointController(stores, stores).SyncServiceEndpoints())
	logError(nil)
	assert.Contains(t, logged.String(), "endpoint sync: list services: the store cannot be reached: connection refused\n")
}
