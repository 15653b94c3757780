package etcd

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/etcd/etcdtest"
)

func TestWhichAPIsAnEtcdServesIsFound(t *testing.T) {
	t.Parallel()
	onlyV2 := server(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/version" {
			answer(w, 200, `{"etcdserver":"2.3.8","etcdcluster":"2.3.0"}`)
			return
		}
		answer(w, 404, `{"errorCode":100,"message":"Key not found"}`)
	})
	type row struct {
		url    string
		v2, v3 bool
	}
	rows := map[string]row{"2.3": {onlyV2, true, false}}
	for _, version := range etcdtest.Versions() {
		rows[version] = row{started(t, etcdtest.Setup{Version: version}).URL, version != "3.6", true}
		rows[version+" without v2"] = row{started(t, etcdtest.Setup{Version: version, NoV2: true}).URL, false, true}
	}
	for name, row := range rows {
		for _, servers := range [][]string{{row.url}, {downURL(t), row.url}} {
			v2, v3 := bothClients(t, Config{Servers: servers})
			hasV2, hasV3, err := Served(t.Context(), v2, v3, "/registry/")
			require.NoError(t, err, name)
			assert.Equal(t, row.v2, hasV2, name)
			assert.Equal(t, row.v3, hasV3, name)
			assert.Equal(t, row.v2, v2.CheckKey("/registry/") == nil, name)
			assert.Equal(t, row.v3, v3.Check(t.Context(), "/registry/") == nil, name)
		}
	}
	var unusable *UnusableError
	require.ErrorAs(t, newV3(t, Config{Servers: []string{onlyV2}}).Check(t.Context(), "/registry/"), &unusable)
	assert.Equal(t, "is etcd 2.3.8, which has no v3 API: use -storage_backend etcd2", unusable.Why)
}

func TestWhatServesNoneOfTheTwoIsNamed(t *testing.T) {
	t.Parallel()
	real := realEtcd(t)
	page := server(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>hello</html>") })
	for given, says := range map[string]string{
		page:             "is no etcd: it answers 200 to GET /v2/keys/",
		peerURL(t, real): "is a peer port of etcd, for its members only: name a client port",
		strings.Replace(real.URL, "http:", "https:", 1): "serves http, not https",
	} {
		v2, v3 := bothClients(t, Config{Servers: []string{downURL(t), given}})
		_, _, err := Served(t.Context(), v2, v3, "/registry/")
		want := &UnusableError{URL: given, Why: says}
		assert.Equal(t, want, err)
		if !strings.Contains(says, "peer port") { // that serves the v3 API too
			assert.Equal(t, want, v3.Check(t.Context(), "/registry/"))
		}
	}
}

// An etcd of which one API answers and the other may do so later is not taken for one
// that lacks it.
func TestWhatMayServeLaterIsNotDecided(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"nobody listens": downURL(t),
		"v2 answers, and v3 does not yet": server(t, func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/version" {
				answer(w, 200, `{"etcdserver":"3.5.35","etcdcluster":"3.5.0"}`)
				return
			}
			answer(w, 404, `{"errorCode":100,"message":"Key not found"}`)
		}),
	} {
		v2, v3 := bothClients(t, Config{Servers: []string{url}})
		hasV2, hasV3, err := Served(t.Context(), v2, v3, "/registry/")
		var unusable *UnusableError
		require.Error(t, err, name)
		assert.NotErrorAs(t, err, &unusable, name)
		assert.False(t, hasV2 || hasV3, name)
	}
}

func TestProgressIsAskedForOnlyWhereItsAnswerCanBeTrusted(t *testing.T) {
	t.Parallel()
	for version, trusted := range map[string]bool{
		"3.3.27": false, "3.4.13": false, "3.4.23": false, "3.4.30": false, "3.4.31": true, "3.4.40": true,
		"3.5.0": false, "3.5.12": false, "3.5.13": true, "3.5.35": true, "3.6.0": true, "3.6.0-rc.1": true, "3.7.0": true, "4.0.0": true,
		"2.3.8": false, "": false, "unknown": false, "3.5": false,
	} {
		assert.Equal(t, trusted, progressInOrder(version), version)
	}
	for _, version := range etcdtest.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			client := newV3(t, Config{Servers: []string{started(t, etcdtest.Setup{Version: version}).URL}})
			revision := put(t, client, "/dir/a", "1")
			events, progress := client.Watch(t.Context(), "/dir/", 0)
			others, _ := client.Watch(t.Context(), "/dir/", revision)
			err := progress(t.Context())
			if version == "3.4" {
				require.ErrorIs(t, err, ErrEarlyProgress)
				assert.ErrorContains(t, err, `: it is version "3.4.`)
				return
			}
			require.NoError(t, err)
			resp := <-events
			require.NoError(t, resp.Err())
			assert.True(t, resp.IsProgressNotify())
			assert.Equal(t, revision, resp.Header.Revision)
			put(t, client, "/dir/b", "2")
			assert.Equal(t, []string{"/dir/a", "/dir/b"}, keysOf(t, others, 2), "it is not told how far the other is")
		})
	}
}
