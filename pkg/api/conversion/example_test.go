package conversion_test

import (
	"fmt"
	"strconv"

	"kube2014/pkg/api/conversion"
)

// Task is the internal object of a small API, which has two versions.
type Task struct {
	ID          string
	Host        string
	Labels      map[string]string
	Annotations map[string]string // also what only one version can say
	Info        interface{}
}

// TaskV1 is a Task of version v1. It cannot say its annotations.
type TaskV1 struct {
	ID     string            `json:"id"`
	Host   string            `json:"host,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Info   interface{}       `json:"info,omitempty"`
}

// PodV2 is what version v2 makes of a Task: it has another name and other fields,
// and a priority, which the others do not know.
type PodV2 struct {
	Metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels,omitempty"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName,omitempty"`
		Priority int    `json:"priority,omitempty"`
	} `json:"spec"`
	Status interface{} `json:"status,omitempty"`
}

func inTask(in TaskV1) (Task, error) {
	return Task{ID: in.ID, Host: in.Host, Labels: in.Labels, Info: in.Info}, nil
}

func outTask(in Task) (TaskV1, error) {
	return TaskV1{ID: in.ID, Host: in.Host, Labels: in.Labels, Info: in.Info}, nil
}

const priorityAnnotation = "v2/priority"

// inPod keeps the priority as an annotation: the internal object has no field for it.
func inPod(in PodV2) (Task, error) {
	task := Task{ID: in.Metadata.Name, Host: in.Spec.NodeName, Labels: in.Metadata.Labels, Info: in.Status}
	if in.Spec.Priority != 0 {
		task.Annotations = map[string]string{priorityAnnotation: strconv.Itoa(in.Spec.Priority)}
	}
	return task, nil
}

func outPod(in Task) (PodV2, error) {
	var pod PodV2
	pod.Metadata.Name, pod.Metadata.Labels, pod.Spec.NodeName, pod.Status = in.ID, in.Labels, in.Host, in.Info
	priority, ok := in.Annotations[priorityAnnotation]
	if !ok {
		return pod, nil
	}
	var err error
	pod.Spec.Priority, err = strconv.Atoi(priority)
	return pod, err
}

// newScheme returns the scheme of the small API.
func newScheme() *conversion.Scheme {
	scheme := conversion.NewScheme()
	scheme.AddKnownTypes(conversion.Internal, Task{})
	scheme.AddKnownTypes("v2", PodV2{})
	scheme.AddKnownTypes("v1", TaskV1{})
	conversion.AddFuncs(scheme, inTask, outTask)
	conversion.AddFuncs(scheme, inPod, outPod)
	return scheme
}

// A task of v1 becomes a pod of v2 by way of the internal object, so that neither
// version needs to know the other.
func ExampleScheme_ConvertToVersion() {
	scheme := newScheme()
	old := TaskV1{ID: "web-1", Host: "machine-7"}

	internal, err := scheme.ConvertToVersion(old, conversion.Internal)
	fmt.Printf("%T %v\n", internal, err)
	pod, err := scheme.ConvertToVersion(internal, "v2")
	fmt.Printf("%T %v %+v\n", pod, err, pod.(*PodV2).Spec)

	_, err = scheme.ConvertToVersion(old, "v2")
	fmt.Println(err)
	// Output:
	// *conversion_test.Task <nil>
	// *conversion_test.PodV2 <nil> {NodeName:machine-7 Priority:0}
	// converting (conversion_test.TaskV1) to (version v2): versions convert only to and from the internal one
}
