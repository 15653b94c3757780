package registry

// taskIndex holds encoded tasks by id and by label. It has no lock of its own.
type taskIndex struct {
	byID    taskRuns
	byLabel map[label]*taskRuns
}

type label struct{ key, value string }

func makeTaskIndex() taskIndex { return taskIndex{byLabel: map[label]*taskRuns{}} }

// put adds a task that is not here.
func (t *taskIndex) put(entry *taskEntry, labels map[string]string) {
	t.byID.put(entry)
	for key, value := range labels {
		carriers := t.byLabel[label{key, value}]
		if carriers == nil {
			carriers = &taskRuns{}
			t.byLabel[label{key, value}] = carriers
		}
		carriers.put(entry)
	}
}

// remove takes out a task that is here, with the labels that it was put in with.
func (t *taskIndex) remove(entry *taskEntry, labels map[string]string) {
	t.byID.remove(entry)
	for key, value := range labels {
		carriers := t.byLabel[label{key, value}]
		carriers.remove(entry)
		if len(carriers.runs) == 0 {
			delete(t.byLabel, label{key, value})
		}
	}
}

// carrying returns the tasks that carry all labels of the query, sorted by id. A
// query of at most one label only copies a slice.
func (t *taskIndex) carrying(query map[string]string) taskRuns {
	if len(query) == 0 {
		return t.byID.snapshot()
	}
	var sets []*taskRuns
	fewest := 0
	for key, value := range query {
		carriers := t.byLabel[label{key, value}]
		if carriers == nil {
			return taskRuns{}
		}
		sets = append(sets, carriers)
		if len(carriers.runs) < len(sets[fewest].runs) {
			fewest = len(sets) - 1
		}
	}
	if len(sets) == 1 {
		return sets[0].snapshot()
	}
	return intersection(sets, fewest)
}

// intersection returns the tasks that are in all sets; it goes through the set
// with the index from.
func intersection(sets []*taskRuns, from int) taskRuns {
	found := make([]*taskEntry, 0, sets[from].length())
	for entry := range sets[from].all {
		inAll := true
		for i, set := range sets {
			inAll = inAll && (i == from || set.has(entry))
		}
		if inAll {
			found = append(found, entry)
		}
	}
	return makeTaskRuns(found)
}
