// Package batch has the kinds whose pods end.
package batch

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = batchv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(cronjobs.Rows(b), jobs.Rows(b))
}

var cronjobs = generic.Kind[*batchv1.CronJob]{
	Row:     rest.InNamespaces(group, "CronJob", "cronjobs", printers.Printer{}, "cj").In("all"),
	Spec:    func(o *batchv1.CronJob) any { return &o.Spec },
	Status:  func(o *batchv1.CronJob) any { return &o.Status },
	Counted: true,
}

var jobs = generic.Kind[*batchv1.Job]{
	Row:     rest.InNamespaces(group, "Job", "jobs", printers.Printer{}).In("all"),
	Spec:    func(o *batchv1.Job) any { return &o.Spec },
	Status:  func(o *batchv1.Job) any { return &o.Status },
	Counted: true,
}
