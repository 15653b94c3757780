// Package api has the internal version of the objects, to and from which every
// version of the API is converted. It also has the errors in the server's answers,
// and the validation of objects.
package api

// The types here have no JSON form: each version of the API, such as v1beta1,
// defines its own.

// ContainerManifest describes a group of containers that run together on one
// machine. The kubelet reads it.
type ContainerManifest struct {
	Version    string
	Volumes    []Volume
	Containers []Container
	Id         string
}

// Volume is a directory that the containers of a manifest can share.
type Volume struct {
	Name string
}

// Port maps a port of the machine to a port of a container. 0 means no port.
type Port struct {
	Name          string
	HostPort      int
	ContainerPort int
	Protocol      string
}

// VolumeMount mounts a volume of the manifest in a container.
type VolumeMount struct {
	Name      string
	ReadOnly  bool
	MountPath string
}

// EnvVar is an environment variable of a container.
type EnvVar struct {
	Name  string
	Value string
}

// Container is one container of a manifest. Memory is in bytes; the original
// gives CPU no unit.
type Container struct {
	Name         string
	Image        string
	Command      string
	WorkingDir   string
	Ports        []Port
	Env          []EnvVar
	Memory       int
	CPU          int
	VolumeMounts []VolumeMount
}

// JSONBase is embedded in every object that the API stores.
type JSONBase struct {
	Kind              string
	ID                string
	CreationTimestamp string
	SelfLink          string
}

// GetID returns the object's id, "" when it has none.
func (b JSONBase) GetID() string { return b.ID }

// SetID sets the object's id.
func (b *JSONBase) SetID(id string) { b.ID = id }

// TaskState is the desired or the current state of a task. Host is its machine;
// Info is any JSON that the machine's kubelet returned.
type TaskState struct {
	Manifest ContainerManifest
	Status   string
	Host     string
	HostIP   string
	Info     interface{}
}

// Task is a manifest with labels, placed on one machine. Kubernetes later
// renamed it pod.
type Task struct {
	JSONBase
	ObjectMeta
	Labels       map[string]string
	DesiredState TaskState
	CurrentState TaskState

	// IsPod reports whether the task was created as a pod, at the second door. A pod may
	// have no machine yet, and its key in etcd does not contain the machine.
	IsPod bool
	// Held reports whether our scheduler must ignore the pod: another scheduler places it,
	// it has scheduling gates, or it is being deleted.
	Held bool
}

// WithID returns a copy of the task that has the id. The copy shares the
// task's maps and slices.
func (t Task) WithID(id string) interface{} { t.ID = id; return t }

// TaskList is a list of tasks.
type TaskList struct {
	JSONBase
	Items []Task
}

// TaskTemplate is the template from which a replication controller creates tasks.
type TaskTemplate struct {
	DesiredState TaskState
	Labels       map[string]string
}

// ReplicationControllerState is the desired number of tasks, the labels of the
// tasks that count, and the template of new ones.
type ReplicationControllerState struct {
	Replicas      int
	ReplicasInSet map[string]string
	TaskTemplate  TaskTemplate
}

// ReplicationController keeps a number of identical tasks running. The apiserver
// only stores it; the controller manager acts on it.
type ReplicationController struct {
	JSONBase
	ObjectMeta
	DesiredState ReplicationControllerState
	Labels       map[string]string
}

// WithID returns a copy of the controller that has the id. The copy shares the
// controller's maps and slices.
func (c ReplicationController) WithID(id string) interface{} { c.ID = id; return c }

// ReplicationControllerList is a list of replication controllers.
type ReplicationControllerList struct {
	JSONBase
	Items []ReplicationController
}

// Service gives a set of tasks one name and one port. It selects the tasks that
// have all of its labels.
type Service struct {
	JSONBase
	ObjectMeta
	Port   int
	Labels map[string]string

	// SelectsNothing reports whether another program writes the endpoints. Only v1 can
	// express this: in June 2014 a service without labels selects all tasks.
	SelectsNothing bool
}

// WithID returns a copy of the service that has the id. The copy shares the
// service's map.
func (s Service) WithID(id string) interface{} { s.ID = id; return s }

// ServiceList is a list of services.
type ServiceList struct {
	Items []Service
}

// Endpoints are the addresses (HOST:PORT) of a service's tasks. The proxy reads
// them.
type Endpoints struct {
	ObjectMeta
	Name      string
	Endpoints []string

	// Targets are the tasks behind the addresses, in the same order. They are empty if no
	// task is a pod.
	Targets []Target

	// Managed reports whether a controller outside the server maintains the addresses. Only
	// v1 can express this.
	Managed bool
}

// Target is the task behind an address.
type Target struct{ TaskID, UID string }

// SetID sets the id of the service.
func (e *Endpoints) SetID(id string) { e.Name = id }

// WithID returns a copy of the endpoints for the service with the id. The copy
// shares the slice.
func (e Endpoints) WithID(id string) interface{} { e.Name = id; return e }
