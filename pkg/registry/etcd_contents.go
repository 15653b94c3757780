package registry

import (
	"maps"
	"slices"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// contents is the part of etcd that concerns tasks, at one moment. It has no
// lock of its own.
type contents struct {
	machines map[string]*knownMachine
	tasks    taskIndex
	broken   []*storedTask            // values of task keys that cannot be decoded
	others   map[string]unreadableKey // other keys that cannot be decoded, but for lists of manifests
	specs    map[string]*etcd.Node    // id → service
	services []api.Service            // of the specs, sorted by id; nil until they are asked for
}

// knownMachine is a machine with what first fit asks about it.
type knownMachine struct {
	state *machineState
	taken portOwners // nil until it is asked for
}

// knownList is a list of manifests whose value needs no decoding.
type knownList struct {
	value   string
	entries []manifestEntry
}

func makeContents() *contents {
	return &contents{machines: map[string]*knownMachine{}, tasks: makeTaskIndex(), specs: map[string]*etcd.Node{}}
}

// readContents decodes /registry; root is nil if it does not exist. What has not
// changed since the older states is not decoded again.
func readContents(root *etcd.Node, index uint64, older map[string]*machineState) *contents {
	c := makeContents()
	for _, directory := range nodesOf(child(root, baseName(hostsKey))) {
		machine := baseName(directory.Key)
		state := makeMachineState(machine, directory, index, older[machine])
		c.machines[machine] = &knownMachine{state: state}
		for _, task := range state.tasks {
			c.show(task)
		}
	}
	c.others = unreadableBelow(root)
	for _, stored := range nodesOf(child(child(root, baseName(servicesKey)), baseName(specsKey))) {
		c.specs[baseName(stored.Key)] = stored
	}
	return c
}

func (c *contents) states() map[string]*machineState {
	states := map[string]*machineState{}
	for machine, known := range c.machines {
		states[machine] = known.state
	}
	return states
}

func (c *contents) state(machine string) *machineState {
	if known := c.machines[machine]; known != nil {
		return known.state
	}
	return &machineState{machine: machine}
}

// apply applies a change; a deletion has no value.
func (c *contents) apply(change *etcd.Node, lists map[string]knownList) {
	machine, name := machineOf(change.Key), baseName(change.Key)
	delete(c.others, change.Key)
	switch change.Key {
	case taskKey(machine, name):
		c.applyTask(machine, name, change)
	case kubeletKey(machine):
		c.machines[machine] = &knownMachine{state: c.state(machine).withList(change, lists[machine])}
	case specKey(name):
		if c.specs[name] = change; change.Value == "" {
			delete(c.specs, name)
		}
		c.services = nil
	}
}

func (c *contents) applyTask(machine, id string, change *etcd.Node) {
	state := c.state(machine)
	if place, found := findTask(state.tasks, id); found && state.tasks[place].entry != nil {
		c.tasks.remove(state.tasks[place].entry, state.tasks[place].task.Labels)
	}
	c.broken = slices.DeleteFunc(c.broken, func(task *storedTask) bool { return task.machine == machine && task.id() == id })
	state = state.withTask(id, change)
	c.machines[machine] = &knownMachine{state: state}
	if place, found := findTask(state.tasks, id); found {
		c.show(state.tasks[place])
	}
}

// show adds a task to the index, or to broken if it cannot be decoded.
func (c *contents) show(task *storedTask) {
	if task.read(); task.err != nil {
		c.broken = append(c.broken, task)
		return
	}
	c.tasks.put(task.entry, task.task.Labels)
}

// find returns the machine of a task, "" when it is not there. If it is on
// several machines, it returns one of them.
func (c *contents) find(taskID string) string {
	if stored := c.stored(taskID); stored != nil {
		return stored.machine
	}
	return ""
}

// places returns on how many machines a task is, broken ones included: 2 for
// more.
func (c *contents) places(taskID string) int {
	places := 0
	if first := c.tasks.byID.get(taskID); first != nil {
		places++
		if c.tasks.byID.getFrom(taskID, first.machine()+"\x00") != nil {
			places++
		}
	}
	for _, broken := range c.broken {
		if broken.id() == taskID {
			places++
		}
	}
	return min(places, 2)
}

// stored returns a task, which may be broken; nil when it is not there.
func (c *contents) stored(taskID string) *storedTask {
	for _, broken := range c.broken {
		if broken.id() == taskID {
			return broken
		}
	}
	entry := c.tasks.byID.get(taskID)
	if entry == nil {
		return nil
	}
	state := c.state(entry.machine())
	place, _ := findTask(state.tasks, taskID)
	return state.tasks[place]
}

// listServices returns the services, false when one of them is broken. The
// caller must not change them.
func (c *contents) listServices() ([]api.Service, bool) {
	if c.services == nil {
		services := []api.Service{}
		for _, id := range slices.Sorted(maps.Keys(c.specs)) {
			var service api.Service
			if decode(serviceKind, c.specs[id], &service) != nil {
				return nil, false // logged where the services are read
			}
			services = append(services, service.WithID(id).(api.Service))
		}
		c.services = services
	}
	return c.services, true
}

// portOwners returns who has the host ports of a machine.
func (c *contents) portOwners(machine string) portOwners {
	known := c.machines[machine]
	if known == nil {
		return nil
	}
	if known.taken == nil {
		known.taken = known.state.portOwners("")
	}
	return known.taken
}
