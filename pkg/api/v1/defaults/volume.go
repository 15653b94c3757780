package defaults

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

func volume(v *corev1.VolumeSource) {
	if reflect.ValueOf(*v).IsZero() {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if v.Image != nil {
		set(&v.Image.PullPolicy, pullPolicy(v.Image.Reference))
	}
	if v.HostPath != nil {
		point(&v.HostPath.Type, corev1.HostPathUnset)
	}
	if v.Secret != nil {
		point(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if v.ConfigMap != nil {
		point(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if v.DownwardAPI != nil {
		point(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		fieldRefs(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		point(&v.Projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		for _, source := range v.Projected.Sources {
			if source.DownwardAPI != nil {
				fieldRefs(source.DownwardAPI.Items)
			}
			if source.ServiceAccountToken != nil {
				point(&source.ServiceAccountToken.ExpirationSeconds, 60*60)
			}
		}
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		claimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec)
	}
	if v.ISCSI != nil {
		set(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.RBD != nil {
		set(&v.RBD.RBDPool, "rbd")
		set(&v.RBD.RadosUser, "admin")
		set(&v.RBD.Keyring, "/etc/ceph/keyring")
	}
	if v.AzureDisk != nil {
		point(&v.AzureDisk.CachingMode, corev1.AzureDataDiskCachingReadWrite)
		point(&v.AzureDisk.FSType, "ext4")
		point(&v.AzureDisk.ReadOnly, false)
		point(&v.AzureDisk.Kind, corev1.AzureSharedBlobDisk)
	}
	if v.ScaleIO != nil {
		set(&v.ScaleIO.StorageMode, "ThinProvisioned")
		set(&v.ScaleIO.FSType, "xfs")
	}
}

func fieldRefs(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		fieldRef(files[i].FieldRef)
	}
}
