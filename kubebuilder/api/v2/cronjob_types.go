// Package v2 is the version of batch.tutorial.kubebuilder.io whose schedules have a field for each part.
// +kubebuilder:object:generate=true
// +groupName=batch.tutorial.kubebuilder.io
package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"

	"kube2014/kubebuilder/api/v1"
)

// The group and version of the types, and what adds them to a scheme.
var (
	GroupVersion  = schema.GroupVersion{Group: "batch.tutorial.kubebuilder.io", Version: "v2"}
	SchemeBuilder = (&scheme.Builder{GroupVersion: GroupVersion}).Register(&CronJob{}, &CronJobList{})
	AddToScheme   = SchemeBuilder.AddToScheme
)

// CronSchedule is a schedule in its parts, as cron writes them; one that is missing stands for each value.
type CronSchedule struct {
	Minute     *string `json:"minute,omitempty"`
	Hour       *string `json:"hour,omitempty"`
	DayOfMonth *string `json:"dayOfMonth,omitempty"`
	Month      *string `json:"month,omitempty"`
	DayOfWeek  *string `json:"dayOfWeek,omitempty"`
}

// CronJobSpec is what is wanted.
type CronJobSpec struct {
	Schedule          CronSchedule `json:"schedule"`
	v1.CronJobOptions `json:",inline"`
}

// CronJob makes jobs at their times.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              CronJobSpec      `json:"spec"`
	Status            v1.CronJobStatus `json:"status,omitempty"`
}

// CronJobList is a list of CronJobs.
// +kubebuilder:object:root=true
type CronJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CronJob `json:"items"`
}
