package kube2014

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api/v1beta1"
)

// wireTypes describes the types of the original: each field with its type and
// its JSON name, and a question mark if it is left out when empty. The fields
// are in the order of the JSON.
var wireTypes = []struct {
	zero   interface{}
	fields string
}{
	{v1beta1.ContainerManifest{}, "Version string version · Volumes []Volume volumes · Containers []Container containers · Id string id?"},
	{v1beta1.Volume{}, "Name string name"},
	{v1beta1.Port{}, "Name string name? · HostPort int hostPort? · ContainerPort int containerPort? · Protocol string protocol?"},
	{v1beta1.VolumeMount{}, "Name string name? · ReadOnly bool readOnly? · MountPath string mountPath?"},
	{v1beta1.EnvVar{}, "Name string name? · Value string value?"},
	{v1beta1.Container{}, "Name string name? · Image string image? · Command string command? · WorkingDir string workingDir? · " +
		"Ports []Port ports? · Env []EnvVar env? · Memory int memory? · CPU int cpu? · VolumeMounts []VolumeMount volumeMounts?"},
	{v1beta1.Event{}, "Event string event? · Manifest *ContainerManifest manifest? · Container *Container container? · Timestamp int64 timestamp"},
	{v1beta1.JSONBase{}, "Kind string kind? · ID string id? · CreationTimestamp string creationTimestamp? · SelfLink string selfLink?"},
	{v1beta1.TaskState{}, "Manifest ContainerManifest manifest? · Status string status? · Host string host? · HostIP string hostIP? · " +
		"Info interface {} info?"},
	{v1beta1.Task{}, "JSONBase · Labels map[string]string labels? · DesiredState TaskState desiredState? · CurrentState TaskState currentState?"},
	{v1beta1.TaskList{}, "JSONBase · Items []Task items"},
	{v1beta1.TaskTemplate{}, "DesiredState TaskState desiredState? · Labels map[string]string labels?"},
	{v1beta1.ReplicationControllerState{}, "Replicas int replicas · ReplicasInSet map[string]string replicasInSet? · " +
		"TaskTemplate TaskTemplate taskTemplate?"},
	{v1beta1.ReplicationController{}, "JSONBase · DesiredState ReplicationControllerState desiredState? · Labels map[string]string labels?"},
	{v1beta1.ReplicationControllerList{}, "JSONBase · Items []ReplicationController items?"},
	{v1beta1.Service{}, "JSONBase · Port int port? · Labels map[string]string labels?"},
	{v1beta1.ServiceList{}, "Items []Service items"},
	{v1beta1.Endpoints{}, "Name string - · Endpoints []string -"}, // no tags
}

func TestTheWireTypesAreTheOriginals(t *testing.T) {
	t.Parallel()
	for _, wire := range wireTypes {
		structure := reflect.TypeOf(wire.zero)
		var fields []string
		for i := range structure.NumField() {
			fields = append(fields, describe(structure.Field(i)))
		}
		assert.Equal(t, wire.fields, strings.Join(fields, " · "), structure.Name())
	}
	assert.Len(t, readOriginal(t).declared["pkg/api/types.go"], len(wireTypes))
}

// describe describes a field as in wireTypes. A yaml tag, if there is one, has
// the same name.
func describe(field reflect.StructField) string {
	if field.Anonymous {
		return field.Name
	}
	name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
	if yaml, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); yaml != "" && yaml != name {
		return fmt.Sprintf("%s is %s in YAML and %s in JSON", field.Name, yaml, name)
	}
	switch {
	case name == "":
		name = "-"
	case option == "omitempty":
		name += "?"
	}
	return field.Name + " " + strings.ReplaceAll(field.Type.String(), "v1beta1.", "") + " " + name
}
