package main

import (
	"fmt"
	"time"

	"kube2014/bench/measure"
)

// large is the largest number of tasks that is measured.
const large = 100000

const tasksPath = "/api/v1beta1/tasks"

// taskJSON is a task as a Go client sends it: one container with one host port.
// A hundredth of the tasks are in one group.
func taskJSON(id string, group, hostPort int) []byte {
	return fmt.Appendf(nil, `{"id":"%s","labels":{"name":"web","tier":"front","group":"g%d"},"desiredState":{"manifest":{`+
		`"version":"v1beta1","volumes":null,"containers":[{"name":"nginx","image":"dockerfile/nginx","ports":[{"hostPort":%d,"containerPort":80}]}]}}}`,
		id, group, hostPort)
}

// post returns the request that creates task i. Tasks are spread over the
// machines by their host ports: each port is used once on every machine.
func post(i, machines int) []byte {
	return measure.Request("POST", tasksPath, taskJSON(taskID(i), i%100, 1000+i/machines))
}

func taskID(i int) string { return fmt.Sprintf("task-%06d", i) }

// measureMemory measures GET, lists and label queries on 20,000 tasks.
func measureMemory(b *bench) error {
	const machines, tasks = 1000, 20000
	s, err := b.startApiserver(machines)
	if err != nil {
		return err
	}
	if _, err := s.SendAll(8, tasks, func(i int) []byte { return post(i, machines) }); err != nil {
		return err
	}
	for path, object := range map[string]string{
		"/api/v1beta1/services":               `{"id": "x", "port": 80, "labels": {"name": "web"}}`,
		"/api/v1beta1/replicationControllers": `{"id": "x", "desiredState": {"replicas": 2, "replicasInSet": {"name": "web"}, "taskTemplate": ` + string(taskJSON("", 1, 80)) + `}}`,
	} {
		if _, err := s.Ask("POST", path, []byte(object)); err != nil {
			return err
		}
	}
	for _, of := range []struct{ what, path string }{
		{"task", tasksPath + "/" + taskID(7)}, {"replication controller", "/api/v1beta1/replicationControllers/x"}, {"service", "/api/v1beta1/services/x"},
	} {
		if err := measureGet(b, s, of.what, of.path); err != nil {
			return err
		}
	}
	b.setAside()
	return measureLists(b, s, machines, tasks)
}

func measureGet(b *bench, s measure.Server, what, path string) error {
	body, err := s.Ask("GET", path, nil)
	if err != nil {
		return err
	}
	bare, err := b.startBare(body)
	if err != nil {
		return err
	}
	ours, theirs, err := byTurns(3*runs, s, bare, func(s measure.Server) (float64, error) { // short turns: the machine's speed may drift
		return s.Throughput(16, measure.Request("GET", path, nil), 600*time.Millisecond)
	})
	if err != nil {
		return err
	}
	b.addRates("GET of a "+what, "of the bare handler's rate", ours, theirs, 0.7)
	return nil
}

// byTurns measures one server and then the other, n times.
func byTurns(n int, one, other measure.Server, of func(measure.Server) (float64, error)) (ones, others []float64, err error) {
	for range n {
		for _, side := range []struct {
			s    measure.Server
			into *[]float64
		}{{one, &ones}, {other, &others}} {
			value, err := of(side.s)
			if err != nil {
				return nil, nil, err
			}
			*side.into = append(*side.into, value)
		}
	}
	return ones, others, nil
}

// listers returns a connection to a server, one to a bare handler that sends the
// server's list of tasks, and the size of the list.
func (b *bench) listers(s measure.Server) (mine, theirs *measure.Conn, size int, err error) {
	body, err := s.Ask("GET", tasksPath, nil)
	if err != nil {
		return nil, nil, 0, err
	}
	bare, err := b.startBare(body)
	if err != nil {
		return nil, nil, 0, err
	}
	if mine, err = s.Dial(); err != nil {
		return nil, nil, 0, err
	}
	theirs, err = bare.Dial()
	return mine, theirs, len(body), err
}

