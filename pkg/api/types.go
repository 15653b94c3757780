// Package api holds what the apiserver and its clients exchange: the wire
// types of June 2014, the errors an answer can carry, and the rules an object
// has to follow to be accepted.
package api

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

// Port connects a port of the machine with one of a container. A number of 0
// means that there is none.
type Port struct {
	Name          string `yaml:"name,omitempty" json:"name,omitempty"`
	HostPort      int    `yaml:"hostPort,omitempty" json:"hostPort,omitempty"`
	ContainerPort int    `yaml:"containerPort,omitempty" json:"containerPort,omitempty"`
	Protocol      string `yaml:"protocol,omitempty" json:"protocol,omitempty"`
}

// VolumeMount puts a volume of the manifest into a container's file tree.
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

// GetID returns the object's id, "" when it has none.
func (b JSONBase) GetID() string { return b.ID }

// TaskState is a state that a task is wanted in or was seen in. Host is the
// machine, Info what its kubelet answered: any JSON.
type TaskState struct {
	Manifest ContainerManifest `json:"manifest,omitempty" yaml:"manifest,omitempty"`
	Status   string            `json:"status,omitempty" yaml:"status,omitempty"`
	Host     string            `json:"host,omitempty" yaml:"host,omitempty"`
	HostIP   string            `json:"hostIP,omitempty" yaml:"hostIP,omitempty"`
	Info     interface{}       `json:"info,omitempty" yaml:"info,omitempty"`
}

// Task is a manifest with labels, placed on one machine. A later Kubernetes
// calls it a pod.
type Task struct {
	JSONBase     `json:",inline" yaml:",inline"`
	Labels       map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
	DesiredState TaskState         `json:"desiredState,omitempty" yaml:"desiredState,omitempty"`
	CurrentState TaskState         `json:"currentState,omitempty" yaml:"currentState,omitempty"`
}

// WithID returns a copy of the task that has the id. The copy shares the
// task's maps and slices.
func (t Task) WithID(id string) interface{} { t.ID = id; return t }

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

// ReplicationControllerState says how many tasks there shall be, which ones
// count, and how a missing one is made.
type ReplicationControllerState struct {
	Replicas      int               `json:"replicas" yaml:"replicas"`
	ReplicasInSet map[string]string `json:"replicasInSet,omitempty" yaml:"replicasInSet,omitempty"`
	TaskTemplate  TaskTemplate      `json:"taskTemplate,omitempty" yaml:"taskTemplate,omitempty"`
}

// ReplicationController keeps a number of equal tasks alive. The apiserver
// only stores it; the controller manager acts on it.
type ReplicationController struct {
	JSONBase     `json:",inline" yaml:",inline"`
	DesiredState ReplicationControllerState `json:"desiredState,omitempty" yaml:"desiredState,omitempty"`
	Labels       map[string]string          `json:"labels,omitempty" yaml:"labels,omitempty"`
}

// WithID returns a copy of the controller that has the id. The copy shares the
// controller's maps and slices.
func (c ReplicationController) WithID(id string) interface{} { c.ID = id; return c }

// ReplicationControllerList is a list of replication controllers. Empty, its
// JSON is {}: the original leaves empty items out.
type ReplicationControllerList struct {
	JSONBase
	Items []ReplicationController `json:"items,omitempty" yaml:"items,omitempty"`
}

// Service gives a set of tasks a port under one name. Its labels select the
// tasks: those that carry all of them.
type Service struct {
	JSONBase
	Port   int               `json:"port,omitempty" yaml:"port,omitempty"`
	Labels map[string]string `json:"labels,omitempty" yaml:"labels,omitempty"`
}

// WithID returns a copy of the service that has the id. The copy shares the
// service's map.
func (s Service) WithID(id string) interface{} { s.ID = id; return s }

// ServiceList is a list of services.
type ServiceList struct {
	Items []Service `json:"items" yaml:"items"`
}

// Endpoints are the addresses, HOST:PORT, at which a service's tasks are
// reached. The proxy reads them.
type Endpoints struct {
	Name      string
	Endpoints []string
}

// WithID returns a copy of the endpoints that is of the service with the id. The
// copy shares the slice.
func (e Endpoints) WithID(id string) interface{} { e.Name = id; return e }
