package registry

import (
	"errors"
	"slices"
	"time"

	"kube2014/pkg/api"
)

// reservation keeps host ports on a machine for a task that is about to be
// created there, so that concurrent requests do not all choose the same machine.
// It is only a hint: the list decides.
type reservation struct {
	machine string
	ports   []int
	until   time.Time
}

const reservationTime = 5 * time.Second

// firstFree returns the first of the machines on which, according to the cache,
// the task's host ports are free, and reserves them. If they are free only where
// they are reserved, it returns such a machine; "" if there is none. It passes over
// machines that cannot be decoded (D41): passedOver is the reason for the first of
// them, nil if there is none.
func (m *mirror) firstFree(machines []string, task api.Task, refused map[string]bool, now time.Time) (free string, passedOver error) {
	ports := hostPorts(task)
	m.mu.Lock()
	defer m.mu.Unlock()
	reserved := m.reservedPorts(task.ID, ports, now)
	for _, machine := range machines {
		if why := m.contents.whyPassedOver(machine); why != nil {
			if passedOver == nil {
				passedOver = &api.Error{Kind: api.Internal, Err: errors.Unwrap(why),
					Message: "no machine takes task " + api.Quote(task.ID) + ": machine " + machine + " is passed over, " + why.Error()}
			}
			continue
		}
		if _, owner := m.contents.portOwners(machine).other(task.ID, ports); owner != "" || refused[machine] {
			continue
		}
		if !reserved[machine] {
			m.reserved[task.ID] = reservation{machine: machine, ports: ports, until: now.Add(reservationTime)}
			return machine, passedOver
		}
		if free == "" {
			free = machine
		}
	}
	return free, passedOver
}

// reservedPorts returns the machines where one of the ports is reserved for
// another task.
func (m *mirror) reservedPorts(taskID string, ports []int, now time.Time) map[string]bool {
	machines := map[string]bool{}
	for id, r := range m.reserved {
		if now.After(r.until) {
			delete(m.reserved, id)
			continue
		}
		for _, port := range r.ports {
			if id != taskID && slices.Contains(ports, port) {
				machines[r.machine] = true
			}
		}
	}
	return machines
}

// unreserve ends a task's reservation.
func (m *mirror) unreserve(taskID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.reserved, taskID)
}

// FirstFree implements HostPortIndex.
func (registry *EtcdRegistry) FirstFree(machines []string, task api.Task, refused map[string]bool) (string, error) {
	if err := registry.mirror.fresh("place task"); err != nil {
		return "", err
	}
	machine, passedOver := registry.mirror.firstFree(machines, task, refused, registry.now())
	if passedOver != nil {
		registry.warnOfUnreadable()
	}
	if machine != "" {
		return machine, nil
	}
	return "", passedOver
}
