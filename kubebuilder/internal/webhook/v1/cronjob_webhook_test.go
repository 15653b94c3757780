package v1

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "kube2014/kubebuilder/api/v1"
	batchv2 "kube2014/kubebuilder/api/v2"
)

var _ = Describe("The CronJob webhooks", func() {
	var (
		v1 *batchv1.CronJob
		v2 *batchv2.CronJob
	)

	BeforeEach(func() {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "cronjobs-"}}
		Expect(k8sClient.Create(ctx, namespace)).To(Succeed())
		name := metav1.ObjectMeta{Namespace: namespace.Name, Name: "hello"}
		v1 = &batchv1.CronJob{ObjectMeta: name, Spec: batchv1.CronJobSpec{Schedule: "*/5 8-17 * * 1"}}
		v1.Spec.JobTemplate.Spec.Template.Spec.Containers = []corev1.Container{{Name: "hello"}}
		v2 = &batchv2.CronJob{ObjectMeta: name, Spec: batchv2.CronJobSpec{CronJobOptions: v1.Spec.CronJobOptions}}
		v2.Spec.Schedule = batchv2.CronSchedule{Minute: new("*/5"), DayOfWeek: new("1")}
	})
	read := func(object client.Object) error {
		return k8sClient.Get(ctx, client.ObjectKeyFromObject(v1), object)
	}

	It("set what is left out, and leave what is there", func() {
		v1.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent
		Expect(k8sClient.Create(ctx, v1)).To(Succeed())
		Expect(v1.Spec.ConcurrencyPolicy).To(Equal(batchv1.ForbidConcurrent))
		Expect(v1.Spec.Suspend).To(HaveValue(BeFalse()))
		Expect(v1.Spec.SuccessfulJobsHistoryLimit).To(HaveValue(BeEquivalentTo(3)))
	})

	It("refuse a schedule that is none", func() {
		v1.Spec.Schedule = "now and then"
		err := k8sClient.Create(ctx, v1)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(`admission webhook "vcronjob-v1.kb.io" denied the request: ` +
			`CronJob.batch.tutorial.kubebuilder.io "hello" is invalid: ` +
			`spec.schedule: Invalid value: "now and then": expected exactly 5 fields, found 3: [now and then]`))
		Expect(apierrors.IsNotFound(read(v1))).To(BeTrue())
	})

	It("refuse an update and a patch, and leave the object as it was", func() {
		Expect(k8sClient.Create(ctx, v1)).To(Succeed())
		before := v1.DeepCopy()
		v1.Spec.Schedule = "61 * * * *"
		Expect(k8sClient.Update(ctx, v1)).To(MatchError(ContainSubstring("end of range (61) above maximum (59): 61")))
		Expect(k8sClient.Patch(ctx, v1, client.MergeFrom(before))).To(MatchError(ContainSubstring("vcronjob-v1.kb.io")))
		Expect(read(v1)).To(Succeed())
		Expect(v1).To(Equal(before))
	})

	It("convert from v2 to v1 and back", func() {
		Expect(k8sClient.Create(ctx, v2)).To(Succeed())
		Expect(read(v1)).To(Succeed())
		Expect(v1.Spec.Schedule).To(Equal("*/5 * * * 1"))
		Expect(v1.UID).To(Equal(v2.UID))
		v1.Spec.Schedule = "* 8 * * 1"
		Expect(k8sClient.Update(ctx, v1)).To(Succeed())
		var list batchv2.CronJobList
		Expect(k8sClient.List(ctx, &list, client.InNamespace(v1.Namespace))).To(Succeed())
		Expect(list.Items).To(HaveLen(1))
		v2 = &list.Items[0]
		Expect(v2.Generation).To(BeEquivalentTo(2))
		Expect(v2.Spec.Schedule.Minute).To(BeNil())
		Expect(v2.Spec.Schedule.Hour).To(HaveValue(BeEquivalentTo("8")))
		before := v2.DeepCopy()
		v2.Spec.Schedule.Hour = nil
		Expect(k8sClient.Patch(ctx, v2, client.MergeFrom(before))).To(Succeed())
		Expect(read(v1)).To(Succeed())
		Expect(v1.Spec.Schedule).To(Equal("* * * * 1"))
	})

	It("tell why an object cannot be converted", func() {
		v1.Spec.Schedule = "@hourly"
		Expect(k8sClient.Create(ctx, v1)).To(Succeed())
		Expect(read(v2)).To(MatchError(ContainSubstring(`the schedule "@hourly" has not 5 fields`)))
	})
})
