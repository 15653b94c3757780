package podspec

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
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
	check.Option(o, "awsElasticBlockStore", s.AWSElasticBlockStore, c.awsDisk)
	check.Option(o, "glusterfs", s.Glusterfs, func(g *corev1.GlusterfsPersistentVolumeSource, at *field.Path) {
		c.Needs(at, "endpoints", g.EndpointsName, "path", g.Path)
	})
	check.Option(o, "flocker", s.Flocker, c.flocker)
	check.Option(o, "nfs", s.NFS, c.nfs)
	check.Option(o, "rbd", s.RBD, func(r *corev1.RBDPersistentVolumeSource, at *field.Path) {
		c.Some(at.Child("monitors"), len(r.CephMonitors), "")
		c.Needs(at, "image", r.RBDImage)
	})
	check.Option(o, "quobyte", s.Quobyte, c.quobyte)
	check.Option(o, "cephfs", s.CephFS, func(f *corev1.CephFSPersistentVolumeSource, at *field.Path) {
		c.Some(at.Child("monitors"), len(f.Monitors), "")
	})
	check.Option(o, "iscsi", s.ISCSI, func(i *corev1.ISCSIPersistentVolumeSource, at *field.Path) {
		c.Needs(at, "targetPortal", i.TargetPortal, "iqn", i.IQN)
	})
	check.Option(o, "cinder", s.Cinder, func(d *corev1.CinderPersistentVolumeSource, at *field.Path) { c.Needs(at, "volumeID", d.VolumeID) })
	check.Option(o, "fc", s.FC, c.fibreChannel)
	check.Option(o, "flexVolume", s.FlexVolume, func(f *corev1.FlexPersistentVolumeSource, at *field.Path) { c.Needs(at, "driver", f.Driver) })
	check.Option(o, "azureFile", s.AzureFile, func(a *corev1.AzureFilePersistentVolumeSource, at *field.Path) {
		c.Needs(at, "secretName", a.SecretName, "shareName", a.ShareName)
	})
	check.Option(o, "vsphereVolume", s.VsphereVolume, c.vsphere)
	check.Option(o, "photonPersistentDisk", s.PhotonPersistentDisk, c.photon)
	check.Option(o, "portworxVolume", s.PortworxVolume, c.portworx)
	check.Option(o, "azureDisk", s.AzureDisk, c.azureDisk)
	check.Option(o, "scaleIO", s.ScaleIO, func(s *corev1.ScaleIOPersistentVolumeSource, at *field.Path) {
		c.Needs(at, "gateway", s.Gateway, "system", s.System, "volumeName", s.VolumeName)
	})
	check.Option(o, "local", s.Local, func(l *corev1.LocalVolumeSource, at *field.Path) {
		if c.Require(at.Child("path"), l.Path) {
			c.NoBacksteps(at.Child("path"), l.Path)
		}
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
		if c.Require(at.Child("name"), secret.ref.Name) {
			c.Subdomain(at.Child("name"), secret.ref.Name)
		}
		c.RequireLabel(at.Child("namespace"), secret.ref.Namespace)
	}
}

// DriverName checks the name of a driver of volumes, and adds the errors.
func DriverName(c *check.Errors, name string, at *field.Path) {
	if !c.Require(at, name) {
		return
	}
	if len(name) > 63 {
		c.Add(field.TooLong(at, "", 63))
	}
	c.Each(at, name, utilvalidation.IsDNS1123Subdomain(strings.ToLower(name)))
}

// The sources that volumes of pods and persistent volumes share.

func (c checks) awsDisk(a *corev1.AWSElasticBlockStoreVolumeSource, at *field.Path) {
	c.Needs(at, "volumeID", a.VolumeID)
}

func (c checks) nfs(n *corev1.NFSVolumeSource, at *field.Path) {
	c.Needs(at, "server", n.Server, "path", n.Path)
	c.InvalidIf(!path.IsAbs(n.Path), at.Child("path"), n.Path, "must be an absolute path")
}

func (c checks) flocker(f *corev1.FlockerVolumeSource, at *field.Path) {
	c.Some(at, len(f.DatasetName+f.DatasetUUID), "one of datasetName and datasetUUID is required")
}

func (c checks) quobyte(q *corev1.QuobyteVolumeSource, at *field.Path) {
	c.Needs(at, "volume", q.Volume)
}

func (c checks) fibreChannel(f *corev1.FCVolumeSource, at *field.Path) {
	c.Some(at.Child("targetWWNs"), len(f.TargetWWNs)+len(f.WWIDs), "must specify either targetWWNs or wwids, but not both")
}

func (c checks) vsphere(s *corev1.VsphereVirtualDiskVolumeSource, at *field.Path) {
	c.Needs(at, "volumePath", s.VolumePath)
}

func (c checks) photon(p *corev1.PhotonPersistentDiskVolumeSource, at *field.Path) {
	c.Needs(at, "pdID", p.PdID)
}

func (c checks) portworx(p *corev1.PortworxVolumeSource, at *field.Path) {
	c.Needs(at, "volumeID", p.VolumeID)
}

func (c checks) azureDisk(a *corev1.AzureDiskVolumeSource, at *field.Path) {
	c.Needs(at, "diskName", a.DiskName, "diskURI", a.DataDiskURI)
}
