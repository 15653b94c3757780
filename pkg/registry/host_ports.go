package registry

import "kube2014/pkg/api"

// hostPorts returns the host ports that a task wants.
func hostPorts(task api.Task) []int { return task.HostPorts() }

// portOwners maps the host ports of one machine to the tasks that have them. It
// has no lock of its own.
type portOwners map[int]string

func (owners portOwners) take(taskID string, ports []int) {
	for _, port := range ports {
		owners[port] = taskID
	}
}

// other returns the first of the ports that another task has, and that task; ""
// when there is none.
func (owners portOwners) other(taskID string, ports []int) (port int, owner string) {
	for _, port := range ports {
		if owner := owners[port]; owner != "" && owner != taskID {
			return port, owner
		}
	}
	return 0, ""
}

// check returns an api.HostPortTaken error when another task on the machine, whose
// ports these are, has one of the task's ports.
func (owners portOwners) check(machine string, task api.Task) error {
	if port, owner := owners.other(task.ID, hostPorts(task)); owner != "" {
		return api.NewHostPortTaken(task.ID, port, machine, owner)
	}
	return nil
}

// portTable has the owners of the host ports of each machine. It has no lock of
// its own.
type portTable map[string]portOwners

var _ HostPortIndex = portTable(nil)

// listHostPorts makes the table of all tasks of a registry.
func listHostPorts(registry TaskRegistry) (portTable, error) {
	tasks, err := registry.ListTasks(nil)
	if err != nil {
		return nil, err
	}
	table := portTable{}
	for _, task := range tasks {
		table.of(task.CurrentState.Host).take(task.ID, hostPorts(task))
	}
	return table, nil
}

// of returns the owners of a machine's ports, to be changed.
func (table portTable) of(machine string) portOwners {
	if table[machine] == nil {
		table[machine] = portOwners{}
	}
	return table[machine]
}

// FirstFree implements HostPortIndex. Its cost depends on the machines that it
// skips, not on the number of tasks.
func (table portTable) FirstFree(machines []string, task api.Task, refused map[string]bool) (string, error) {
	ports := hostPorts(task)
	for _, machine := range machines {
		if _, owner := table[machine].other(task.ID, ports); owner == "" && !refused[machine] {
			return machine, nil
		}
	}
	return "", nil
}
