package main

import (
	"fmt"
	"time"

	goetcd "github.com/coreos/go-etcd/etcd"

	"kube2014/bench/measure"
	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
)

const podsPath = "/api/v1/namespaces/default/pods"

// measureEtcdPods measures pods created per second, spread over the machines beside 10,000 tasks; and how often a second the
// server's own client makes the same writes without a server. It has an etcd of its own, with the same tasks: on the
// server's, the server would follow what it writes.
func measureEtcdPods(b *bench, s measure.Server, serversEtcd *goetcd.Client) error {
	store, err := etcdtest.Start(b.Dir, "--unsafe-no-fsync=false")
	if err != nil {
		return err
	}
	b.AtEnd(func() { _ = store.Kill() }) // it was only for this
	filler, err := direct(store.URL)
	if err != nil {
		return err
	}
	if err := fill(filler, 0, etcdTasks); err != nil {
		return err
	}
	client, err := etcd.New([]string{store.URL})
	if err != nil {
		return err
	}
	defer client.Close()
	var ours, bare []float64
	for range runs {
		took, err := s.SendAll(etcdClients, postsInOneTurn, postSpread)
		if err != nil {
			return err
		}
		ours = append(ours, postsInOneTurn/took.Seconds())
		stored, err := serversEtcd.Get("/registry/pods/"+extraID(0), false, false)
		if err != nil {
			return err
		}
		if _, err := s.SendAll(etcdClients, postsInOneTurn, func(i int) []byte {
			return measure.Request("DELETE", podsPath+"/"+extraID(i)+"?gracePeriodSeconds=0", nil)
		}); err != nil {
			return err
		}
		rate, err := bareSpread(client, stored.Node.Value)
		if err != nil {
			return err
		}
		bare = append(bare, rate)
	}
	b.addRates("etcd v2: POST of a pod", "of the rate of its writes without a server", ours, bare, 0)
	return nil
}

// postSpread returns the request that creates pod i. Its host port is once on each machine.
func postSpread(i int) []byte {
	return measure.Request("POST", podsPath, fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{"name":"web","tier":"front"}},`+
		`"spec":{"containers":[{"name":"nginx","image":"nginx:1.8","ports":[{"hostPort":%d,"containerPort":80}]}]}}`, extraID(i), 50000+i/etcdMachines),
		"Content-Type: application/json")
}

// bareSpread makes the writes of pods, each with the value: the index key, the list of the machine, and the pod. Each
// worker has a machine of its own, so no swap fails.
func bareSpread(client *etcd.Client, value string) (float64, error) {
	start := time.Now()
	if err := measure.Parallel(etcdClients, func(worker int) error {
		kubelet := "/registry/hosts/" + machineName(worker) + "/kubelet"
		list, err := client.Get(kubelet, false, false)
		if err != nil {
			return err
		}
		version := list.Node.ModifiedIndex
		for i := worker; i < postsInOneTurn; i += etcdClients {
			if _, err := client.Create("/direct/_tasks/"+extraID(i), "pods/"+machineName(worker), 0); err != nil {
				return err
			}
			swapped, err := client.CompareAndSwap(kubelet, list.Node.Value, 0, "", version)
			if err != nil {
				return err
			}
			version = swapped.Node.ModifiedIndex
			if _, err := client.Create("/direct/pods/"+extraID(i), value, 0); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	took := time.Since(start)
	_, err := client.Delete("/direct", true)
	return postsInOneTurn / took.Seconds(), err
}
