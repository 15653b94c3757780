package api

import "fmt"

const (
	// MaxIDLength is the largest number of characters in an id.
	MaxIDLength = 253
	maxPort     = 65535
)

// ValidateID checks that an id can be part of an etcd key, of a URL and of the
// name of an environment variable (D8, D10).
func ValidateID(id string) error {
	switch {
	case id == "":
		return NewInvalid("id", "must not be empty")
	case len(id) > MaxIDLength:
		return NewInvalid("id", "%s has %d characters; at most %d are allowed", Quote(id), len(id), MaxIDLength)
	case !isAlphanumeric(id[0]):
		return NewInvalid("id", "%s must begin with a letter or a digit", Quote(id))
	}
	for i := range len(id) {
		if c := id[i]; !isAlphanumeric(c) && c != '.' && c != '_' && c != '-' {
			return NewInvalid("id", "%s may contain only letters, digits, '.', '_' and '-'", Quote(id))
		}
	}
	return nil
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// ValidateTask checks a task before it is stored.
func ValidateTask(task Task) error {
	if err := ValidateID(task.ID); err != nil {
		return err
	}
	return validateManifest("desiredState.manifest", task.DesiredState.Manifest)
}

// ValidateReplicationController checks a controller, and the template of its
// tasks, before it is stored.
func ValidateReplicationController(controller ReplicationController) error {
	if err := ValidateID(controller.ID); err != nil {
		return err
	}
	state := controller.DesiredState
	if state.Replicas < 0 {
		return NewInvalid("desiredState.replicas", "%d is negative", state.Replicas)
	}
	return validateManifest("desiredState.taskTemplate.desiredState.manifest", state.TaskTemplate.DesiredState.Manifest)
}

// ValidateService checks a service before it is stored.
func ValidateService(service Service) error {
	if err := ValidateID(service.ID); err != nil {
		return err
	}
	return validatePort("port", service.Port)
}

func validateManifest(path string, manifest ContainerManifest) error {
	taken := map[int]bool{}
	for i, container := range manifest.Containers {
		for j, port := range container.Ports {
			field := fmt.Sprintf("%s.containers[%d].ports[%d]", path, i, j)
			if err := validatePort(field+".hostPort", port.HostPort); err != nil {
				return err
			}
			if err := validatePort(field+".containerPort", port.ContainerPort); err != nil {
				return err
			}
			if port.HostPort == 0 {
				continue
			}
			if taken[port.HostPort] {
				return NewInvalid(field+".hostPort", "%d is used twice in one task", port.HostPort)
			}
			taken[port.HostPort] = true
		}
	}
	return nil
}

func validatePort(field string, port int) error {
	if port < 0 || port > maxPort {
		return NewInvalid(field, "%d is not between 0 and %d", port, maxPort)
	}
	return nil
}
