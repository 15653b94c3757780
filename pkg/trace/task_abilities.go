package trace

import (
	"kube2014/pkg/api"
	"kube2014/pkg/conversion"
	"kube2014/pkg/registry"
)

// TaskRegistry traces a task registry. A Versioned one stays so. Another one keeps
// its three optional interfaces if it has all of them; otherwise callers get none.
func (t *Tracer) TaskRegistry(next registry.TaskRegistry) registry.TaskRegistry {
	tasks := taskRegistry{t, next}
	if own, ok := next.(registry.Versioned); ok {
		return struct {
			taskRegistry
			versioned
		}{tasks, versioned{own}}
	}
	index, isIndex := next.(registry.HostPortIndex)
	selector, isSelector := next.(registry.EndpointSelector)
	encoder, isEncoder := next.(registry.TaskEncoder)
	if !isIndex || !isSelector || !isEncoder {
		return tasks
	}
	return struct {
		taskRegistry
		hostPortIndex
		endpointSelector
		taskEncoder
	}{tasks, hostPortIndex{t, index}, endpointSelector{t, selector}, taskEncoder{t, encoder}}
}

type hostPortIndex struct {
	indexT *Tracer
	index  registry.HostPortIndex
}

func (i hostPortIndex) FirstFree(machines []string, task api.Task, refused map[string]bool) (string, error) {
	arguments := []string{machinesWords(machines), words(task)}
	return ask(i.indexT, called(i.index, "FirstFree", append(arguments, refusals(refused)...)...), machineWords,
		func() (string, error) { return i.index.FirstFree(machines, task, refused) })
}

type endpointSelector struct {
	selectorT *Tracer
	selector  registry.EndpointSelector
}

// SelectEndpoints also traces each call of the function that it returns.
func (s endpointSelector) SelectEndpoints() (func(query map[string]string) []string, error) {
	method := called(s.selector, "SelectEndpoints")
	selected, err := ask(s.selectorT, method, func(func(map[string]string) []string) string { return "a function of labels" }, s.selector.SelectEndpoints)
	if err != nil {
		return nil, err
	}
	return func(query map[string]string) []string {
		found, _ := ask(s.selectorT, method+"("+labels(query)+")", addresses, func() ([]string, error) { return selected(query), nil })
		return found
	}, nil
}

type taskEncoder struct {
	encoderT *Tracer
	encoder  registry.TaskEncoder
}

func (e taskEncoder) EncodedTask(taskID string) (conversion.Encoded, string, error) {
	var machine string
	onMachine := func(task conversion.Encoded) string { return words(task) + ", on " + cut(machine, maxValue) }
	task, err := ask(e.encoderT, called(e.encoder, "EncodedTask", api.Quote(taskID)), onMachine, func() (task conversion.Encoded, err error) {
		task, machine, err = e.encoder.EncodedTask(taskID)
		return task, err
	})
	return task, machine, err
}

func (e taskEncoder) EncodedTasks(query map[string]string) (conversion.Encoded, error) {
	return ask(e.encoderT, called(e.encoder, "EncodedTasks", labels(query)), encodedWords,
		func() (conversion.Encoded, error) { return e.encoder.EncodedTasks(query) })
}
