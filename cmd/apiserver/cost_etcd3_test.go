package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/options"
	"kube2014/pkg/storage/etcd3"
)

// counted3 counts the calls to an etcd, but neither watches nor requests for progress.
type counted3 struct {
	etcd3.Client
	calls atomic.Int32
}

func (c *counted3) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	c.calls.Add(1)
	return c.Client.Do(ctx, op)
}

// openCounted opens the doors of an apiserver whose calls to etcd are counted.
func openCounted(t *testing.T, flags ...string) (d *doors, counted *counted3) {
	o, err := options.Parse(flags)
	require.NoError(t, err)
	counting := *config
	counting.MakeEtcd3Store = func(client etcd3.Client, prefix string) *etcd3.Store {
		counted = &counted3{Client: client}
		return config.MakeEtcd3Store(counted, prefix)
	}
	o.Admission.NoAccounts = true // no loop runs
	m, err := createMaster(&counting, o, io.Discard)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	require.NoError(t, m.BootstrapNamespaces(t.Context())) // what plugins read once is no cost of a request
	return &doors{t, m, m.Server.PrepareRun().InsecureHandler()}, counted
}

// The cache follows etcd: what a request costs does not grow with the tasks.
func TestARequestCostsFewCallsToEtcd3(t *testing.T) {
	t.Parallel()
	d, counted := openCounted(t, append(sharedEtcd3.newPlace(t).flags(), "-machines", "m1,m2")...)
	const services, inJSON = "/api/v1beta1/services", `{"id":"x","port":2}`
	task, pod := encodePort(t, "x", 0), encodeAll(t, podNamed("x"))
	requests := []struct {
		what               string
		most               int32
		method, path, body string
	}{
		{"GET of a task", 1, "GET", taskPath("task-0"), ""},
		{"list of tasks", 1, "GET", tasksPath, ""},
		{"list by label", 1, "GET", tasksPath + "?labels=name=task-0", ""},
		{"POST of a task that is placed", 2, "POST", tasksPath, task},
		{"PUT of a task", 2, "PUT", taskPath("x"), task},
		{"DELETE of a task", 2, "DELETE", taskPath("x"), ""},
		{"POST of a service", 1, "POST", services, inJSON},
		{"PUT of a service", 2, "PUT", services + "/x", inJSON},
		{"DELETE of a service", 2, "DELETE", services + "/x", ""},
		{"POST of a pod that is placed", 2, "POST", todaysPods, pod},
		{"GET of a pod", 1, "GET", todaysPods + "/x", ""},
		{"list of pods", 1, "GET", todaysPods, ""},
		{"PATCH of a pod", 2, "PATCH", todaysPods + "/x", `{"metadata":{"labels":{"a":"b"}}}`},
		{"DELETE of a pod, whose node is read and whose last version is told", 4, "DELETE", todaysPods + "/x", ""},
		{"GET /healthz", 1, "GET", "/healthz", ""},
	}
	made := 0
	for _, tasks := range []int{1, 50} {
		for ; made < tasks; made++ {
			d.createTask(fmt.Sprint("task-", made), 1000+made)
		}
		for _, row := range requests {
			mediaType := "application/json"
			if row.method == "PATCH" {
				mediaType = mergePatch
			}
			before := counted.calls.Load()
			status, answer := d.do(row.method, row.path, mediaType, row.body)
			calls := counted.calls.Load() - before
			require.Less(t, status, http.StatusMultipleChoices, "%s: %s", row.what, answer)
			assert.LessOrEqual(t, calls, row.most, "%s, with %d tasks", row.what, tasks)
		}
	}
}
