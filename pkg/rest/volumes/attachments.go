package volumes

import (
	"math"

	storagev1 "k8s.io/api/storage/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var attachments = generic.Kind[*storagev1.VolumeAttachment]{
	Row:    rest.ClusterScoped(group, "VolumeAttachment", "volumeattachments", printers.Attachments),
	Spec:   func(o *storagev1.VolumeAttachment) any { return &o.Spec },
	Status: func(o *storagev1.VolumeAttachment) any { return &o.Status },
	Rules: func(c *check.Errors, now, old *storagev1.VolumeAttachment) {
		spec := &now.Spec
		podspec.DriverName(c, spec.Attacher, specPath.Child("attacher"))
		at, volume := specPath.Child("source"), spec.Source.PersistentVolumeName
		switch inline := spec.Source.InlineVolumeSpec; {
		case inline == nil && volume == nil:
			c.Add(field.Required(at, "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
		case inline != nil && volume != nil:
			c.Add(field.Forbidden(at, "must specify exactly one of inlineVolumeSpec and persistentVolumeName"))
		case inline != nil:
			c.RequiredIf(inline.CSI == nil, at.Child("inlineVolumeSpec", "csi"), "has to be specified in the context of inline volumes")
		case *volume == "":
			c.Add(field.Required(at.Child("persistentVolumeName"), "must specify non empty persistentVolumeName"))
		}
		c.Name(specPath.Child("nodeName"), spec.NodeName, false)
		if volume != nil {
			c.Name(field.NewPath("spec.source.persistentVolumeName"), *volume, false)
		}
		if old != nil {
			c.Immutable(specPath, *spec, old.Spec)
		}
	},
	StatusRules: func(c *check.Errors, now, _ *storagev1.VolumeAttachment) {
		for name, failed := range map[string]*storagev1.VolumeError{"attachError": now.Status.AttachError, "detachError": now.Status.DetachError} {
			if at := field.NewPath("status", name); failed != nil {
				if len(failed.Message) > longestErrorOfDisk {
					c.Add(field.TooLong(at.Child("message"), "", largestParameters)) // today's server names this limit
				}
				if code := failed.ErrorCode; code != nil {
					c.InvalidIf(*code < 0, at.Child("errorCode"), *code, utilvalidation.InclusiveRangeError(0, math.MaxInt32))
				}
			}
		}
	},
}
