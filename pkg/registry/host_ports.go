package registry

import "kube2014/pkg/api"

// hostPorts returns the host ports that a task wants. Port 0 is none: it
// collides with nothing (D19).
func hostPorts(task api.Task) []int {
	var ports []int
	for _, container := range task.DesiredState.Manifest.Containers {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				ports = append(ports, port.HostPort)
			}
		}
	}
	return ports
}

// portTable tells which task has a host port: port → machine → task id. It has no
// lock of its own.
type portTable map[int]map[string]string

var _ HostPortIndex = portTable(nil)

// listHostPorts makes the table of all tasks of a registry.
func listHostPorts(registry TaskRegistry) (portTable, error) {
	tasks, err := registry.ListTasks(nil)
	if err != nil {
		return nil, err
	}
	table := portTable{}
	for _, task := range tasks {
		table.take(task.CurrentState.Host, task.ID, hostPorts(task))
	}
	return table, nil
}

// FirstFree implements HostPortIndex. What it costs depends on the machines that
// it has to pass, not on the tasks.
func (table portTable) FirstFree(machines []string, task api.Task, refused map[string]bool) (string, error) {
	ports := hostPorts(task)
	for _, machine := range machines {
		if !refused[machine] && table.free(machine, task.ID, ports) {
			return machine, nil
		}
	}
	return "", nil
}

func (table portTable) free(machine, taskID string, ports []int) bool {
	for _, port := range ports {
		if owner, taken := table[port][machine]; taken && owner != taskID {
			return false
		}
	}
	return true
}

// check returns an api.HostPortTaken error when another task on the machine
// has one of the task's ports.
func (table portTable) check(machine string, task api.Task) error {
	for _, port := range hostPorts(task) {
		if owner, taken := table[port][machine]; taken && owner != task.ID {
			return api.NewHostPortTaken(task.ID, port, machine, owner)
		}
	}
	return nil
}

func (table portTable) take(machine, taskID string, ports []int) {
	for _, port := range ports {
		if table[port] == nil {
			table[port] = map[string]string{}
		}
		table[port][machine] = taskID
	}
}

func (table portTable) release(machine string, ports []int) {
	for _, port := range ports {
		if delete(table[port], machine); len(table[port]) == 0 {
			delete(table, port)
		}
	}
}
