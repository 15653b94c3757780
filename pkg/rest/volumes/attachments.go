package volumes

import (
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
)

var attachments = generic.Kind[*storagev1.VolumeAttachment]{
	Row:            rest.ClusterScoped(group, "VolumeAttachment", "volumeattachments", printers.Attachments),
	AnswersDeleted: true,
	PrepareStatus:  func(now, old *storagev1.VolumeAttachment) { metav1.ResetObjectMetaForStatus(now, old) },
	StatusResets:   fieldmanager.Fields{"metadata"},
	Rules: func(c *check.Errors, now, _ *storagev1.VolumeAttachment) {
		spec := &now.Spec
		podspec.DriverName(c, spec.Attacher, specPath.Child("attacher"))
		c.Name(specPath.Child("nodeName"), spec.NodeName)
		inline, volume, at := spec.Source.InlineVolumeSpec, spec.Source.PersistentVolumeName, specPath.Child("source")
		c.RequiredIf(inline == nil && volume == nil, at, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
		c.Forbid(inline != nil && volume != nil, at, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
		if volume != nil {
			c.Name(at.Child("persistentVolumeName"), *volume)
		}
	},
}
