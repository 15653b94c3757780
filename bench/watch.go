package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"kube2014/bench/measure"
	"kube2014/pkg/api"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
)

const (
	watchers     = 1000
	watchedPosts = 200
	followed     = 200000
)

// measureWatch measures, in this process, how soon an acknowledged change reaches
// many watchers, and how many changes one watcher can follow.
func measureWatch(b *bench) error {
	late, err := eventTimes()
	if err != nil {
		return err
	}
	slices.Sort(late)
	b.add(row{what: "POST to event at 1,000 watchers, 99th percentile", unit: "ms",
		values: []float64{late[len(late)*99/100]}, bound: 20, detail: fmt.Sprintf("median %.2g ms, last %.3g ms", measure.Median(late), late[len(late)-1])})
	var rates []float64
	for range runs {
		rate, err := followRate()
		if err != nil {
			return err
		}
		rates = append(rates, rate)
	}
	b.add(row{what: "events that one watcher follows", unit: "a second", values: rates, bound: 50000, atLeast: true, aside: true})
	return nil
}

func makeTask(i int) api.Task {
	task := api.Task{JSONBase: api.JSONBase{ID: taskID(i)}, Labels: map[string]string{"name": "web", "group": fmt.Sprint("g", i%100)}}
	task.DesiredState.Manifest.Containers = []api.Container{{Name: "nginx", Ports: []api.Port{{HostPort: 1 + i, ContainerPort: 80}}}}
	return task
}

func watchTasks(memory *registry.MemoryRegistry) (storage.Watcher, error) {
	version, err := memory.Objects().Version()
	if err != nil {
		return nil, err
	}
	return memory.Objects().Watch(storage.Selection{Kind: api.TaskKind}, version)
}

// eventTimes returns the time from the acknowledgement of each create to its event at
// each watcher, in milliseconds; 0 if the event came first.
func eventTimes() ([]float64, error) {
	memory := registry.MakeMemoryRegistry()
	var mu sync.Mutex // guards took and failed
	var took []float64
	var failed error
	acknowledged := make([]time.Time, watchedPosts)
	done := make([]chan struct{}, watchedPosts) // closed when the time of the acknowledgement is there
	for i := range done {
		done[i] = make(chan struct{})
	}
	var group sync.WaitGroup
	for range watchers {
		watcher, err := watchTasks(memory)
		if err != nil {
			return nil, err
		}
		group.Go(func() {
			own := make([]float64, 0, watchedPosts)
			var err error
			for len(own) < watchedPosts && err == nil {
				var events []storage.Event
				events, err = watcher.Next(context.Background())
				now := time.Now()
				for range events {
					<-done[len(own)]
					own = append(own, max(0, measure.Milliseconds(now.Sub(acknowledged[len(own)]))))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
			if err != nil {
				failed = err
			}
		})
	}
	for i := range watchedPosts {
		if err := memory.CreateTask("m", makeTask(i)); err != nil {
			return nil, err
		}
		acknowledged[i] = time.Now()
		close(done[i])
		time.Sleep(5 * time.Millisecond) // 200 a second
	}
	group.Wait()
	return took, failed
}

// followRate returns how many events a second one watcher gets while others write as
// fast as they can.
func followRate() (float64, error) {
	memory := registry.MakeMemoryRegistry()
	watcher, err := watchTasks(memory)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	written := make(chan error, 1)
	go func() {
		written <- measure.Parallel(4, func(worker int) error {
			task := makeTask(worker)
			for range followed / 8 {
				if err := memory.CreateTask("m", task); err != nil {
					return err
				}
				if err := memory.DeleteTask(task.ID); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	for got := 0; got < followed; {
		events, err := watcher.Next(context.Background())
		if err != nil {
			return 0, err
		}
		got += len(events)
	}
	took := time.Since(start)
	return followed / took.Seconds(), <-written
}
