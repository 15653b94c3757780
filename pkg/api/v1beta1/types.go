// Package v1beta1 has the API of June 2014: its wire types, and how they are
// converted to and from the internal objects. It is frozen.
package v1beta1

// ContainerManifest describes a group of containers that run together on one
// machine. The kubelet reads it.
type ContainerManifest struct {
	Version    string      `yaml:"version" json:"version"`
	Volumes    []Volume    `yaml:"volumes" json:"volumes"`
	Containers []Container `yaml:"containers" json:"containers"`
	Id         string      `yaml:"id,omitempty" json:"id,omitempty"`
}

// Volume is a directory that the containers of a manifest can share.
type Volume struct {
	Name string `yaml:"name" json:"name"`
}

// Port maps a port of the machine to a port of a container. 0 means no port.
type Port struct {
	Name          string `yaml:"name,omitempty" json:"name,omitempty"`
	HostPort      int    `yaml:"hostPort,omitempty" json:"hostPort,omitempty"`
	ContainerPort int    `yaml:"containerPort,omitempty" json:"containerPort,omitempty"`
	Protocol      string `yaml:"protocol,omitempty" json:"protocol,omitempty"`
}

// VolumeMount mounts a volume of the manifest in a container.
type VolumeMount struct {
	Name      string `yaml:"name,omitempty" json:"name,omitempty"`
	ReadOnly  bool   `yaml:"readOnly,omitempty" json:"readOnly,omitempty"`
	MountPath string `yaml:"mountPath,omitempty" json:"mountPath,omitempty"`
}

// EnvVar is an environment variable of a container.
type EnvVar struct {
	Name  string `yaml:"name,omitempty" json:"name,omitempty"`
	Value string `yaml:"value,omitempty" json:"value,omitempty"`
}

// Container is one container of a manifest. Memory is in bytes; the original
// gives CPU no unit.
type Container struct {
	Name         string        `yaml:"name,omitempty" json:"name,omitempty"`
	Image        string        `yaml:"image,omitempty" json:"image,omitempty"`
	Command      string        `yaml:"command,omitempty" json:"command,omitempty"`
	WorkingDir   string        `yaml:"workingDir,omitempty" json:"workingDir,omitempty"`
	Ports        []Port        `yaml:"ports,omitempty" json:"ports,omitempty"`
	Env          []EnvVar      `yaml:"env,omitempty" json:"env,omitempty"`
	Memory       int           `yaml:"memory,omitempty" json:"memory,omitempty"`
	CPU          int           `yaml:"cpu,omitempty" json:"cpu,omitempty"`
	VolumeMounts []VolumeMount `yaml:"volumeMounts,omitempty" json:"volumeMounts,omitempty"`
}

// Event is what a kubelet of that time recorded about a container. The
// apiserver neither reads nor writes it.
type Event struct {
	Event     string             `json:"event,omitempty"`
	Manifest  *ContainerManifest `json:"manifest,omitempty"`
	Container *Container         `json:"container,omitempty"`
	Timestamp int64              `json:"timestamp"`
}

// JSONBase is embedded in every object that the API stores.
type JSONBase struct {
	Kind              string `json:"kind,omitempty" yaml:"kind,omitempty"`
	ID                string `json:"id,omitempty" yaml:"id,omitempty"`
	CreationTimestamp string `json:"creationTimestamp,omitempty" yaml:"creationTimestamp,omitempty"`
	SelfLink          string `json:"selfLink,omitempty" yaml:"selfLink,omitempty"`
}

// TaskState is the desired or the current state of a task. Host is its machine;
// Info is any JSON that the machine's kubelet answered.
type TaskState struct {
	Manifest ContainerManifest `json:"manifest,omitempty" yaml:"manifest,omitempty"`
	Status   string            `json:"status,omitempty" yaml:"status,omitempty"`
	Host     string            `json:"host,omitempty" yaml:"host,omitempty"`
	HostIP   string            `json:"hostIP,omitempty" yaml:"hostIP,omitempty"`
	Info     interface{}       `json:"info,omitempty" yaml:"info,omitempty"`
}

// Task is a manifest with labels, placed on one machine. Kubernetes later
// renamed it pod.
type Task struct {
	JSONBase     `json:",inline" yaml:",inline"`
	Labels       map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
	DesiredState TaskState         `json:"desiredState,omitempty" yaml:"desiredState,omitempty"`
	CurrentState TaskState         `json:"currentState,omitempty" yaml:"currentState,omitempty"`
}

// TaskList is a list of tasks.
type TaskList struct {
	JSONBase
	Items []Task `json:"items" yaml:"items,omitempty"`
}

// TaskTemplate is what a replication controller makes tasks from.
type TaskTemplate struct {
	DesiredState TaskState         `json:"desiredState,omitempty" yaml:"desiredState,omitempty"`
	Labels       map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
}

// ReplicationControllerState is the wanted number of tasks, the labels of the
// tasks that count, and the template of new ones.
type ReplicationControllerState struct {
	Replicas      int               `json:"replicas" yaml:"replicas"`
	ReplicasInSet map[string]string `json:"replicasInSet,omitempty" yaml:"replicasInSet,omitempty"`
	TaskTemplate  TaskTemplate      `json:"taskTemplate,omitempty" yaml:"taskTemplate,omitempty"`
}

// ReplicationController keeps a number of identical tasks running. The apiserver
// only stores it; the controller manager acts on it.
type ReplicationController struct {
	JSONBase     `json:",inline" yaml:",inline"`
	DesiredState ReplicationControllerState `json:"desiredState,omitempty" yaml:"desiredState,omitempty"`
	Labels       map[string]string          `json:"labels,omitempty" yaml:"labels,omitempty"`
}

// ReplicationControllerList is a list of replication controllers. The JSON of an
// empty one is {}, as in the original.
type ReplicationControllerList struct {
	JSONBase
	Items []ReplicationController `json:"items,omitempty" yaml:"items,omitempty"`
}

// Service gives a set of tasks one name and one port. It selects the tasks that
// have all of its labels.
type Service struct {
	JSONBase
	Port   int               `json:"port,omitempty" yaml:"port,omitempty"`
	Labels map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
}

// ServiceList is a list of services.
type ServiceList struct {
	Items []Service `json:"items" yaml:"items"`
}

// Endpoints are the addresses (HOST:PORT) of a service's tasks. The proxy reads
// them.
type Endpoints struct {
	Name      string
	Endpoints []string
}
