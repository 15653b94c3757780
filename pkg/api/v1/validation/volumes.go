package validation

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volumes checks those of a pod, whose name is empty if they are a template's. It returns
// the sources of the good ones by name, for the mounts.
func (c *checks) volumes(all []corev1.Volume, pod string, at *field.Path) map[string]corev1.VolumeSource {
	created := map[string]bool{}
	for _, v := range all {
		created[pod+"-"+v.Name] = v.Ephemeral != nil && pod != ""
	}
	good := map[string]corev1.VolumeSource{}
	for i, v := range all {
		var own checks
		own.volume(&v, pod, at.Index(i))
		own.requireLabel(at.Index(i).Child("name"), v.Name)
		if _, twice := good[v.Name]; twice {
			own.add(field.Duplicate(at.Index(i).Child("name"), v.Name))
		}
		if len(own.errs) == 0 {
			good[v.Name] = v.VolumeSource
		}
		c.add(own.errs...)
		if claim := v.PersistentVolumeClaim; claim != nil {
			c.invalidIf(created[claim.ClaimName], at.Index(i).Child("persistentVolumeClaim", "claimName"), claim.ClaimName,
				"must not reference a PVC that gets created for an ephemeral volume")
		}
	}
	return good
}

// oneOf checks the first one of several things of which there may be one.
type oneOf struct {
	*checks
	at    *field.Path
	kind  string
	found bool
}

func option[T any](o *oneOf, name string, value *T, check func(value *T, at *field.Path)) {
	if value != nil && o.found {
		o.add(field.Forbidden(o.at.Child(name), "may not specify more than 1 "+o.kind))
	} else if value != nil {
		o.found = true
		check(value, o.at.Child(name))
	}
}

func (o *oneOf) needed(detail string) {
	if !o.found {
		o.add(field.Required(o.at, detail))
	}
}

// needs asks for the values of fields: it gets pairs of a name and a value.
func (c *checks) needs(at *field.Path, pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		c.require(at.Child(pair[0]), pair[1])
	}
}

