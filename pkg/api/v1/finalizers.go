package v1

// The finalizers of what may be in use. The admission plugin StorageObjectInUseProtection gives them to new objects,
// controllers remove them from deleted ones.
const (
	ClaimFinalizer           = "kubernetes.io/pvc-protection"
	VolumeFinalizer          = "kubernetes.io/pv-protection"
	AttributesClassFinalizer = "kubernetes.io/vac-protection"
)
