package main

import (
	"fmt"
	"time"

	"kube2014/bench/measure"
	"kube2014/pkg/etcd"
)

const podsPath = "/api/v1/namespaces/default/pods"

// measureEtcdPods measures pods created per second, spread over the machines beside 10,000 tasks; and how often a second the
// server's own client makes the same writes without a server, on the bare etcd.
func measureEtcdPods(b *bench, s measure.Server, store, bare filledEtcd) error {
	client, err := etcd.New([]string{bare.url})
	if err != nil {
		return err
	}
	defer client.Close()
	var ours, theirs []float64
	for range runs {
		took, err := s.SendAll(etcdClients, postsInOneTurn, postSpread)
		if err != nil {
			return err
		}
		ours = append(ours, postsInOneTurn/took.Seconds())
		stored, err := store.Get("/registry/pods/"+extraID(0), false, false)
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
		theirs = append(theirs, rate)
	}
	b.addRates("etcd v2: POST of a pod", "of the rate of its writes without a server", ours, theirs, 0)
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