// volume checks the source of a volume. Of sources that only one product has, only what is
// required is checked.
func (c *checks) volume(v *corev1.Volume, pod string, at *field.Path) {
	o := &oneOf{c, at, "volume type", false}
	option(o, "emptyDir", v.EmptyDir, func(e *corev1.EmptyDirVolumeSource, at *field.Path) {
		c.forbid(e.SizeLimit != nil && e.SizeLimit.Sign() < 0, at.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity")
	})
	option(o, "hostPath", v.HostPath, c.hostPath)
	option(o, "gitRepo", v.GitRepo, func(g *corev1.GitRepoVolumeSource, at *field.Path) {
		c.needs(at, "repository", g.Repository)
		c.descending(at.Child("directory"), g.Directory)
	})
	option(o, "gcePersistentDisk", v.GCEPersistentDisk, func(g *corev1.GCEPersistentDiskVolumeSource, _ *field.Path) {
		c.needs(at, "persistentDisk.pdName", g.PDName)
	})
	option(o, "awsElasticBlockStore", v.AWSElasticBlockStore, func(a *corev1.AWSElasticBlockStoreVolumeSource, at *field.Path) {
		c.needs(at, "volumeID", a.VolumeID)
	})
	option(o, "secret", v.Secret, func(s *corev1.SecretVolumeSource, at *field.Path) {
		c.needs(at, "secretName", s.SecretName)
		c.mode(at.Child("defaultMode"), s.DefaultMode)
		c.keys(s.Items, at.Child("items"))
	})
	option(o, "nfs", v.NFS, func(n *corev1.NFSVolumeSource, at *field.Path) {
		c.needs(at, "server", n.Server, "path", n.Path)
		c.invalidIf(!path.IsAbs(n.Path), at.Child("path"), n.Path, "must be an absolute path")
	})
	option(o, "iscsi", v.ISCSI, func(i *corev1.ISCSIVolumeSource, at *field.Path) {
		c.needs(at, "targetPortal", i.TargetPortal, "iqn", i.IQN)
	})
	option(o, "glusterfs", v.Glusterfs, func(g *corev1.GlusterfsVolumeSource, at *field.Path) {
		c.needs(at, "endpoints", g.EndpointsName, "path", g.Path)
	})
	option(o, "flocker", v.Flocker, func(f *corev1.FlockerVolumeSource, at *field.Path) {
		c.some(at, len(f.DatasetName+f.DatasetUUID), "one of datasetName and datasetUUID is required")
	})
	option(o, "persistentVolumeClaim", v.PersistentVolumeClaim, func(p *corev1.PersistentVolumeClaimVolumeSource, at *field.Path) {
		c.needs(at, "claimName", p.ClaimName)
	})
	option(o, "rbd", v.RBD, func(r *corev1.RBDVolumeSource, at *field.Path) {
		c.some(at.Child("monitors"), len(r.CephMonitors), "")
		c.needs(at, "image", r.RBDImage)
	})
	option(o, "cinder", v.Cinder, func(d *corev1.CinderVolumeSource, at *field.Path) {
		c.needs(at, "volumeID", d.VolumeID)
	})
	option(o, "cephfs", v.CephFS, func(f *corev1.CephFSVolumeSource, at *field.Path) {
		c.some(at.Child("monitors"), len(f.Monitors), "")
	})
	option(o, "quobyte", v.Quobyte, func(q *corev1.QuobyteVolumeSource, at *field.Path) {
		c.needs(at, "volume", q.Volume)
	})
	option(o, "downwardAPI", v.DownwardAPI, func(d *corev1.DownwardAPIVolumeSource, at *field.Path) {
		c.mode(at.Child("defaultMode"), d.DefaultMode)
		for _, file := range d.Items {
			c.downwardFile(&file, at)
		}
	})
	option(o, "fc", v.FC, func(f *corev1.FCVolumeSource, at *field.Path) {
		c.some(at.Child("targetWWNs"), len(f.TargetWWNs)+len(f.WWIDs), "must specify either targetWWNs or wwids, but not both")
	})
	option(o, "flexVolume", v.FlexVolume, func(f *corev1.FlexVolumeSource, at *field.Path) {
		c.needs(at, "driver", f.Driver)
	})
	option(o, "configMap", v.ConfigMap, func(m *corev1.ConfigMapVolumeSource, at *field.Path) {
		c.needs(at, "name", m.Name)
		c.mode(at.Child("defaultMode"), m.DefaultMode)
		c.keys(m.Items, at.Child("items"))
	})
	option(o, "azureFile", v.AzureFile, func(a *corev1.AzureFileVolumeSource, at *field.Path) {
		c.needs(at, "secretName", a.SecretName, "shareName", a.ShareName)
	})
	option(o, "vsphereVolume", v.VsphereVolume, func(s *corev1.VsphereVirtualDiskVolumeSource, at *field.Path) {
		c.needs(at, "volumePath", s.VolumePath)
	})
	option(o, "photonPersistentDisk", v.PhotonPersistentDisk, func(p *corev1.PhotonPersistentDiskVolumeSource, at *field.Path) {
		c.needs(at, "pdID", p.PdID)
	})
	option(o, "portworxVolume", v.PortworxVolume, func(p *corev1.PortworxVolumeSource, at *field.Path) {
		c.needs(at, "volumeID", p.VolumeID)
	})
	option(o, "azureDisk", v.AzureDisk, func(a *corev1.AzureDiskVolumeSource, at *field.Path) {
		c.needs(at, "diskName", a.DiskName, "diskURI", a.DataDiskURI)
	})
	option(o, "storageos", v.StorageOS, func(s *corev1.StorageOSVolumeSource, at *field.Path) {
		c.requireLabel(at.Child("volumeName"), s.VolumeName)
	})
	option(o, "projected", v.Projected, func(p *corev1.ProjectedVolumeSource, at *field.Path) {
		c.mode(at.Child("defaultMode"), p.DefaultMode)
		c.projections(p.Sources, at)
	})
	option(o, "scaleIO", v.ScaleIO, func(s *corev1.ScaleIOVolumeSource, at *field.Path) {
		c.needs(at, "gateway", s.Gateway, "system", s.System, "volumeName", s.VolumeName)
	})
	option(o, "csi", v.CSI, func(s *corev1.CSIVolumeSource, at *field.Path) {
		if c.require(at.Child("driver"), s.Driver) {
			if len(s.Driver) > 63 {
				c.add(field.TooLong(at.Child("driver"), "", 63))
			}
			c.each(at.Child("driver"), s.Driver, utilvalidation.IsDNS1123Subdomain(strings.ToLower(s.Driver)))
		}
		if secret := s.NodePublishSecretRef; secret != nil {
			c.needs(at, "nodePublishSecretRef.name", secret.Name)
		}
	})
	option(o, "ephemeral", v.Ephemeral, c.ephemeralVolume)
	option(o, "image", v.Image, func(i *corev1.ImageVolumeSource, at *field.Path) {
		if pod != "" {
			c.needs(at, "reference", i.Reference)
		}
		c.pullPolicy(at.Child("pullPolicy"), i.PullPolicy)
	})
	o.needed("must specify a volume type")
}

func (c *checks) hostPath(h *corev1.HostPathVolumeSource, at *field.Path) {
	if c.require(at.Child("path"), h.Path) {
		c.noBacksteps(at.Child("path"), h.Path)
		ifSupported(c, at.Child("type"), h.Type, corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev, corev1.HostPathDirectory,
			corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)
	}
}

func (c *checks) ephemeralVolume(e *corev1.EphemeralVolumeSource, at *field.Path) {
	at = at.Child("volumeClaimTemplate")
	if e.VolumeClaimTemplate == nil {
		c.add(field.Required(at, ""))
		return
	}
	c.labelsAndAnnotations(&e.VolumeClaimTemplate.ObjectMeta, at.Child("metadata"))
	spec, at := e.VolumeClaimTemplate.Spec, at.Child("spec")
	c.some(at.Child("accessModes"), len(spec.AccessModes), "at least 1 access mode is required")
	for _, mode := range spec.AccessModes {
		supported(c, at.Child("accessModes"), mode, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
	}
	if size, there := spec.Resources.Requests[corev1.ResourceStorage]; !there {
		c.add(field.Required(at.Child("resources").Key("storage"), ""))
	} else {
		c.invalidIf(size.Sign() <= 0, at.Child("resources").Key("storage"), size.String(), "must be greater than zero")
	}
}

func (c *checks) noBacksteps(at *field.Path, name string) {
	c.invalidIf(slices.Contains(strings.Split(name, "/"), ".."), at, name, "must not contain '..'")
}

func (c *checks) descending(at *field.Path, name string) {
	c.invalidIf(path.IsAbs(name), at, name, "must be a relative path")
	c.noBacksteps(at, name)
}

// local asks for a path of a file in a volume.
func (c *checks) local(at *field.Path, name string) {
	c.descending(at, name)
	c.invalidIf(strings.HasPrefix(name, "..") && !strings.HasPrefix(name, "../"), at, name, "must not start with '..'")
}

func (c *checks) mode(at *field.Path, mode *int32) {
	if mode != nil {
		c.invalidIf(*mode < 0 || *mode > 0777, at, *mode, "must be a number between 0 and 0777 (octal), both inclusive")
	}
}

func (c *checks) keys(keys []corev1.KeyToPath, at *field.Path) {
	for i, key := range keys {
		c.key(key, at.Index(i))
	}
}

func (c *checks) key(key corev1.KeyToPath, at *field.Path) {
	c.needs(at, "key", key.Key, "path", key.Path)
	c.local(at.Child("path"), key.Path)
	c.mode(at.Child("mode"), key.Mode)
}

func (c *checks) downwardFile(file *corev1.DownwardAPIVolumeFile, at *field.Path) {
	c.needs(at, "path", file.Path)
	c.local(at.Child("path"), file.Path)
	switch {
	case file.FieldRef != nil:
		c.fieldRef(file.FieldRef, volumeFields, at.Child("fieldRef"))
		c.invalidIf(file.ResourceFieldRef != nil, at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
	case file.ResourceFieldRef != nil:
		c.resourceRef(file.ResourceFieldRef, true, at.Child("resourceFieldRef"))
	default:
		c.add(field.Required(at, "one of fieldRef and resourceFieldRef is required"))
	}
	c.mode(at.Child("mode"), file.Mode)
}

// projections checks the sources of a projected volume: no two may write the same file.
func (c *checks) projections(sources []corev1.VolumeProjection, volume *field.Path) {
	files := map[string]bool{}
	once := func(file, shown string) {
		c.invalidIf(files[file], volume, shown, "conflicting duplicate paths")
		files[file] = file != ""
	}
	items := func(name string, items []corev1.KeyToPath, at *field.Path) {
		c.needs(at, "name", name)
		for i, item := range items {
			c.key(item, at.Child("items").Index(i))
			once(item.Path, name)
		}
	}
	for i, s := range sources {
		at, found := volume.Child("sources").Index(i), 0
		for _, there := range []bool{s.Secret != nil, s.ConfigMap != nil, s.DownwardAPI != nil, s.ServiceAccountToken != nil, s.ClusterTrustBundle != nil, s.PodCertificate != nil} {
			if there {
				found++
			}
		}
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
			if seconds := t.ExpirationSeconds; seconds != nil {
				at := at.Child("serviceAccountToken", "expirationSeconds")
				c.invalidIf(*seconds < 10*60, at, *seconds, "may not specify a duration less than 10 minutes")
				c.invalidIf(*seconds > 1<<32, at, *seconds, "may not specify a duration larger than 2^32 seconds")
			}
			c.needs(volume, "path", t.Path)
			c.local(volume.Child("path"), t.Path)
		}
		if b := s.ClusterTrustBundle; b != nil {
			at := at.Child("clusterTrustBundle")
			c.needs(at, "path", b.Path)
			c.local(at.Child("path"), b.Path)
			once(b.Path, b.Path)
		}
		if p := s.PodCertificate; p != nil {
			c.needs(at.Child("podCertificate"), "signerName", p.SignerName)
		}
		c.forbid(found > 1, at, "may not specify more than 1 volume type per source")
	}
}
