package markers

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

func TestEnumsHaveTheirConstantsAndComments(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []Value{
		{"Recreate", "Kill all existing pods before creating new ones."},
		{"RollingUpdate", "Replace the old ReplicaSets by new one using rolling update i.e gradually scale down the old ReplicaSets and scale up the new one."},
	}, Enum(reflect.TypeFor[appsv1.DeploymentStrategyType]()))
	assert.Equal(t, Value{Text: "SCTP", Meaning: "is the SCTP protocol."}, Enum(reflect.TypeFor[corev1.Protocol]())[0], "without the name of the constant")
	assert.Len(t, Enum(reflect.TypeFor[networkingv1.PathType]()), 3, "constants may be conversions")
	assert.Len(t, Enum(reflect.TypeFor[corev1.HostPathType]()), 8, `one of them is ""`)
	assert.Empty(t, Enum(reflect.TypeFor[corev1.UniqueVolumeName]()))
	assert.Empty(t, Enum(reflect.TypeFor[string]()))
	assert.Empty(t, Enum(reflect.TypeFor[appsv1.Deployment]()))
}

func TestFieldsHaveTheirMarkers(t *testing.T) {
	t.Parallel()
	ports := Struct(reflect.TypeFor[corev1.Container]())["ports"]
	assert.Equal(t, Markers{ListType: "map", ListMapKeys: []string{"containerPort", "protocol"}}, ports)
	assert.Equal(t, Markers{Default: `"TCP"`}, Struct(reflect.TypeFor[corev1.ContainerPort]())["protocol"])
	assert.Equal(t, Markers{Default: `"ReadWrite"`}, Struct(reflect.TypeFor[corev1.AzureDiskVolumeSource]())["cachingMode"], "a constant")
	assert.Equal(t, Markers{MapType: "atomic"}, Struct(reflect.TypeFor[corev1.SecretReference]())["."], "of a struct")
	assert.Equal(t, map[string]Markers{".": {Union: true}, "type": {Discriminator: true}}, Struct(reflect.TypeFor[corev1.SeccompProfile]()))
	assert.True(t, Struct(reflect.TypeFor[corev1.ImageVolumeStatus]())["imageRef"].Required)
	assert.True(t, Struct(reflect.TypeFor[corev1.ContainerImage]())["names"].Optional)
	assert.Empty(t, Struct(reflect.TypeFor[struct{}]()))
}
