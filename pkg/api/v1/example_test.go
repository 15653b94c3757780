package v1_test

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api/conversion"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1beta1"
)

// newScheme returns a scheme of both versions.
func newScheme() *conversion.Scheme {
	scheme := conversion.NewScheme()
	v1beta1.AddToScheme(scheme)
	v1.AddConversions(scheme)
	return scheme
}

// A task of June 2014 becomes a pod of today by way of the internal version: neither
// version knows the other.
func ExampleAddConversions_convertToVersion() {
	scheme := newScheme()
	task := v1beta1.Task{JSONBase: v1beta1.JSONBase{ID: "web"}, Labels: map[string]string{"name": "web"}}
	task.DesiredState.Manifest.Containers = []v1beta1.Container{{Name: "nginx", Image: "nginx", Command: "nginx -g daemon", Memory: 64 << 20}}

	internal, err := scheme.ConvertToVersion(task, conversion.Internal)
	fmt.Printf("%T %v\n", internal, err)
	converted, err := scheme.ConvertToVersion(internal, v1.Version)
	fmt.Printf("%T %v\n", converted, err)

	pod := converted.(*corev1.Pod)
	container := pod.Spec.Containers[0]
	fmt.Println(pod.Namespace, pod.Name, pod.Labels, pod.Spec.RestartPolicy, pod.Status.Phase)
	fmt.Printf("%s %q %s %s\n", container.Name, container.Command, container.Resources.Limits.Memory(), container.ImagePullPolicy)

	_, err = scheme.ConvertToVersion(task, v1.Version)
	fmt.Println(err)
	// Output:
	// *api.Task <nil>
	// *v1.Pod <nil>
	// default web map[name:web] Always Pending
	// nginx ["nginx" "-g" "daemon"] 64Mi Always
	// converting (v1beta1.Task) to (version v1): versions convert only to and from the internal one
}

// What June 2014 cannot say of a pod is kept for those who ask today's API.
func ExampleAddConversions_remainder() {
	scheme := newScheme()
	pod := corev1.Pod{Spec: corev1.PodSpec{Hostname: "www", Containers: []corev1.Container{{Name: "sh", Command: []string{"sh", "-c", "exit 7"}}}}}
	internal, err := scheme.ConvertToVersion(pod, conversion.Internal)
	fmt.Println(err)

	old, err := scheme.ConvertToVersion(internal, v1beta1.Version)
	text, _ := json.Marshal(old.(*v1beta1.Task).DesiredState.Manifest.Containers)
	fmt.Println(string(text), err)

	again, err := scheme.ConvertToVersion(internal, v1.Version)
	spec := again.(*corev1.Pod).Spec
	fmt.Printf("%s %q %v\n", spec.Hostname, spec.Containers[0].Command, err)
	// Output:
	// <nil>
	// [{"name":"sh","command":"sh -c exit 7"}] <nil>
	// www ["sh" "-c" "exit 7"] <nil>
}
