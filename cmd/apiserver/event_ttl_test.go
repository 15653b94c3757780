package main

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
)

const (
	todaysEvents = "/api/v1/namespaces/default/events"
	anEvent      = `{"metadata":{"name":"x"},"involvedObject":{"kind":"Pod","name":"web","namespace":"default"}}`
)

// Two apiservers on one etcd tell the same; in memory there is one.
func TestAnEventEndsByItself(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			own := append(flags(t), "-event_ttl", "1s")
			all := []*doors{openDoors(t, own...)}
			if name != "memory" {
				all = append(all, openDoors(t, own...))
			}
			var watchers []*watcher
			for _, d := range all {
				watchers = append(watchers, openWatch(t, patient, d.listen()+"/api/v1/events?watch=1"))
			}
			all[0].send(http.StatusCreated, "POST", todaysEvents, anEvent)
			var versions []uint64
			for i, d := range all {
				added, deleted := watchers[i].next(), watchers[i].next()
				assert.Equal(t, "ADDED x", added.inShort())
				assert.Equal(t, "DELETED x", deleted.inShort())
				assert.Greater(t, deleted.version(), added.version())
				versions = append(versions, deleted.version())
				assert.Empty(t, read[corev1.EventList](d, todaysEvents).Items)
				d.send(http.StatusNotFound, "GET", todaysEvents+"/x", "")
			}
			assert.Equal(t, versions[0], versions[len(versions)-1])
		})
	}
}

func TestAnEventEndsOnAnEtcdThatAnswersOnlyLater(t *testing.T) {
	onBackends(t, func(t *testing.T, b backend) {
		server := b.startOne(t)
		require.NoError(t, server.Kill())
		flags := []string{"-etcd_servers", server.URL, "-event_ttl", "1s"}
		if b == "etcd3" {
			flags = append(flags, "-etcd_prefix", "/other") // only etcd3 can have that
		}
		d := openDoors(t, flags...)
		require.NoError(t, server.Restart())
		require.NoError(t, server.Ready())
		eventually(t, func() bool {
			status, _ := d.do("GET", todaysEvents, "", "")
			return status == http.StatusOK
		}, "it is decided which API is used")
		w := openWatch(t, patient, d.listen()+"/api/v1/events?watch=1")
		d.send(http.StatusCreated, "POST", todaysEvents, anEvent)
		w.tells("ADDED x", "DELETED x")
	})
}

// seconds returns how long the only event stays, as etcd says; 0 is for ever.
func (b backend) seconds(t *testing.T, url string) int64 {
	t.Helper()
	if b == "etcd2" {
		resp, err := patient.Get(url + "/v2/keys/registry/events/x")
		require.NoError(t, err)
		defer resp.Body.Close()
		var answer struct {
			Node struct {
				Key string
				TTL int64
			}
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&answer))
		require.Equal(t, "/registry/events/x", answer.Node.Key)
		return answer.Node.TTL
	}
	kvs := place3{url, "/registry"}.do(t, clientv3.OpGet("/registry/events/default/x")).Get().Kvs
	require.Len(t, kvs, 1)
	if kvs[0].Lease == 0 {
		return 0
	}
	lease, err := ask3[struct {
		GrantedTTL int64 `json:"grantedTTL,string"`
	}](url, "/v3/lease/timetolive", encodeAll(t, map[string]int64{"ID": kvs[0].Lease}))
	require.NoError(t, err)
	return lease.GrantedTTL
}

// It is etcd that lets events end, also while no apiserver runs.
func TestEtcdKnowsHowLongAnEventStays(t *testing.T) {
	onBackends(t, func(t *testing.T, b backend) {
		url := b.startOne(t).URL
		atMost := map[backend]int64{"etcd2": 3600, "etcd3": 3660}[b]
		open := func(flags ...string) *doors { return openDoors(t, append(b.flags(url), flags...)...) }
		withoutFlag, forEver, long := open(), open("-event_ttl", "0s"), open("-event_ttl", "100h")
		withoutFlag.send(http.StatusCreated, "POST", todaysEvents, anEvent)
		seconds := b.seconds(t, url)
		assert.LessOrEqual(t, seconds, atMost)
		assert.Greater(t, seconds, int64(1800))
		change := func(d *doors, reason string) {
			d.sendAs(http.StatusOK, "PATCH", todaysEvents+"/x", mergePatch, `{"reason":"`+reason+`"}`)
		}
		change(long, "Long")
		assert.Greater(t, b.seconds(t, url), int64(99*3600))
		change(withoutFlag, "AnHour")
		assert.LessOrEqual(t, b.seconds(t, url), atMost)
		change(forEver, "ForEver")
		assert.Zero(t, b.seconds(t, url))
		change(withoutFlag, "ForEver")
		assert.Zero(t, b.seconds(t, url), "nothing has changed: it stays until it is changed")
		change(withoutFlag, "AnHourAgain")
		assert.NotZero(t, b.seconds(t, url))
	})
}
