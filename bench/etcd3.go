package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/bench/measure"
)

// eventPosts is how many changes of another apiserver a watcher is told of.
const eventPosts = 500

// measureEtcd3 measures the apiserver on etcd's v3 API, beside the v3 client used directly.
// The rates of POSTs on the v2 API have been measured before, in the same run.
func measureEtcd3(b *bench, onV2 []float64) error {
	url, err := b.StartEtcd()
	if err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	if err != nil {
		return err
	}
	b.AtEnd(func() { _ = client.Close() }) // as above
	flags := []string{"-etcd_servers", url, "-storage_backend", "etcd3"}
	s, err := b.startApiserver(etcdMachines, flags...)
	if err != nil {
		return err
	}
	if _, err := s.SendAll(etcdClients, etcdTasks, func(i int) []byte { return post(i, etcdMachines) }); err != nil {
		return err
	}
	if err := measureEtcd3Posts(b, s, client, onV2); err != nil {
		return err
	}
	if err := measureGetOnEtcd(b, s, "etcd v3: GET of a task", "of a bare get's rate", func() error {
		got, err := client.Get(context.Background(), "/registry/pods/default/"+taskID(7))
		if err == nil && got.Count != 1 {
			err = errors.New("etcd does not have the task at the key that is read")
		}
		return err
	}); err != nil {
		return err
	}
	other, err := b.startApiserver(etcdMachines, flags...)
	if err != nil {
		return err
	}
	return measureEtcd3Events(b, s, other)
}

// measureEtcd3Posts measures tasks created per second: by the apiserver; by the v3 client,
// with transactions of the same conditions and values; and by a bare handler that makes such
// a transaction for each POST.
func measureEtcd3Posts(b *bench, s measure.Server, client *clientv3.Client, onV2 []float64) error {
	handler, err := b.StartSelf("-transact", client.Endpoints()[0])
	if err != nil {
		return err
	}
	var ours, theirs, handled []float64
	for range runs {
		took, err := postAndDelete(s, etcdClients, postsInOneTurn, etcdMachines, 40000)
		if err != nil {
			return err
		}
		ours = append(ours, postsInOneTurn/took.Seconds())
		start := time.Now()
		if err := measure.Parallel(etcdClients, func(worker int) error {
			for i := worker; i < postsInOneTurn; i += etcdClients {
				if err := transact(client, i); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		theirs = append(theirs, postsInOneTurn/time.Since(start).Seconds())
		if err := deleteDirect(client); err != nil {
			return err
		}
		if took, err = handler.SendAll(etcdClients, postsInOneTurn, func(i int) []byte {
			return measure.Request("POST", "/"+strconv.Itoa(i), taskJSON(extraID(i), i%100, 40000))
		}); err != nil {
			return err
		}
		handled = append(handled, postsInOneTurn/took.Seconds())
		if err := deleteDirect(client); err != nil {
			return err
		}
	}
	const post = "etcd v3: POST of a task"
	b.addRates(post, "of bare transactions' rate", ours, theirs, 0)
	b.addRates(post, "of a bare handler's that makes them", ours, handled, 0.3)
	b.addRates(post, "of the rate on v2", ours, onV2, 1.3)
	b.setAside()
	return nil
}

// transact creates a task as the apiserver would.
func transact(client *clientv3.Client, i int) error {
	task := "/direct/pods/default/" + extraID(i)
	port := fmt.Sprintf("/direct/hostports/%s/%d", machineName(i%etcdMachines), 40000+i/etcdMachines)
	value := strings.TrimSuffix(string(taskJSON(extraID(i), i%100, 40000)), "}") + `,"currentState":{"manifest":` +
		`{"version":"","volumes":null,"containers":null},"host":"` + machineName(i%etcdMachines) + `"}}`
	done, err := client.Txn(context.Background()).
		If(clientv3.Compare(clientv3.ModRevision(task), "=", 0), clientv3.Compare(clientv3.ModRevision(port), "=", 0)).
		Then(clientv3.OpPut(task, value), clientv3.OpPut(port, "/pods/default/"+extraID(i))).Commit()
	if err == nil && !done.Succeeded {
		err = errors.New("it exists")
	}
	if err != nil {
		return fmt.Errorf("a create of %s: %w", task, err)
	}
	return nil
}

func deleteDirect(client *clientv3.Client) error {
	_, err := client.Delete(context.Background(), "/direct/", clientv3.WithPrefix())
	return err
}

// serveTransactions makes a transaction for each request, whose path is a number, and
// answers with its body.
func serveTransactions(url string) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}})
	if err != nil {
		return err
	}
	return serve(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err == nil {
			var i int
			if i, err = strconv.Atoi(strings.TrimPrefix(req.URL.Path, "/")); err == nil {
				err = transact(client, i)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		send(w, body)
	})
}

// measureEtcd3Events measures how soon a watcher at one apiserver is told of what another
// one has acknowledged.
func measureEtcd3Events(b *bench, writer, other measure.Server) error {
	connection, err := other.Dial()
	if err != nil {
		return err
	}
	stream, err := connection.Stream(measure.Request("GET", "/api/v1/pods?watch=1&labelSelector=name%3Dnew&resourceVersion=0", nil))
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	posts, err := writer.Dial()
	if err != nil {
		return err
	}
	var took []float64
	for i := range eventPosts {
		body := strings.Replace(string(taskJSON(extraID(i), 1, 50000+i)), `"name":"web"`, `"name":"new"`, 1)
		told := make(chan time.Time, 1)
		go func() {
			lines.Scan()
			told <- time.Now()
		}()
		if _, err := posts.Timed(measure.Request("POST", tasksPath, []byte(body))); err != nil {
			return err
		}
		acknowledged := time.Now()
		took = append(took, max(0, measure.Milliseconds((<-told).Sub(acknowledged))))
		if !strings.Contains(lines.Text(), extraID(i)) {
			return fmt.Errorf("the watcher was told %.100q", lines.Text())
		}
	}
	slices.Sort(took)
	b.add(row{what: "etcd v3: POST to event at another apiserver, median", unit: "ms", aside: true, values: []float64{measure.Median(took)}, bound: 5,
		detail: fmt.Sprintf("99th percentile %.3g ms", took[len(took)*99/100])})
	return nil
}
