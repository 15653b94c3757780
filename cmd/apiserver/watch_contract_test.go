package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watchedPods is a watch of a selection, with all that it told.
type watchedPods struct {
	*watcher
	selection
	from    uint64 // the version after which it began, or 0: it began with what there was
	initial bool   // what there was is being told
	events  []event
}

// watchPods begins a watch after a version, or at 0 with what there is.
func watchPods(url string, s selection, from uint64) (*watchedPods, error) {
	query := fmt.Sprint("resourceVersion=", from)
	if from == 0 {
		query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	}
	w, err := tryWatch(patient, fmt.Sprintf("%s/api/v1/pods?watch=1&%s&%s", url, s.query(), query))
	return &watchedPods{w, s, from, from == 0, nil}, err
}

// readSome reads so many events, or up to the last one.
func (w *watchedPods) readSome(most int) (ended bool, err error) {
	for ; most > 0 && !ended; most-- {
		e, err := w.read()
		if err != nil {
			return false, fmt.Errorf("after %d events: %w", len(w.events), err)
		}
		w.events = append(w.events, e)
		w.initial = w.initial && e.Type != "BOOKMARK"
		ended = !w.initial && slices.ContainsFunc(w.events, isLast)
	}
	return ended, nil
}

// check requires that the watch has told what happened.
func (w *watchedPods) check(t *testing.T, o *oracle) {
	var told []string
	from, begun := w.from, w.from > 0
	for _, e := range w.events {
		if e.Type != "BOOKMARK" {
			told = append(told, e.String())
			continue
		}
		require.False(t, begun)
		from, begun = e.version(), true
		require.Equal(t, map[string]string{metav1.InitialEventsAnnotationKey: "true"}, e.about.Annotations)
		initial, err := o.initially(from, w.selection)
		require.NoError(t, err)
		require.Equal(t, initial, told, "what there is at version %d, of %v", from, w.selection)
		told = nil
	}
	require.True(t, begun, w.selection)
	wanted, err := o.after(from, w.selection)
	require.NoError(t, err)
	require.Equal(t, wanted, told, "after version %d, of %v", from, w.selection)
}

// watchMeanwhile begins watches, each when the one before has told something, until there is
// the last pod, and reads all of them to the end.
func watchMeanwhile(d *doors, url string, random *rand.Rand) (all []*watchedPods, err error) {
	for ended := false; !ended && len(all) < 20; {
		from := uint64(0)
		if random.Intn(3) > 0 {
			var list corev1.PodList
			_, text := d.do("GET", todaysPods, "", "")
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				return all, err
			}
			if from, err = strconv.ParseUint(list.ResourceVersion, 10, 64); err != nil {
				return all, err
			}
			for _, pod := range list.Items {
				if pod.Annotations["end"] != "" {
					return all, nil
				}
			}
		}
		w, err := watchPods(url, selections[random.Intn(len(selections))], from)
		if err != nil {
			return all, err
		}
		all = append(all, w)
		if ended, err = w.readSome(1 + random.Intn(10)); err != nil {
			return all, err
		}
	}
	return all, nil
}

// readToTheEnd reads the rest of watches.
func readToTheEnd(t *testing.T, all []*watchedPods) {
	for _, w := range all {
		ended := slices.ContainsFunc(w.events, isLast) && !w.initial
		for !ended {
			var err error
			ended, err = w.readSome(1000)
			require.NoError(t, err)
		}
		w.body.Close()
	}
}

// Four write through both doors, on etcd through two apiservers. Whoever watches, with any
// selection, before, meanwhile or later, from any version or with what there is, is told
// each later change of it once, in order: the same as follows from what was told to who
// watches all from the beginning.
func TestAWatchTellsEachLaterChangeOfWhatItSelectsOnce(t *testing.T) {
	t.Parallel()
	for name, open := range twoDoors {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			w := &writers{t: t, both: open(t, "-machines", "m1,m2", "-scheduler", "none")}
			var urls []string
			var first []*watchedPods // at each apiserver, before anything is written
			for _, d := range w.both {
				urls = append(urls, d.listen())
				begun, err := watchPods(urls[len(urls)-1], selections[0], d.version())
				require.NoError(t, err)
				first = append(first, begun)
			}
			var watching sync.WaitGroup
			var mu sync.Mutex // guards meanwhile
			var meanwhile []*watchedPods
			for i := range 4 {
				watching.Go(func() {
					n := i % len(urls)
					all, err := watchMeanwhile(w.both[n], urls[n], rand.New(rand.NewSource(int64(i))))
					assert.NoError(t, err)
					mu.Lock()
					defer mu.Unlock()
					meanwhile = append(meanwhile, all...)
				})
			}
			w.run(triesOfEach(t, name))
			w.end()
			readToTheEnd(t, first)
			watching.Wait()
			readToTheEnd(t, meanwhile)

			changes, err := changesOf(first[0].events)
			require.NoError(t, err)
			o, told := &oracle{changes, map[selection][]telling{}}, map[string]bool{}
			for _, c := range changes {
				told[c.after] = true
			}
			for _, pod := range w.acknowledged {
				require.True(t, told[pod], "a change that was acknowledged: %s", pod)
			}
			for _, begun := range append(first, meanwhile...) {
				begun.check(t, o)
			}
			for i, c := range changes[:len(changes)-1] {
				later, err := watchPods(urls[i%len(urls)], selections[i%len(selections)], c.version)
				require.NoError(t, err)
				readToTheEnd(t, []*watchedPods{later})
				later.check(t, o)
			}
			t.Logf("%d changes, %d watches meanwhile", len(changes), len(meanwhile))
		})
	}
}

// triesOfEach is how many changes each of four tries to make. On etcd2 an apiserver follows
// 500 changes of another one at a time, and one of a pod may be several of etcd's.
func triesOfEach(t *testing.T, store string) int {
	if store != "etcd" {
		return max(50, manyWatchers(t)/4)
	}
	return 25
}
