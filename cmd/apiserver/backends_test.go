package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/registry"
	genericoptions "kube2014/pkg/server/options"
	"kube2014/pkg/storage/etcd3"
)

// backend is a value of -storage_backend, and an etcd for it.
type backend string

// onBackends runs a test on each.
func onBackends(t *testing.T, test func(t *testing.T, b backend)) {
	t.Parallel()
	for _, b := range []backend{genericoptions.Etcd2, genericoptions.Etcd3} {
		t.Run("backend="+string(b), func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// start starts members that end with the test.
func (b backend) start(t *testing.T, members int, flags ...string) (servers []*etcdtest.Server, urls []string) {
	setup := etcdtest.Setup{}
	if b == genericoptions.Etcd3 {
		setup = etcd3Setup()
	}
	setup.Members, setup.Flags = members, flags
	servers, err := setup.Start(t.TempDir())
	require.NoError(t, err)
	for _, server := range servers {
		t.Cleanup(func() { assert.NoError(t, server.Kill()) })
		urls = append(urls, server.URL)
	}
	return servers, urls
}

// startOne starts an etcd of one member that ends with the test.
func (b backend) startOne(t *testing.T, flags ...string) *etcdtest.Server {
	servers, _ := b.start(t, 1, flags...)
	return servers[0]
}

func (b backend) flags(urls ...string) []string {
	return []string{"-storage_backend", string(b), "-etcd_servers", strings.Join(urls, ",")}
}

// open opens the registries of one apiserver, with all the time that it takes.
func (b backend) open(t *testing.T, urls ...string) registries {
	stores, err := registriesOn(string(b), genericoptions.DefaultEtcdPrefix, urls, nil)
	require.NoError(t, err)
	t.Cleanup(stores.Close)
	return stores
}

// openHurried opens them with the timeouts that users have.
func (b backend) openHurried(t *testing.T, urls ...string) registries {
	config := etcd.Config{Servers: urls}
	if b == genericoptions.Etcd2 {
		etcdClient, err := etcd.NewClient(config)
		require.NoError(t, err)
		t.Cleanup(etcdClient.Close)
		return hurriedRegistries(etcdClient)
	}
	etcdClient, err := etcd.NewV3(config)
	require.NoError(t, err)
	t.Cleanup(etcdClient.Close)
	return hurriedRegistries3(t, etcdClient)
}

func hurriedRegistries3(t *testing.T, etcdClient etcd3.Client) registries {
	store := etcd3.New(etcdClient, genericoptions.DefaultEtcdPrefix)
	t.Cleanup(store.Close)
	return registriesOver(registry.MakeRegistry(store), store.Healthz, store.Reconcile)
}

// keys reads all keys.
func (b backend) keys(t *testing.T, url string) map[string]string {
	if b == genericoptions.Etcd2 {
		return keysIn(t, url, "/registry")
	}
	return place3{url, genericoptions.DefaultEtcdPrefix}.keys(t)
}

// taskKey returns the key of a task on 127.0.0.1.
func (b backend) taskKey(id string) string {
	if b == genericoptions.Etcd2 {
		return "/registry/hosts/127.0.0.1/tasks/" + id
	}
	return "/registry/pods/default/" + id
}

// key returns the key of an object with a namespace, of which etcd2 has this one.
func (b backend) key(in2 string) string {
	if b == genericoptions.Etcd2 {
		return in2
	}
	return path.Dir(in2) + "/default/" + path.Base(in2)
}

// outOfLine returns an inconsistency of the keys, "" for none.
func (b backend) outOfLine(t *testing.T, url string) string {
	if b == genericoptions.Etcd2 {
		return outOfLine(t, url)
	}
	ports := map[string]string{}
	var tasks []v1beta1.Task
	for key, value := range b.keys(t, url) {
		if port, ok := strings.CutPrefix(key, "/registry/hostports/"); ok {
			ports[port] = value
		} else if strings.HasPrefix(key, "/registry/pods/") {
			var task v1beta1.Task
			require.NoError(t, json.Unmarshal([]byte(value), &task))
			tasks = append(tasks, task)
		}
	}
	for _, task := range tasks {
		for _, container := range task.DesiredState.Manifest.Containers {
			for _, port := range container.Ports {
				place := fmt.Sprint(task.CurrentState.Host, "/", port.HostPort)
				if port.HostPort == 0 || task.CurrentState.Host == "" {
					continue
				}
				if ports[place] != "/pods/default/"+task.ID {
					return fmt.Sprintf("%s of %q is given to %q", place, task.ID, ports[place])
				}
				delete(ports, place)
			}
		}
	}
	if len(ports) > 0 {
		return fmt.Sprint("host ports of nobody: ", ports)
	}
	return ""
}

// ask3 posts to the HTTP form of etcd's v3 API, which needs no client of ours.
func ask3[Answer any](url, api, body string) (answer Answer, err error) {
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Post(url+api, "application/json", strings.NewReader(body))
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return answer, fmt.Errorf("%s: %s", api, resp.Status)
	}
	return answer, json.NewDecoder(resp.Body).Decode(&answer)
}

// memberStatus is what a member says of itself.
type memberStatus struct {
	Leader string
	Header struct {
		ID string `json:"member_id"`
	}
}

func statusOf(member *etcdtest.Server) (memberStatus, error) {
	return ask3[memberStatus](member.URL, "/v3/maintenance/status", "{}")
}

// leader returns the number of the member that leads.
func leader(t *testing.T, members []*etcdtest.Server) (number int) {
	eventually(t, func() bool {
		for i, member := range members {
			status, err := statusOf(member)
			if err == nil && status.Leader != "" && status.Leader == status.Header.ID {
				number = i
				return true
			}
		}
		return false
	}, "there is a leader")
	return number
}

// moveLeader lets another member lead, and tells whether the leader has agreed.
func moveLeader(t *testing.T, members []*etcdtest.Server) bool {
	from := leader(t, members)
	next, err := statusOf(members[(from+1)%len(members)])
	if err == nil {
		_, err = ask3[struct{}](members[from].URL, "/v3/maintenance/transfer-leadership", fmt.Sprintf(`{"targetID": %q}`, next.Header.ID))
	}
	return err == nil
}
