package etcd2

import (
	"sync"

	"kube2014/pkg/api"
)

// portsInFlight are the host ports of the creates and bindings of this process that
// have not ended. They keep concurrent requests from choosing the same machine for one port;
// the list of manifests decides.
type portsInFlight struct {
	mu    sync.Mutex // guards owner
	owner map[hostPort]*api.Task
}

type hostPort struct {
	machine string
	port    int
}

// take takes the host ports of a task on its machine, if it has one, until it is
// released. It returns an api.HostPortTaken error if another create has one of them.
func (p *portsInFlight) take(task *api.Task) error {
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
		p.owner[hostPort{machine, port}] = task
	}
	return nil
}

func (p *portsInFlight) release(task *api.Task) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, port := range task.HostPorts() {
		if place := (hostPort{task.CurrentState.Host, port}); p.owner[place] == task {
			delete(p.owner, place)
		}
	}
}

// isTaken reports whether another create has one of the host ports on a machine.
func (p *portsInFlight) isTaken(machine string, ports []int, taskID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, owner := p.find(machine, ports, taskID)
	return owner != nil
}

func (p *portsInFlight) find(machine string, ports []int, taskID string) (int, *api.Task) {
	for _, port := range ports {
		if owner := p.owner[hostPort{machine, port}]; owner != nil && owner.ID != taskID {
			return port, owner
		}
	}
	return 0, nil
}
