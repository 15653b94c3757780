package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"kube2014/bench/measure"
)

const (
	watchedPosts = 1000 // ten are later than p99
	watchers     = 100
	eventComes   = 10 * time.Second // at the latest
)

// measureWatches measures how soon an acknowledged POST is an event at the last of some
// watchers. The next POST waits for it.
func measureWatches(c *comparison, sides []*side) error {
	bare, err := c.StartSelf("-bare")
	if err != nil {
		return err
	}
	latest := map[*side]percentiles{}
	return c.byTurns(append(slices.Clone(sides), &side{name: onNothing, Process: measure.Process{Server: bare}}),
		measurement{"POST to event, 100 watchers, p50", " ms", goals{inMemory: 2}, func(s *side, _ int) (float64, error) {
			late, err := s.eventTimes()
			latest[s] = late
			return late.p50, err
		}},
		measurement{"POST to event, 100 watchers, p99", " ms", goals{inMemory: 1}, func(s *side, _ int) (float64, error) { return latest[s].p99, nil }},
	)
}

type percentiles struct{ p50, p99 float64 }

func percentilesOf(values []float64) percentiles {
	values = slices.Sorted(slices.Values(values))
	return percentiles{values[len(values)/2], values[len(values)*99/100]}
}

// eventTimes creates pods one after the other, waits for the event of each at all watchers,
// and deletes them.
func (s *side) eventTimes() (percentiles, error) {
	version, err := s.version()
	if err != nil {
		return percentiles{}, err
	}
	arrived, failed := make(chan time.Time, watchers), make(chan error, watchers)
	var group sync.WaitGroup
	defer group.Wait()
	for range watchers {
		conn, events, err := s.watch(version)
		if err != nil {
			return percentiles{}, err
		}
		defer conn.Close()
		group.Go(func() {
			for i := range watchedPosts {
				if err := nextCreated(events, extraName(i)); err != nil {
					failed <- err
					return
				}
				arrived <- time.Now()
			}
		})
	}
	late, err := s.postAndWait(arrived, failed)
	if err != nil {
		return percentiles{}, err
	}
	return percentilesOf(late), s.deleteExtra(watchedPosts)
}

// postAndWait returns for each POST the time from its answer to the event at the last
// watcher, in milliseconds; a microsecond if the event was there first.
func (s *side) postAndWait(arrived <-chan time.Time, failed <-chan error) (late []float64, err error) {
	conn, err := s.Dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	for i := range watchedPosts {
		if _, err := conn.Do(post(extraName(i), i, 20000), false); err != nil {
			return nil, err
		}
		answered := time.Now()
		var last time.Time
		for range watchers {
			select {
			case at := <-arrived:
				last = at
			case err := <-failed:
				return nil, err
			case <-time.After(eventComes):
				return nil, fmt.Errorf("the event of pod %s has not come", extraName(i))
			}
		}
		late = append(late, max(0.001, measure.Milliseconds(last.Sub(answered))))
	}
	return late, nil
}

// version returns the version that watches begin at.
func (s *side) version() (string, error) {
	body, err := s.ask("GET", podsPath+"?limit=1", nil)
	if err != nil {
		return "", err
	}
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	err = json.Unmarshal(body, &list)
	return list.Metadata.ResourceVersion, err
}

// watch opens a watch of the pods from a version on.
func (s *side) watch(version string) (io.Closer, *bufio.Reader, error) {
	conn, err := s.Dial()
	if err != nil {
		return nil, nil, err
	}
	stream, err := conn.Stream(request("GET", podsPath+"?watch=1&resourceVersion="+version, nil))
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, bufio.NewReaderSize(stream, 64<<10), nil
}

// nextCreated reads events until the one that says that a pod was created. It reads no
// more of them than it must, to be fast.
func nextCreated(events *bufio.Reader, pod string) error {
	for {
		line, err := events.ReadSlice('\n')
		if err != nil {
			return err
		}
		switch {
		case bytes.HasPrefix(line, []byte(`{"type":"ADDED"`)) && bytes.Contains(line, []byte(`"name":"`+pod+`"`)):
			return nil
		case bytes.HasPrefix(line, []byte(`{"type":"ERROR"`)):
			return fmt.Errorf("the watch has ended: %s", line)
		}
	}
}
