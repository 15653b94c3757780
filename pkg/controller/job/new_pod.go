package job

import (
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
)

// Pods have numbers in their names, and the server gives a name once. So a create whose answer was
// lost is repeated, and makes no second pod.

// prefix returns what the names of a job's pods begin with, before the number.
func prefix(job *batchv1.Job, index int) string {
	end := "-"
	if index >= 0 {
		end = "-" + strconv.Itoa(index) + "-"
	}
	return controller.PodPrefix(job.Name, end)
}

// newPods returns new pods for some indexes, with free names. One that was requested without an answer
// comes first, and alone.
func (c *JobController) newPods(job *batchv1.Job, indexes []int) (planned []*corev1.Pod) {
	last, _ := c.unsettled.Load(job.UID)
	if last, exists := last.(*corev1.Pod); exists && slices.Contains(indexes, indexOf(last)) {
		return []*corev1.Pod{newPod(job, last.Name, indexOf(last))}
	}
	numbers := map[int]int{}
	for _, index := range indexes {
		name := ""
		for taken := true; taken; _, taken = c.pods.Store().Get(cache.KeyOf(job.Namespace, name)) {
			numbers[index]++
			name = prefix(job, index) + strconv.Itoa(numbers[index])
		}
		planned = append(planned, newPod(job, name, index))
	}
	return planned
}

// newPod returns a pod of the job's template, for an index or -1.
func newPod(job *batchv1.Job, name string, index int) *corev1.Pod {
	template := job.Spec.Template.DeepCopy()
	pod := &corev1.Pod{Spec: template.Spec}
	pod.Namespace, pod.Name, pod.Labels, pod.Annotations = job.Namespace, name, template.Labels, template.Annotations
	pod.Finalizers = append(template.Finalizers, tracker)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, controllerKind)}
	if index < 0 {
		return pod
	}
	label, number := batchv1.JobCompletionIndexAnnotation, strconv.Itoa(index)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, label, number)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, label, number)
	pod.Spec.Hostname = job.Name + "-" + number
	variable := corev1.EnvVar{Name: "JOB_COMPLETION_INDEX", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: fmt.Sprintf("metadata.labels['%s']", label)}}}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			env := &containers[i].Env
			if !slices.ContainsFunc(*env, func(other corev1.EnvVar) bool { return other.Name == variable.Name }) {
				*env = append(*env, variable)
			}
		}
	}
	return pod
}
