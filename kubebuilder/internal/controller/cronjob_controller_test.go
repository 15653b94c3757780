package controller

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	kbatch "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	. "sigs.k8s.io/controller-runtime/pkg/envtest/komega"

	batchv1 "kube2014/kubebuilder/api/v1"
)

var _ = Describe("The CronJob controller", func() {
	var cronJob *batchv1.CronJob

	BeforeEach(func() {
		fakeClock.SetTime(time.Now())
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "cronjobs-"}}
		Expect(k8sClient.Create(ctx, namespace)).To(Succeed())
		cronJob = &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "hello"}}
		cronJob.Spec.Schedule = "@every 1h" // so that it does not matter when the tests run
		cronJob.Spec.JobTemplate.Labels = map[string]string{"app": "hello"}
		cronJob.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "hello", Image: "busybox"}},
		}
	})
	// later lets the clock go on, and has the controller look at it.
	later := func() {
		GinkgoHelper()
		fakeClock.SetTime(time.Now().Add(90 * time.Minute))
		Eventually(Update(cronJob, func() { cronJob.Spec.Suspend = new(false) })).Should(Succeed())
	}
	// add creates a job that the CronJob controls, which the controller notices.
	add := func(name string, status kbatch.JobStatus) *kbatch.Job {
		GinkgoHelper()
		job := &kbatch.Job{ObjectMeta: metav1.ObjectMeta{Namespace: cronJob.Namespace, Name: name}, Spec: cronJob.Spec.JobTemplate.Spec}
		Expect(ctrl.SetControllerReference(cronJob, job, k8sClient.Scheme())).To(Succeed())
		Expect(k8sClient.Create(ctx, job)).To(Succeed())
		job.Status = status
		Expect(k8sClient.Status().Update(ctx, job)).To(Succeed())
		return job
	}
	jobs := func() (list kbatch.JobList, err error) {
		err = k8sClient.List(ctx, &list, client.InNamespace(cronJob.Namespace))
		return list, err
	}
	// at is the name of the job of some hours after the creation.
	at := func(hours int) string {
		return fmt.Sprintf("hello-%d", cronJob.CreationTimestamp.Add(time.Duration(hours)*time.Hour).Unix())
	}
	// counts waits until these jobs run, as the controller sees it.
	counts := func(names ...string) {
		GinkgoHelper()
		Eventually(Object(cronJob)).Should(HaveField("Status.Active", named(names...)))
	}

	It("counts a job that runs", func() {
		Expect(k8sClient.Create(ctx, cronJob)).To(Succeed())
		job := add("running", kbatch.JobStatus{Active: 2})
		counts("running")
		Expect(cronJob.Status.Active[0].UID).To(Equal(job.UID))
	})

	It("makes a job when its time has come, though another runs", func() {
		Expect(k8sClient.Create(ctx, cronJob)).To(Succeed())
		add("earlier", kbatch.JobStatus{})
		counts("earlier")
		later()
		counts("earlier", at(1))
		Expect(cronJob.Status.LastScheduleTime.Time).To(BeTemporally("==", cronJob.CreationTimestamp.Add(time.Hour)))
		Expect(jobs()).To(HaveField("Items", ContainElement(And(
			HaveField("Name", at(1)),
			HaveField("Labels", HaveKeyWithValue("app", "hello")),
			HaveField("OwnerReferences", HaveExactElements(*metav1.NewControllerRef(cronJob, batchv1.GroupVersion.WithKind("CronJob")))),
		))))
	})

	It("makes no job while it is suspended, and then one for the latest time", func() {
		fakeClock.SetTime(time.Now().Add(330 * time.Minute))
		cronJob.Spec.Suspend = new(true)
		Expect(k8sClient.Create(ctx, cronJob)).To(Succeed())
		add("earlier", kbatch.JobStatus{})
		counts("earlier")
		Eventually(Update(cronJob, func() { cronJob.Spec.Suspend = new(false) })).Should(Succeed())
		counts("earlier", at(5))
	})

	It("makes no job until an earlier one has ended, if it is to wait for it", func() {
		cronJob.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent
		Expect(k8sClient.Create(ctx, cronJob)).To(Succeed())
		earlier := add("earlier", kbatch.JobStatus{})
		counts("earlier")
		later()
		also := add("also", kbatch.JobStatus{})
		counts("also", "earlier")
		for _, job := range []*kbatch.Job{earlier, also} {
			job.Status = after(kbatch.JobComplete, 0)
			Expect(k8sClient.Status().Update(ctx, job)).To(Succeed())
		}
		counts(at(1))
	})

	It("makes a job in the place of an earlier one, if it is to replace it", func() {
		cronJob.Spec.ConcurrencyPolicy = batchv1.ReplaceConcurrent
		Expect(k8sClient.Create(ctx, cronJob)).To(Succeed())
		add("earlier", kbatch.JobStatus{})
		counts("earlier")
		later()
		counts(at(1))
	})

	DescribeTable("keeps the latest of the jobs that", func(end kbatch.JobConditionType) {
		cronJob.Spec.SuccessfulJobsHistoryLimit, cronJob.Spec.FailedJobsHistoryLimit = new(int32(2)), new(int32(2))
		Expect(k8sClient.Create(ctx, cronJob)).To(Succeed())
		for i := range 5 {
			add(fmt.Sprintf("ended-%d", i), after(end, i))
		}
		Eventually(jobs).Should(HaveField("Items", named("ended-3", "ended-4")))
	}, Entry("succeeded", kbatch.JobComplete), Entry("failed", kbatch.JobFailed))

	It("is there until its finalizer is gone", func() {
		cronJob.Finalizers = []string{"batch.tutorial.kubebuilder.io/test"}
		Expect(k8sClient.Create(ctx, cronJob)).To(Succeed())
		Expect(k8sClient.Delete(ctx, cronJob)).To(Succeed())
		Eventually(Update(cronJob, func() { cronJob.Finalizers = nil })).Should(Succeed())
		Expect(cronJob.DeletionTimestamp.IsZero()).To(BeFalse())
		Expect(apierrors.IsNotFound(Get(cronJob)())).To(BeTrue())
	})
})

// named matches objects, or references to them, of these names.
func named(names ...string) types.GomegaMatcher {
	var all []any
	for _, name := range names {
		all = append(all, HaveField("Name", name))
	}
	return HaveExactElements(all...)
}

// after is the status of a job that ended some minutes after an hour ago, as the server demands it.
func after(end kbatch.JobConditionType, minutes int) kbatch.JobStatus {
	at := metav1.NewTime(time.Now().Add(time.Duration(minutes-60) * time.Minute))
	status, before := kbatch.JobStatus{StartTime: &at}, kbatch.JobFailureTarget
	if end == kbatch.JobComplete {
		status.CompletionTime, before = &at, kbatch.JobSuccessCriteriaMet
	}
	for _, t := range []kbatch.JobConditionType{before, end} {
		status.Conditions = append(status.Conditions, kbatch.JobCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	return status
}
