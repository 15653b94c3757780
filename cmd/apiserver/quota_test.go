package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	genericoptions "kube2014/pkg/server/options"
)

// etcd takes deletions when it is full, and reads.
func TestAnEtcdThatIsFullIsA503ThatSaysSo(t *testing.T) {
	t.Parallel()
	server := backend(genericoptions.Etcd3).startOne(t, "--quota-backend-bytes", fmt.Sprint(2<<20))
	d := openDoors(t, append(backend(genericoptions.Etcd3).flags(server.URL), "-machines", "m1")...)
	d.createTask("owner", 80)
	text := strings.Repeat("x", 200<<10)
	status, answer := http.StatusOK, ""
	for i := 0; status == http.StatusOK; i++ {
		require.Less(t, i, 100)
		status, answer = d.do("POST", tasksPath, "", encodeAll(t, map[string]interface{}{"id": fmt.Sprint("large-", i), "labels": map[string]string{"text": text}}))
	}
	const full = "etcd is full: it takes no changes until its quota (NOSPACE) has room again"
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "Service Unavailable: create task: "+full, answer)

	today := fromYAML[metav1.Status](t, d.send(http.StatusServiceUnavailable, "POST", todaysPods, encodeAll(t, podNamed("p"))))
	assert.Equal(t, metav1.StatusReasonServiceUnavailable, today.Reason)
	assert.Contains(t, fmt.Sprint(today.Message, today.Details), "create task: "+full)
	assert.Equal(t, "Service Unavailable: create service: "+full, d.send(http.StatusServiceUnavailable, "PUT", "/api/v1beta1/services/s", `{"id":"s"}`))
	assert.Equal(t, "owner", d.task("owner").ID)
	assert.Equal(t, "ok", d.send(http.StatusOK, "GET", "/healthz", ""))
	for _, name := range d.podNames() {
		d.send(http.StatusOK, "DELETE", taskPath(name), "")
	}
	assert.Empty(t, d.podNames())

	admin, err := clientv3.New(clientv3.Config{Endpoints: []string{server.URL}})
	require.NoError(t, err)
	defer admin.Close()
	_, err = admin.Compact(t.Context(), int64(d.version()), clientv3.WithCompactPhysical())
	require.NoError(t, err)
	_, err = admin.Defragment(t.Context(), server.URL)
	require.NoError(t, err)
	_, err = admin.AlarmDisarm(t.Context(), &clientv3.AlarmMember{})
	require.NoError(t, err)
	d.createTask("owner", 80)
}
