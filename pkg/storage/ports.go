package storage

import (
	"sync"

	"kube2014/pkg/api"
)

// PortsInFlight are the host ports of the creates and bindings of this process that
// have not ended. They keep concurrent requests from choosing the same machine for one port;
// the store decides. It is safe for concurrent use.
type PortsInFlight struct {
	mu    sync.Mutex // guards owner
	owner map[HostPort]*api.Task
}

// NewPortsInFlight returns what has no ports yet.
func NewPortsInFlight() *PortsInFlight { return &PortsInFlight{owner: map[HostPort]*api.Task{}} }

// Take takes the host ports of a task on its machine, if it has one, until it is
// released. It returns an api.HostPortTaken error if another create has one of them.
func (p *PortsInFlight) Take(task *api.Task) error {
	machine, ports := task.CurrentState.Host, task.HostPorts()
	if machine == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if port, owner := p.find(machine, ports, task.ID); owner != nil {
		return api.NewHostPortTaken(task.ID, port, machine, owner.ID)
	}
	for _, port := range ports {
		p.owner[HostPort{machine, port}] = task
	}
	return nil
}

// Release gives back what Take has taken.
func (p *PortsInFlight) Release(task *api.Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, port := range task.HostPorts() {
		if place := (HostPort{task.CurrentState.Host, port}); p.owner[place] == task {
			delete(p.owner, place)
		}
	}
}

// IsTaken reports whether another create has one of the host ports on a machine.
func (p *PortsInFlight) IsTaken(machine string, ports []int, taskID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, owner := p.find(machine, ports, taskID)
	return owner != nil
}

func (p *PortsInFlight) find(machine string, ports []int, taskID string) (int, *api.Task) {
	for _, port := range ports {
		if owner := p.owner[HostPort{machine, port}]; owner != nil && owner.ID != taskID {
			return port, owner
		}
	}
	return 0, nil
}

// Len returns how many host ports are taken.
func (p *PortsInFlight) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.owner)
}
