package podspec

import (
	"path"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/util"
)

// PersistentSource checks the source of a persistent volume, whose spec is at the path, and adds the errors. Of the sources
// of single products, only the required fields are checked.
func PersistentSource(errors *check.Errors, s *corev1.PersistentVolumeSource, spec *field.Path) {
	c := checks{errors}
	o := c.OneOf(spec, "volume type")
	check.Option(o, "hostPath", s.HostPath, c.hostPath)
	check.Option(o, "gcePersistentDisk", s.GCEPersistentDisk, func(g *corev1.GCEPersistentDiskVolumeSource, _ *field.Path) {
		c.Needs(spec, "persistentDisk.pdName", g.PDName)
	})
	needs(c, o, "awsElasticBlockStore", s.AWSElasticBlockStore, "volumeID")
	needs(c, o, "glusterfs", s.Glusterfs, "endpoints", "path")
	check.Option(o, "flocker", s.Flocker, c.flocker)
	check.Option(o, "nfs", s.NFS, c.nfs)
	needs(c, o, "rbd", s.RBD, "monitors", "image")
	needs(c, o, "quobyte", s.Quobyte, "volume")
	needs(c, o, "cephfs", s.CephFS, "monitors")
	needs(c, o, "iscsi", s.ISCSI, "targetPortal", "iqn")
	needs(c, o, "cinder", s.Cinder, "volumeID")
	check.Option(o, "fc", s.FC, c.fibreChannel)
	needs(c, o, "flexVolume", s.FlexVolume, "driver")
	needs(c, o, "azureFile", s.AzureFile, "secretName", "shareName")
	needs(c, o, "vsphereVolume", s.VsphereVolume, "volumePath")
	needs(c, o, "photonPersistentDisk", s.PhotonPersistentDisk, "pdID")
	needs(c, o, "portworxVolume", s.PortworxVolume, "volumeID")
	needs(c, o, "azureDisk", s.AzureDisk, "diskName", "diskURI")
	needs(c, o, "scaleIO", s.ScaleIO, "gateway", "system", "volumeName")
	check.Option(o, "local", s.Local, func(l *corev1.LocalVolumeSource, at *field.Path) {
		c.RequireBy(at.Child("path"), l.Path, c.NoBacksteps)
	})
	check.Option(o, "storageos", s.StorageOS, func(s *corev1.StorageOSPersistentVolumeSource, at *field.Path) {
		c.RequireLabel(at.Child("volumeName"), s.VolumeName)
	})
	check.Option(o, "csi", s.CSI, c.csiVolume)
	o.Needed("must specify a volume type")
}

func (c checks) csiVolume(s *corev1.CSIPersistentVolumeSource, at *field.Path) {
	DriverName(c.Errors, s.Driver, at.Child("driver"))
	c.Needs(at, "volumeHandle", s.VolumeHandle)
	for _, secret := range []struct {
		name string
		ref  *corev1.SecretReference
	}{{"controllerPublishSecretRef", s.ControllerPublishSecretRef}, {"controllerExpandSecretRef", s.ControllerExpandSecretRef},
		{"nodePublishSecretRef", s.NodePublishSecretRef}, {"nodeExpandSecretRef", s.NodeExpandSecretRef}} {
		if secret.ref == nil {
			continue
		}
		at := at.Child(secret.name)
		c.RequireBy(at.Child("name"), secret.ref.Name, c.Subdomain)
		c.RequireLabel(at.Child("namespace"), secret.ref.Namespace)
	}
}

// DriverName checks the name of a driver of volumes, and adds the errors.
func DriverName(c *check.Errors, name string, at *field.Path) {
	if c.Require(at, name) {
		c.NotLonger(at, len(name), 63)
		c.Each(at, name, utilvalidation.IsDNS1123Subdomain(strings.ToLower(name)))
	}
}

// needs is Option for a source of which only texts or lists are required, by their names in JSON.
func needs[T any](c checks, o *check.OneOf, name string, source *T, required ...string) {
	check.Option(o, name, source, func(source *T, at *field.Path) {
		for _, name := range required {
			f, _, _ := util.JSONField(reflect.TypeFor[T](), name)
			c.Some(at.Child(name), reflect.ValueOf(source).Elem().FieldByIndex(f.Index).Len(), "")
		}
	})
}

// The sources that volumes of pods and persistent volumes share.

func (c checks) nfs(n *corev1.NFSVolumeSource, at *field.Path) {
	c.Needs(at, "server", n.Server, "path", n.Path)
	c.InvalidIf(!path.IsAbs(n.Path), at.Child("path"), n.Path, "must be an absolute path")
}

func (c checks) flocker(f *corev1.FlockerVolumeSource, at *field.Path) {
	c.Some(at, len(f.DatasetName+f.DatasetUUID), "one of datasetName and datasetUUID is required")
}

func (c checks) fibreChannel(f *corev1.FCVolumeSource, at *field.Path) {
	c.Some(at.Child("targetWWNs"), len(f.TargetWWNs)+len(f.WWIDs), "must specify either targetWWNs or wwids, but not both")
}
