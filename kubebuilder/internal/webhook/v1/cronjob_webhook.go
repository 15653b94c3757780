// Package v1 sets what a CronJob leaves out, refuses invalid ones, and converts between the versions.
package v1

import (
	"cmp"
	"context"

	"github.com/robfig/cron/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	batchv1 "kube2014/kubebuilder/api/v1"
)

// SetupCronJobWebhookWithManager has the manager serve the webhooks.
func SetupCronJobWebhookWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &batchv1.CronJob{}).WithDefaulter(defaulter{}).WithValidator(validator{}).Complete()
}

// +kubebuilder:webhook:path=/mutate-batch-tutorial-kubebuilder-io-v1-cronjob,mutating=true,failurePolicy=fail,sideEffects=None,groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=create;update,versions=v1,name=mcronjob-v1.kb.io,admissionReviewVersions=v1

type defaulter struct{}

func (defaulter) Default(_ context.Context, cronJob *batchv1.CronJob) error {
	spec := &cronJob.Spec
	spec.ConcurrencyPolicy = cmp.Or(spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	spec.Suspend = cmp.Or(spec.Suspend, new(false))
	spec.SuccessfulJobsHistoryLimit = cmp.Or(spec.SuccessfulJobsHistoryLimit, new(int32(3)))
	spec.FailedJobsHistoryLimit = cmp.Or(spec.FailedJobsHistoryLimit, new(int32(1)))
	return nil
}

// +kubebuilder:webhook:path=/validate-batch-tutorial-kubebuilder-io-v1-cronjob,mutating=false,failurePolicy=fail,sideEffects=None,groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=create;update,versions=v1,name=vcronjob-v1.kb.io,admissionReviewVersions=v1

type validator struct{}

func (validator) ValidateCreate(_ context.Context, cronJob *batchv1.CronJob) (admission.Warnings, error) {
	if _, err := cron.ParseStandard(cronJob.Spec.Schedule); err != nil {
		return nil, apierrors.NewInvalid(batchv1.GroupVersion.WithKind("CronJob").GroupKind(), cronJob.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "schedule"), cronJob.Spec.Schedule, err.Error()),
		})
	}
	return nil, nil
}

func (v validator) ValidateUpdate(ctx context.Context, _, cronJob *batchv1.CronJob) (admission.Warnings, error) {
	return v.ValidateCreate(ctx, cronJob)
}

func (validator) ValidateDelete(context.Context, *batchv1.CronJob) (admission.Warnings, error) {
	return nil, nil
}
