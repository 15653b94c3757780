// Package v1 is the version of batch.tutorial.kubebuilder.io that is stored.
// +kubebuilder:object:generate=true
// +groupName=batch.tutorial.kubebuilder.io
package v1

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// The group and version of the types, and what adds them to a scheme.
var (
	GroupVersion  = schema.GroupVersion{Group: "batch.tutorial.kubebuilder.io", Version: "v1"}
	SchemeBuilder = (&scheme.Builder{GroupVersion: GroupVersion}).Register(&CronJob{}, &CronJobList{})
	AddToScheme   = SchemeBuilder.AddToScheme
)

// ConcurrencyPolicy tells what happens when it is time for a job and an earlier one still runs.
// +kubebuilder:validation:Enum=Allow;Forbid;Replace
type ConcurrencyPolicy string

// The policies: run both, wait, or delete the earlier one.
const (
	AllowConcurrent   ConcurrencyPolicy = "Allow"
	ForbidConcurrent  ConcurrencyPolicy = "Forbid"
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

// CronJobSpec is what is wanted. The schedule has the five fields of cron, or is a descriptor such as @hourly.
type CronJobSpec struct {
	// +kubebuilder:validation:MinLength=1
	Schedule       string `json:"schedule"`
	CronJobOptions `json:",inline"`
}

// CronJobOptions are the fields that all versions share. The limits are how many jobs that ended are kept.
type CronJobOptions struct {
	ConcurrencyPolicy ConcurrencyPolicy       `json:"concurrencyPolicy,omitempty"`
	Suspend           *bool                   `json:"suspend,omitempty"`
	JobTemplate       batchv1.JobTemplateSpec `json:"jobTemplate"`
	// +kubebuilder:validation:Minimum=0
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`
	// +kubebuilder:validation:Minimum=0
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`
}

// CronJobStatus is what the controller saw: the jobs that run, and the time that the latest one was made for.
type CronJobStatus struct {
	Active           []corev1.ObjectReference `json:"active,omitempty"`
	LastScheduleTime *metav1.Time             `json:"lastScheduleTime,omitempty"`
}

// CronJob makes jobs at their times.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              CronJobSpec   `json:"spec"`
	Status            CronJobStatus `json:"status,omitempty"`
}

// Hub makes this the version that others are converted to and from.
func (*CronJob) Hub() {}

// CronJobList is a list of CronJobs.
// +kubebuilder:object:root=true
type CronJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CronJob `json:"items"`
}
