package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// volumes checks the volumes of a pod, whose name is empty if it is a template. It returns the
// sources of the valid ones by name, for the mounts.
func (c checks) volumes(all []corev1.Volume, pod string, at *field.Path) map[string]corev1.VolumeSource {
	created := map[string]bool{}
	for _, v := range all {
		created[pod+"-"+v.Name] = v.Ephemeral != nil && pod != ""
	}
	good := map[string]corev1.VolumeSource{}
	for i, v := range all {
		own := checks{&check.Errors{}}
		own.volume(&v, pod, at.Index(i))
		own.RequireLabel(at.Index(i).Child("name"), v.Name)
		_, twice := good[v.Name]
		own.DuplicateIf(twice, at.Index(i).Child("name"), v.Name)
		if len(own.List) == 0 {
			good[v.Name] = v.VolumeSource
		}
		c.Add(own.List...)
		if claim := v.PersistentVolumeClaim; claim != nil {
			c.InvalidIf(created[claim.ClaimName], at.Index(i).Child("persistentVolumeClaim", "claimName"), claim.ClaimName,
				"must not reference a PVC that gets created for an ephemeral volume")
		}
	}
	return good
}

// volume checks the source of a volume. Of the sources of single products, only the required
// fields are checked.
func (c checks) volume(v *corev1.Volume, pod string, at *field.Path) {
	o := c.OneOf(at, "volume type")
	check.Option(o, "emptyDir", v.EmptyDir, func(e *corev1.EmptyDirVolumeSource, at *field.Path) {
		c.Forbid(e.SizeLimit != nil && e.SizeLimit.Sign() < 0, at.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity")
	})
	check.Option(o, "hostPath", v.HostPath, c.hostPath)
	check.Option(o, "gitRepo", v.GitRepo, func(g *corev1.GitRepoVolumeSource, at *field.Path) {
		c.Needs(at, "repository", g.Repository)
		c.Relative(at.Child("directory"), g.Directory)
	})
	check.Option(o, "gcePersistentDisk", v.GCEPersistentDisk, func(g *corev1.GCEPersistentDiskVolumeSource, _ *field.Path) {
		c.Needs(at, "persistentDisk.pdName", g.PDName)
	})
	needs(c, o, "awsElasticBlockStore", v.AWSElasticBlockStore, "volumeID")
	check.Option(o, "secret", v.Secret, func(s *corev1.SecretVolumeSource, at *field.Path) {
		c.Needs(at, "secretName", s.SecretName)
		c.files(at, s.DefaultMode, s.Items)
	})
	check.Option(o, "nfs", v.NFS, c.nfs)
	needs(c, o, "iscsi", v.ISCSI, "targetPortal", "iqn")
	needs(c, o, "glusterfs", v.Glusterfs, "endpoints", "path")
	check.Option(o, "flocker", v.Flocker, c.flocker)
	needs(c, o, "persistentVolumeClaim", v.PersistentVolumeClaim, "claimName")
	needs(c, o, "rbd", v.RBD, "monitors", "image")
	needs(c, o, "cinder", v.Cinder, "volumeID")
	needs(c, o, "cephfs", v.CephFS, "monitors")
	needs(c, o, "quobyte", v.Quobyte, "volume")
	check.Option(o, "downwardAPI", v.DownwardAPI, func(d *corev1.DownwardAPIVolumeSource, at *field.Path) {
		c.mode(at.Child("defaultMode"), d.DefaultMode)
		for _, file := range d.Items {
			c.downwardFile(&file, at)
		}
	})
	check.Option(o, "fc", v.FC, c.fibreChannel)
	needs(c, o, "flexVolume", v.FlexVolume, "driver")
	check.Option(o, "configMap", v.ConfigMap, func(m *corev1.ConfigMapVolumeSource, at *field.Path) {
		c.Needs(at, "name", m.Name)
		c.files(at, m.DefaultMode, m.Items)
	})
	needs(c, o, "azureFile", v.AzureFile, "secretName", "shareName")
	needs(c, o, "vsphereVolume", v.VsphereVolume, "volumePath")
	needs(c, o, "photonPersistentDisk", v.PhotonPersistentDisk, "pdID")
	needs(c, o, "portworxVolume", v.PortworxVolume, "volumeID")
	needs(c, o, "azureDisk", v.AzureDisk, "diskName", "diskURI")
	check.Option(o, "storageos", v.StorageOS, func(s *corev1.StorageOSVolumeSource, at *field.Path) {
		c.RequireLabel(at.Child("volumeName"), s.VolumeName)
	})
	check.Option(o, "projected", v.Projected, func(p *corev1.ProjectedVolumeSource, at *field.Path) {
		c.mode(at.Child("defaultMode"), p.DefaultMode)
		c.projections(p.Sources, at)
	})
	needs(c, o, "scaleIO", v.ScaleIO, "gateway", "system", "volumeName")
	check.Option(o, "csi", v.CSI, func(s *corev1.CSIVolumeSource, at *field.Path) {
		DriverName(c.Errors, s.Driver, at.Child("driver"))
		if secret := s.NodePublishSecretRef; secret != nil {
			c.Needs(at, "nodePublishSecretRef.name", secret.Name)
		}
	})
	check.Option(o, "ephemeral", v.Ephemeral, c.ephemeralVolume)
	check.Option(o, "image", v.Image, func(i *corev1.ImageVolumeSource, at *field.Path) {
		if pod != "" {
			c.Needs(at, "reference", i.Reference)
		}
		c.pullPolicy(at.Child("pullPolicy"), i.PullPolicy)
	})
	o.Needed("must specify a volume type")
}

func (c checks) hostPath(h *corev1.HostPathVolumeSource, at *field.Path) {
	if c.Require(at.Child("path"), h.Path) {
		c.NoBacksteps(at.Child("path"), h.Path)
		check.IfSupported(c.Errors, at.Child("type"), h.Type, corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev, corev1.HostPathDirectory,
			corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)
	}
}

func (c checks) ephemeralVolume(e *corev1.EphemeralVolumeSource, at *field.Path) {
	at = at.Child("volumeClaimTemplate")
	if e.VolumeClaimTemplate == nil {
		c.Add(field.Required(at, ""))
		return
	}
	c.LabelsAndAnnotations(&e.VolumeClaimTemplate.ObjectMeta, at.Child("metadata"))
	spec, at := e.VolumeClaimTemplate.Spec, at.Child("spec")
	c.Some(at.Child("accessModes"), len(spec.AccessModes), "at least 1 access mode is required")
	for _, mode := range spec.AccessModes {
		check.Supported(c.Errors, at.Child("accessModes"), mode, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
	}
	StorageRequest(c.Errors, &spec.Resources, at.Child("resources"))
}

// StorageRequest requires the size of a claim, and adds the errors.
func StorageRequest(c *check.Errors, resources *corev1.VolumeResourceRequirements, at *field.Path) {
	size, sized := resources.Requests[corev1.ResourceStorage]
	at = at.Key(string(corev1.ResourceStorage))
	c.RequiredIf(!sized, at, "")
	c.InvalidIf(sized && size.Sign() <= 0, at, size.String(), "must be greater than zero")
}

// local requires the path of a file in a volume.
func (c checks) local(at *field.Path, name string) {
	c.Relative(at, name)
	c.InvalidIf(strings.HasPrefix(name, "..") && !strings.HasPrefix(name, "../"), at, name, "must not start with '..'")
}

func (c checks) mode(at *field.Path, mode *int32) {
	if mode != nil {
		c.InvalidIf(*mode < 0 || *mode > 0777, at, *mode, "must be a number between 0 and 0777 (octal), both inclusive")
	}
}

// files checks the files of a volume with the values of an object.
func (c checks) files(at *field.Path, mode *int32, keys []corev1.KeyToPath) {
	c.mode(at.Child("defaultMode"), mode)
	for i, key := range keys {
		c.key(key, at.Child("items").Index(i))
	}
}

func (c checks) key(key corev1.KeyToPath, at *field.Path) {
	c.Needs(at, "key", key.Key, "path", key.Path)
	c.local(at.Child("path"), key.Path)
	c.mode(at.Child("mode"), key.Mode)
}

func (c checks) downwardFile(file *corev1.DownwardAPIVolumeFile, at *field.Path) {
	c.Needs(at, "path", file.Path)
	c.local(at.Child("path"), file.Path)
	switch {
	case file.FieldRef != nil:
		c.fieldRef(file.FieldRef, volumeFields, at.Child("fieldRef"))
		c.InvalidIf(file.ResourceFieldRef != nil, at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
	case file.ResourceFieldRef != nil:
		c.resourceRef(file.ResourceFieldRef, true, at.Child("resourceFieldRef"))
	default:
		c.Add(field.Required(at, "one of fieldRef and resourceFieldRef is required"))
	}
	c.mode(at.Child("mode"), file.Mode)
}

// projections checks the sources of a projected volume: no two may write the same file.
func (c checks) projections(sources []corev1.VolumeProjection, volume *field.Path) {
	files := map[string]bool{}
	once := func(file, shown string) {
		c.InvalidIf(files[file], volume, shown, "conflicting duplicate paths")
		files[file] = file != ""
	}
	items := func(name string, items []corev1.KeyToPath, at *field.Path) {
		c.Needs(at, "name", name)
		for i, item := range items {
			c.key(item, at.Child("items").Index(i))
			once(item.Path, name)
		}
	}
	for i, s := range sources {
		at := volume.Child("sources").Index(i)
		if s.Secret != nil {
			items(s.Secret.Name, s.Secret.Items, at.Child("secret"))
		}
		if s.ConfigMap != nil {
			items(s.ConfigMap.Name, s.ConfigMap.Items, at.Child("configMap"))
		}
		if s.DownwardAPI != nil {
			for _, file := range s.DownwardAPI.Items {
				c.downwardFile(&file, at.Child("downwardAPI"))
				once(file.Path, file.Path)
			}
		}
		if t := s.ServiceAccountToken; t != nil {
			check.IfSet(at.Child("serviceAccountToken", "expirationSeconds"), t.ExpirationSeconds, c.TokenSeconds)
			c.Needs(volume, "path", t.Path)
			c.local(volume.Child("path"), t.Path)
		}
		if b := s.ClusterTrustBundle; b != nil {
			at := at.Child("clusterTrustBundle")
			c.Needs(at, "path", b.Path)
			c.local(at.Child("path"), b.Path)
			once(b.Path, b.Path)
		}
		if p := s.PodCertificate; p != nil {
			c.Needs(at.Child("podCertificate"), "signerName", p.SignerName)
		}
		found := count(s.Secret != nil, s.ConfigMap != nil, s.DownwardAPI != nil, s.ServiceAccountToken != nil, s.ClusterTrustBundle != nil, s.PodCertificate != nil)
		c.Forbid(found > 1, at, "may not specify more than 1 volume type per source")
	}
}
