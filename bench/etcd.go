package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/bench/measure"
	"kube2014/pkg/api/v1beta1"
)

const (
	etcdMachines   = 100
	etcdTasks      = 10000
	etcdClients    = 16
	postsInOneTurn = 400
)

// direct returns a plain go-etcd client, with strong reads and enough
// connections.
func direct(url string) (*etcd.Client, error) {
	client := etcd.NewClient([]string{url})
	client.SetTransport(&http.Transport{DialContext: (&net.Dialer{Timeout: time.Second}).DialContext, MaxIdleConnsPerHost: 2 * etcdClients})
	return client, client.SetConsistency(etcd.STRONG_CONSISTENCY)
}

// filledEtcd is one with tasks, and a client of it.
type filledEtcd struct {
	url string
	*etcd.Client
}

func (b *bench) startFilledEtcd() (e filledEtcd, err error) {
	if e.url, err = b.StartEtcd(); err != nil {
		return e, err
	}
	if e.Client, err = direct(e.url); err != nil {
		return e, err
	}
	return e, fill(e.Client, 0, etcdMachines)
}

// measureEtcd measures the apiserver on etcd's v2 API, beside go-etcd. What go-etcd writes goes to an etcd of its own with
// the same tasks: on the server's, the server would follow it.
func measureEtcd(b *bench) error {
	store, err := b.startFilledEtcd()
	if err != nil {
		return err
	}
	bare, err := b.startFilledEtcd()
	if err != nil {
		return err
	}
	s, err := b.startApiserver(etcdMachines, "-etcd_servers", store.url, "-storage_backend", "etcd2")
	if err != nil {
		return err
	}
	atFew, _, err := measureEtcdPosts(s, bare.Client)
	if err != nil {
		return err
	}
	for _, e := range []filledEtcd{store, bare} {
		if err := fill(e.Client, etcdMachines, etcdTasks); err != nil {
			return err
		}
	}
	// The server has not seen these: this request makes it read them, outside the measurement.
	if _, err := s.Ask("GET", tasksPath+"?labels=name=none", nil); err != nil {
		return err
	}
	ours, theirs, err := measureEtcdPosts(s, bare.Client)
	if err != nil {
		return err
	}
	b.addRates("etcd v2: POST of a task", "of go-etcd's rate", ours, theirs, 1)
	b.add(row{what: "etcd v2: POST of a task", unit: "of the time beside 100 tasks", values: measure.Ratios(atFew, ours), bound: 1.7, aside: true,
		detail: fmt.Sprintf("%.0f/s vs %.0f/s at 100 tasks", measure.Median(ours), measure.Median(atFew))})
	if err := measureEtcdPods(b, s, store, bare); err != nil {
		return err
	}
	if err := measureGetOnEtcd(b, s, "etcd v2: GET of a task", "of go-etcd's rate", func() error {
		_, err := store.Get("/registry/hosts/"+machineName(7)+"/tasks/"+taskID(7), false, false)
		return err
	}); err != nil {
		return err
	}
	if err := measureEtcdList(b, s, store.Client); err != nil {
		return err
	}
	return measureEtcd3(b, ours)
}

// fill writes a range of tasks directly to etcd, as the apiserver would but
// faster.
func fill(client *etcd.Client, from, to int) error {
	lists, tasks := make([][]v1beta1.ContainerManifest, etcdMachines), make([]v1beta1.Task, to)
	for i := range tasks {
		if err := json.Unmarshal(taskJSON(taskID(i), i%100, 1000+i/etcdMachines), &tasks[i]); err != nil {
			return err
		}
		machine := i % etcdMachines
		manifest := tasks[i].DesiredState.Manifest
		manifest.Id = tasks[i].ID
		manifest.Containers = slices.Clone(manifest.Containers) // with an environment that the task has not
		manifest.Containers[0].Env = []v1beta1.EnvVar{{Name: "SERVICE_HOST", Value: machineName(machine)}}
		lists[machine] = append(lists[machine], manifest)
	}
	set := func(key string, object interface{}) error {
		value, err := json.Marshal(object)
		if err == nil {
			_, err = client.Set("/registry/"+key, string(value), 0)
		}
		return err
	}
	return measure.Parallel(etcdClients, func(worker int) error {
		for i := from + worker; i < to; i += etcdClients {
			task, machine := tasks[i], machineName(i%etcdMachines)
			if _, err := client.Set("/registry/_tasks/"+task.ID, machine, 0); err != nil {
				return err
			}
			if err := set("hosts/"+machine+"/tasks/"+task.ID, task); err != nil {
				return err
			}
		}
		for machine := worker; machine < etcdMachines; machine += etcdClients {
			if err := set("hosts/"+machineName(machine)+"/kubelet", lists[machine]); err != nil {
				return err
			}
		}
		return nil
	})
}

