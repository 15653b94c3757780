package podspec

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/util"
)

// notEphemeral are the fields that ephemeral containers must not have: these serve nobody.
var notEphemeral = []string{"ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"}

// ephemeralContainers checks those of a pod. The names are those of its other containers.
func (c checks) ephemeralContainers(s *podSpec, names check.Unique) {
	others := map[string]bool{}
	for name := range names {
		others[name] = true
	}
	const detail = "cannot be set for an Ephemeral Container"
	for i := range s.EphemeralContainers {
		ctr, at := &s.EphemeralContainers[i], s.at.Child("ephemeralContainers").Index(i)
		c.container(s, (*corev1.Container)(&ctr.EphemeralContainerCommon), at)
		c.Trimmed(at.Child("image"), ctr.Image)
		names.Check(c.Errors, at.Child("name"), ctr.Name)
		if target := ctr.TargetContainerName; target != "" && !others[target] {
			c.Add(field.NotFound(at.Child("targetContainerName"), target))
		}
		fields := reflect.ValueOf(ctr.EphemeralContainerCommon)
		for f := range fields.Type().Fields() {
			name := util.JSONName(f)
			c.Forbid(slices.Contains(notEphemeral, name) && !fields.FieldByIndex(f.Index).IsZero(), at.Child(name), detail)
		}
		for j, mount := range ctr.VolumeMounts {
			at := at.Child("volumeMounts").Index(j)
			c.Forbid(mount.SubPath != "", at.Child("subPath"), detail)
			c.Forbid(mount.SubPathExpr != "", at.Child("subPathExpr"), detail)
		}
	}
}
