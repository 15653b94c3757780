package warnings

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ended adds a warning if no node has volumes of a kind any more. A volume is of one kind.
func (l *list) ended(at *field.Path, v *corev1.Volume) {
	switch {
	case v.PhotonPersistentDisk != nil:
		l.at(at.Child("photonPersistentDisk"), "deprecated in v1.11, non-functional in v1.16+")
	case v.GitRepo != nil:
		l.at(at.Child("gitRepo"), "deprecated in v1.11, and disabled by default in v1.33+")
	case v.ScaleIO != nil:
		l.at(at.Child("scaleIO"), "deprecated in v1.16, non-functional in v1.22+")
	case v.Flocker != nil:
		l.at(at.Child("flocker"), "deprecated in v1.22, non-functional in v1.25+")
	case v.StorageOS != nil:
		l.at(at.Child("storageOS"), "deprecated in v1.22, non-functional in v1.25+")
	case v.Quobyte != nil:
		l.at(at.Child("quobyte"), "deprecated in v1.22, non-functional in v1.25+")
	case v.Glusterfs != nil:
		l.at(at.Child("glusterfs"), "deprecated in v1.25, non-functional in v1.26+")
	case v.CephFS != nil:
		l.at(at.Child("cephfs"), "deprecated in v1.28, non-functional in v1.31+")
	case v.RBD != nil:
		l.at(at.Child("rbd"), "deprecated in v1.28, non-functional in v1.31+")
	}
}

// volumes looks at the volumes of a pod, and then at the files of each.
func (l *list) volumes(at *field.Path, volumes []corev1.Volume) {
	for i := range volumes {
		v, at := &volumes[i], at.Index(i)
		l.ended(at, v)
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			l.claim(at.Child("ephemeral", "volumeClaimTemplate", "spec"), &v.Ephemeral.VolumeClaimTemplate.Spec)
		}
	}
	for _, v := range volumes {
		switch {
		case v.ConfigMap != nil:
			l.files(v.Name, "ConfigMap "+strconv.Quote(v.ConfigMap.Name), filesOf("", v.ConfigMap.Items, nil))
		case v.Secret != nil:
			l.files(v.Name, "Secret "+strconv.Quote(v.Secret.SecretName), filesOf("", v.Secret.Items, nil))
		case v.DownwardAPI != nil:
			l.files(v.Name, "DownwardAPI", filesOf("", nil, v.DownwardAPI.Items))
		case v.Projected != nil:
			var files []file
			for _, source := range v.Projected.Sources {
				files = append(files, projected(source)...)
			}
			l.files(v.Name, "Projected", files)
		}
	}
}

// file is one of a volume. The source is set if the volume has files of several objects.
type file struct{ path, source string }

func (f file) String() string {
	if f.source != "" {
		return fmt.Sprintf("%q (%s)", f.path, f.source)
	}
	return strconv.Quote(f.path)
}

// filesOf returns the files of the items of a source: their keys are of an object, or they are fields of the pod.
func filesOf(source string, keys []corev1.KeyToPath, fields []corev1.DownwardAPIVolumeFile) (files []file) {
	for _, item := range keys {
		files = append(files, file{item.Path, source})
	}
	for _, item := range fields {
		files = append(files, file{item.Path, source})
	}
	return files
}

func projected(source corev1.VolumeProjection) []file {
	switch {
	case source.ConfigMap != nil:
		return filesOf("ConfigMap "+strconv.Quote(source.ConfigMap.Name), source.ConfigMap.Items, nil)
	case source.Secret != nil:
		return filesOf("Secret "+strconv.Quote(source.Secret.Name), source.Secret.Items, nil)
	case source.DownwardAPI != nil:
		return filesOf("DownwardAPI", nil, source.DownwardAPI.Items)
	case source.ServiceAccountToken != nil:
		return []file{{source.ServiceAccountToken.Path, "ServiceAccountToken"}}
	case source.ClusterTrustBundle != nil:
		bundle := source.ClusterTrustBundle
		return []file{{bundle.Path, "ClusterTrustBundle " + strconv.Quote(*cmp.Or(bundle.Name, bundle.SignerName, new("")))}}
	case source.PodCertificate != nil:
		own := source.PodCertificate
		return []file{{own.CertificateChainPath, "PodCertificate chain"}, {own.KeyPath, "PodCertificate key"}, {own.CredentialBundlePath, "PodCertificate credential bundle"}}
	}
	return nil
}

// files looks for files of a volume that are in the place of another one, or of its directory.
func (l *list) files(volume, kind string, files []file) {
	for i := range files {
		files[i].path = strings.TrimRight(files[i].path, "/")
	}
	l.pairs(len(files), func(i, j int) bool {
		now, other := files[i], files[j]
		if now.path != "" && other.path != "" && (isIn(now.path, other.path) || isIn(other.path, now.path)) {
			l.add(fmt.Sprintf("volume %q (%s): overlapping paths: %v with %v", volume, kind, now, other))
		}
		return false
	})
}

// isIn reports whether a path is that of a directory, or in it.
func isIn(path, directory string) bool {
	rest, begins := strings.CutPrefix(path, directory)
	return begins && (rest == "" || rest[0] == '/')
}

// PersistentVolumeClaim looks for an old annotation, and for parts of a byte.
var PersistentVolumeClaim = of(func(l *list, now, _ *corev1.PersistentVolumeClaim) {
	l.annotation(&now.ObjectMeta, nil, corev1.BetaStorageClassAnnotation, `deprecated since v1.8; use "storageClassName" attribute instead`)
	l.claim(field.NewPath("spec"), &now.Spec)
})

func (l *list) claim(at *field.Path, spec *corev1.PersistentVolumeClaimSpec) {
	l.whole(at, spec.Resources.Requests, corev1.ResourceStorage, "resources", "requests")
	l.whole(at, spec.Resources.Limits, corev1.ResourceStorage, "resources", "limits")
}