// measureEtcdPosts measures tasks created per second: by the apiserver, and by
// go-etcd, which makes three writes of the same sizes for each.
func measureEtcdPosts(s measure.Server, client *etcd.Client) (ours, theirs []float64, err error) {
	for range runs {
		took, err := postAndDelete(s, etcdClients, postsInOneTurn, etcdMachines, 40000)
		if err != nil {
			return nil, nil, err
		}
		ours = append(ours, postsInOneTurn/took.Seconds())
		rate, err := directPosts(client)
		if err != nil {
			return nil, nil, err
		}
		theirs = append(theirs, rate)
	}
	return ours, theirs, nil
}

func directPosts(client *etcd.Client) (float64, error) {
	list, err := client.Get("/registry/hosts/"+machineName(0)+"/kubelet", false, false)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	err = measure.Parallel(etcdClients, func(worker int) error {
		kubelet := fmt.Sprintf("/direct/hosts/%d/kubelet", worker)
		resp, err := client.Set(kubelet, list.Node.Value, 0)
		if err != nil {
			return err
		}
		for i := worker; i < postsInOneTurn; i += etcdClients {
			id := extraID(i)
			if _, err := client.Create("/direct/_tasks/"+id, machineName(0), 0); err != nil {
				return err
			}
			if resp, err = client.CompareAndSwap(kubelet, list.Node.Value, 0, "", resp.Node.ModifiedIndex); err != nil {
				return err
			}
			if _, err := client.Create("/direct/tasks/"+id, string(taskJSON(id, i%100, 40000)), 0); err != nil {
				return err
			}
		}
		return nil
	})
	took := time.Since(start)
	if err == nil {
		_, err = client.Delete("/direct", true)
	}
	return postsInOneTurn / took.Seconds(), err
}

// measureGetOnEtcd measures GETs of a task, beside a client of that etcd which gets its
// key.
func measureGetOnEtcd(b *bench, s measure.Server, what, unit string, bare func() error) error {
	const duration = 1500 * time.Millisecond
	var ours, theirs []float64
	for range runs {
		rate, err := s.Throughput(etcdClients, measure.Request("GET", tasksPath+"/"+taskID(7), nil), duration)
		if err != nil {
			return err
		}
		ours = append(ours, rate)
		if rate, err = measure.Rate(etcdClients, duration, bare); err != nil {
			return err
		}
		theirs = append(theirs, rate)
	}
	b.addRates(what, unit, ours, theirs, 1)
	b.setAside()
	return nil
}

func measureEtcdList(b *bench, s measure.Server, client *etcd.Client) error {
	mine, theirs, _, err := b.listers(s)
	if err != nil {
		return err
	}
	var listed, gotten []float64
	change, list := measure.Request("PUT", tasksPath+"/"+taskID(1), taskJSON(taskID(1), 1, 1000)), measure.Request("GET", tasksPath, nil)
	for range 2 * runs {
		if err := measure.InTurn(1, mine.Step(change, nil), mine.Step(list, &listed)); err != nil {
			return err
		}
		start := time.Now()
		if _, err := client.Get("/registry/hosts", true, true); err != nil {
			return err
		}
		read := time.Since(start)
		sent, err := theirs.Timed(list)
		if err != nil {
			return err
		}
		gotten = append(gotten, measure.Milliseconds(read+sent))
	}
	b.add(row{what: "etcd v2: list of 10,000 tasks after a write", unit: "of a get's and a bare send's time", aside: true,
		values: measure.Ratios(listed, gotten), bound: 1.5, detail: fmt.Sprintf("%.1f ms vs %.1f ms", measure.Median(listed), measure.Median(gotten))})
	return nil
}
