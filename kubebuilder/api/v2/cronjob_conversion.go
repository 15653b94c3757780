package v2

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	"kube2014/kubebuilder/api/v1"
)

// fields are those of a schedule in the order in which cron writes them.
func (s *CronSchedule) fields() []**string {
	return []**string{&s.Minute, &s.Hour, &s.DayOfMonth, &s.Month, &s.DayOfWeek}
}

// ConvertTo converts to v1.
func (c *CronJob) ConvertTo(hub conversion.Hub) error {
	var parts []string
	for _, field := range c.Spec.Schedule.fields() {
		parts = append(parts, ptr.Deref(*field, "*"))
	}
	to := hub.(*v1.CronJob)
	to.ObjectMeta, to.Status = c.ObjectMeta, c.Status
	to.Spec = v1.CronJobSpec{Schedule: strings.Join(parts, " "), CronJobOptions: c.Spec.CronJobOptions}
	return nil
}

// ConvertFrom converts from v1. A schedule that has not five fields, such as @hourly, cannot be told in v2.
func (c *CronJob) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*v1.CronJob)
	c.ObjectMeta, c.Status = from.ObjectMeta, from.Status
	c.Spec = CronJobSpec{CronJobOptions: from.Spec.CronJobOptions}
	parts, fields := strings.Fields(from.Spec.Schedule), c.Spec.Schedule.fields()
	if len(parts) != len(fields) {
		return fmt.Errorf("the schedule %q has not %d fields", from.Spec.Schedule, len(fields))
	}
	for i, part := range parts {
		if part != "*" {
			*fields[i] = new(part)
		}
	}
	return nil
}