func measureLists(b *bench, s measure.Server, machines, tasks int) error {
	mine, theirs, size, err := b.listers(s)
	if err != nil {
		return err
	}
	// A write before each request, so that no answer can be cached.
	change := measure.Request("PUT", tasksPath+"/"+taskID(tasks/2), taskJSON(taskID(tasks/2), tasks/2%100, 1000+tasks/2/machines))
	list := measure.Request("GET", tasksPath, nil)
	var listed, queried, bared []float64
	if err := measure.InTurn(4*runs, mine.Step(change, nil), mine.Step(list, &listed), theirs.Step(list, &bared)); err != nil {
		return err
	}
	query := measure.Request("GET", tasksPath+"?labels=group=g42", nil)
	if err := measure.InTurn(4*runs, mine.Step(change, nil), mine.Step(query, &queried)); err != nil {
		return err
	}
	b.add(row{what: "list of 20,000 tasks after a write", unit: "of the bare handler's speed",
		values: measure.Ratios(bared, listed), bound: 0.60, atLeast: true,
		detail: fmt.Sprintf("%.1f ms vs %.1f ms for %.1f MB", measure.Median(listed), measure.Median(bared), float64(size)/1e6)})
	b.add(row{what: "label query that matches 1 % of 20,000 tasks", unit: "of the list's time", aside: true,
		values: measure.Ratios(queried, listed), bound: 0.04, detail: fmt.Sprintf("%.2f ms", measure.Median(queried))})
	return nil
}

// measurePosts measures POST at a growing number of tasks, compared with a
// server that keeps 1,000, and the memory that the tasks take.
func measurePosts(b *bench) error {
	const machines, small = 1000, 1000
	sizes := []int{100, 1000, 3000, 10000, 30000, large}
	few, err := b.startApiserver(machines)
	if err != nil {
		return err
	}
	many, err := b.startApiserver(machines)
	if err != nil {
		return err
	}
	empty, err := many.ResidentMemory()
	if err != nil {
		return err
	}
	if _, err := few.SendAll(8, small, func(i int) []byte { return post(i, machines) }); err != nil {
		return err
	}
	b.plot = measure.Plot{Title: "POST of a task: time by the number of tasks", X: "tasks", Y: "µs"}
	loaded := 0
	for _, size := range sizes {
		_, err := many.SendAll(8, size-loaded, func(i int) []byte { return post(loaded+i, machines) })
		if err != nil {
			return err
		}
		loaded = size
		var took []float64
		for range runs {
			one, err := postTime(many, 500, machines)
			if err != nil {
				return err
			}
			took = append(took, one)
		}
		b.plot.Add("", float64(size), measure.Median(took))
	}
	quiet, err := many.ResidentMemory()
	if err != nil {
		return err
	}
	full, err := memoryWithLists(many)
	if err != nil {
		return err
	}
	atFew, atMany, err := byTurns(2*runs, few, many, func(s measure.Server) (float64, error) { return postTime(s, 1000, machines) })
	if err != nil {
		return err
	}
	b.add(row{what: "POST of a task beside 100,000", unit: "of the time beside 1,000",
		values: measure.Ratios(atMany, atFew), bound: 1.3, detail: fmt.Sprintf("%.0f µs vs %.0f µs", measure.Median(atMany), measure.Median(atFew))})
	b.add(row{what: "memory per task, while 100,000 are listed", unit: "KB",
		values: []float64{float64(full-empty) / 1e3 / large}, bound: 6, detail: fmt.Sprintf("%.0f MB, of which %.0f MB without lists", float64(full-empty)/1e6, float64(quiet-empty)/1e6)})
	return nil
}

// memoryWithLists returns how much memory a server takes at most while it sends
// lists of all its tasks.
func memoryWithLists(s measure.Server) (most int, err error) {
	c, err := s.Dial()
	if err != nil {
		return 0, err
	}
	for range 4 * runs {
		if err := measure.InTurn(1, c.Step(measure.Request("GET", tasksPath, nil), nil)); err != nil {
			return 0, err
		}
		memory, err := s.ResidentMemory()
		if err != nil {
			return 0, err
		}
		most = max(most, memory)
	}
	return most, nil
}

// postAndDelete creates n more tasks, with host ports from hostPort on, returns
// the time taken, and deletes them.
func postAndDelete(s measure.Server, connections, n, machines, hostPort int) (time.Duration, error) {
	took, err := s.SendAll(connections, n, func(i int) []byte {
		return measure.Request("POST", tasksPath, taskJSON(extraID(i), i%100, hostPort+i/machines))
	})
	if err != nil {
		return 0, err
	}
	_, err = s.SendAll(connections, n, func(i int) []byte {
		return measure.Request("DELETE", tasksPath+"/"+extraID(i), nil)
	})
	return took, err
}

func extraID(i int) string { return fmt.Sprintf("extra-%06d", i) }

// postTime returns the time of a POST, in microseconds, when n are sent one
// after the other.
func postTime(s measure.Server, n, machines int) (float64, error) {
	took, err := postAndDelete(s, 1, n, machines, 30000)
	return float64(took.Microseconds()) / float64(n), err
}
