package defaults

import corev1 "k8s.io/api/core/v1"

// PersistentVolumeClaim sets the mode and the phase, and rounds quantities up.
func PersistentVolumeClaim(claim *corev1.PersistentVolumeClaim) {
	claimSpec(&claim.Spec)
	set(&claim.Status.Phase, corev1.ClaimPending)
	roundUp(claim.Status.Capacity)
	roundUp(claim.Status.AllocatedResources)
}

func claimSpec(spec *corev1.PersistentVolumeClaimSpec) {
	point(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(spec.Resources.Limits)
	roundUp(spec.Resources.Requests)
}

// PersistentVolume sets the mode, the phase, the reclaim policy, and the defaults of the source.
func PersistentVolume(pv *corev1.PersistentVolume) {
	spec := &pv.Spec
	set(&pv.Status.Phase, corev1.VolumePending)
	set(&spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	point(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(spec.Capacity)
	if spec.ISCSI != nil {
		set(&spec.ISCSI.ISCSIInterface, "default")
	}
	if spec.RBD != nil {
		set(&spec.RBD.RBDPool, "rbd")
		set(&spec.RBD.RadosUser, "admin")
		set(&spec.RBD.Keyring, "/etc/ceph/keyring")
	}
	if spec.ScaleIO != nil {
		set(&spec.ScaleIO.StorageMode, "ThinProvisioned")
		set(&spec.ScaleIO.FSType, "xfs")
	}
	volume(&corev1.VolumeSource{HostPath: spec.HostPath, AzureDisk: spec.AzureDisk})
}
