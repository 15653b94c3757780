// Package controller makes the jobs of CronJobs.
package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
	kbatch "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	batchv1 "kube2014/kubebuilder/api/v1"
)

const ownerKey = ".metadata.controller" // the index of jobs

// CronJobReconciler makes jobs at their times.
type CronJobReconciler struct {
	client.Client
	Scheme *runtime.Scheme
	Clock  clock.PassiveClock
}

// +kubebuilder:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch.tutorial.kubebuilder.io,resources=cronjobs/status,verbs=get;update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete

// Reconcile counts the jobs of a CronJob, deletes the oldest ones that ended, and makes the one whose time has come.
func (r *CronJobReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var cronJob batchv1.CronJob
	if err := r.Get(ctx, request.NamespacedName, &cronJob); err != nil || !cronJob.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	active, err := r.count(ctx, &cronJob)
	if err != nil {
		return ctrl.Result{}, err
	}
	wait, err := r.schedule(ctx, &cronJob, active)
	if err == nil {
		err = r.Status().Update(ctx, &cronJob)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// count deletes the oldest jobs that ended, and returns those that run, which it writes into the status.
func (r *CronJobReconciler) count(ctx context.Context, cronJob *batchv1.CronJob) ([]kbatch.Job, error) {
	var jobs kbatch.JobList
	if err := r.List(ctx, &jobs, client.InNamespace(cronJob.Namespace), client.MatchingFields{ownerKey: cronJob.Name}); err != nil {
		return nil, err
	}
	slices.SortFunc(jobs.Items, func(a, b kbatch.Job) int {
		return cmp.Or(ptr.Deref(a.Status.StartTime, metav1.Time{}).Compare(ptr.Deref(b.Status.StartTime, metav1.Time{}).Time), cmp.Compare(a.Name, b.Name))
	})
	var active, succeeded, failed []kbatch.Job
	cronJob.Status.Active = nil
	for _, job := range jobs.Items {
		switch {
		case ended(job, kbatch.JobComplete):
			succeeded = append(succeeded, job)
		case ended(job, kbatch.JobFailed):
			failed = append(failed, job)
		default:
			active, cronJob.Status.Active = append(active, job), append(cronJob.Status.Active, corev1.ObjectReference{
				APIVersion: kbatch.SchemeGroupVersion.String(), Kind: "Job", Namespace: job.Namespace, Name: job.Name, UID: job.UID,
			})
		}
	}
	succeeded = succeeded[:max(0, len(succeeded)-int(ptr.Deref(cronJob.Spec.SuccessfulJobsHistoryLimit, 3)))]
	failed = failed[:max(0, len(failed)-int(ptr.Deref(cronJob.Spec.FailedJobsHistoryLimit, 1)))]
	return active, r.delete(ctx, slices.Concat(succeeded, failed))
}

// ended tells whether a job has ended so.
func ended(job kbatch.Job, so kbatch.JobConditionType) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c kbatch.JobCondition) bool { return c.Type == so && c.Status == corev1.ConditionTrue })
}

// schedule makes a job for the latest time that has come, and returns how long it is until the next one.
func (r *CronJobReconciler) schedule(ctx context.Context, cronJob *batchv1.CronJob, active []kbatch.Job) (time.Duration, error) {
	schedule, err := cron.ParseStandard(cronJob.Spec.Schedule)
	if err != nil {
		return 0, reconcile.TerminalError(err)
	}
	now := r.Clock.Now()
	missed, next := time.Time{}, schedule.Next(ptr.Deref(cronJob.Status.LastScheduleTime, cronJob.CreationTimestamp).Time)
	for !next.IsZero() && !next.After(now) {
		missed, next = next, schedule.Next(next)
	}
	name := fmt.Sprintf("%s-%d", cronJob.Name, missed.Unix()) // of the only job for this time
	others := slices.DeleteFunc(active, func(job kbatch.Job) bool { return job.Name == name })
	policy := cronJob.Spec.ConcurrencyPolicy
	if missed.IsZero() || ptr.Deref(cronJob.Spec.Suspend, false) || len(others) > 0 && policy == batchv1.ForbidConcurrent {
		return next.Sub(now), nil
	}
	if policy == batchv1.ReplaceConcurrent {
		if err := r.delete(ctx, others); err != nil {
			return 0, err
		}
	}
	template := cronJob.Spec.JobTemplate.DeepCopy()
	job := &kbatch.Job{Spec: template.Spec, ObjectMeta: metav1.ObjectMeta{
		Namespace: cronJob.Namespace, Name: name, Labels: template.Labels, Annotations: template.Annotations,
	}}
	if err := ctrl.SetControllerReference(cronJob, job, r.Scheme); err != nil {
		return 0, err
	}
	cronJob.Status.LastScheduleTime = new(metav1.NewTime(missed))
	if err := r.Create(ctx, job); err != nil && !apierrors.IsAlreadyExists(err) {
		return 0, err
	}
	return next.Sub(now), nil
}

func (r *CronJobReconciler) delete(ctx context.Context, jobs []kbatch.Job) error {
	for _, job := range jobs {
		if err := r.Delete(ctx, &job, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// SetupWithManager has the manager run the reconciler, and indexes jobs by the CronJob that controls them.
func (r *CronJobReconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &kbatch.Job{}, ownerKey, func(job client.Object) []string {
		owner := metav1.GetControllerOf(job)
		if owner == nil || owner.APIVersion != batchv1.GroupVersion.String() || owner.Kind != "CronJob" {
			return nil
		}
		return []string{owner.Name}
	})
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).For(&batchv1.CronJob{}).Owns(&kbatch.Job{}).Complete(r)
}
