package registry

import "github.com/coreos/go-etcd/etcd"

// hosts is what etcd held about all machines at one moment: /registry/hosts.
// Nobody changes it.
type hosts struct {
	machines []*etcd.Node // sorted by key
	index    uint64       // etcd's index at that moment
}

// readHosts reads all machines.
func (registry *EtcdRegistry) readHosts(operation string) (*hosts, error) {
	directory, index, err := registry.readDirectory(operation, hostsKey)
	if err != nil {
		return nil, err
	}
	h := &hosts{index: index}
	if directory != nil {
		h.machines = directory.Nodes
	}
	return h, nil
}

// state returns what is known about a machine.
func (h *hosts) state(machine string) *machineState {
	return makeMachineState(machine, named(h.machines, machine), h.index, nil)
}
