package noderestriction

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/util/pods"
)

// reference returns the kind of an object that a pod refers to, in the words of today's server, "" for none. A volume of an unknown
// source is an error.
func reference(pod *corev1.Pod) (kind string, err error) {
	spec := &pod.Spec
	switch {
	case spec.ServiceAccountName != "":
		return "serviceaccounts", nil
	case len(pods.Secrets(spec)) > 0:
		return "secrets", nil
	case len(pods.ConfigMaps(spec)) > 0:
		return "configmaps", nil
	case len(spec.ResourceClaims) > 0:
		return "resourceclaims", nil
	}
	for i := range spec.Volumes {
		if kind, err := referenceOf(&spec.Volumes[i]); kind != "" || err != nil {
			return kind, err
		}
	}
	return "", nil
}

func referenceOf(v *corev1.Volume) (string, error) {
	switch {
	case v.AWSElasticBlockStore != nil, v.AzureDisk != nil, v.CephFS != nil, v.Cinder != nil, v.DownwardAPI != nil, v.EmptyDir != nil, v.FC != nil,
		v.FlexVolume != nil, v.Flocker != nil, v.GCEPersistentDisk != nil, v.GitRepo != nil, v.HostPath != nil, v.Image != nil, v.ISCSI != nil, v.NFS != nil,
		v.PhotonPersistentDisk != nil, v.PortworxVolume != nil, v.Quobyte != nil, v.RBD != nil, v.ScaleIO != nil, v.StorageOS != nil, v.VsphereVolume != nil:
		return "", nil
	case v.ConfigMap != nil:
		return "configmaps (via configmap volumes)", nil
	case v.Secret != nil:
		return "secrets (via secret volumes)", nil
	case v.CSI != nil:
		return "csidrivers (via CSI volumes)", nil
	case v.Glusterfs != nil:
		return "endpoints (via glusterFS volumes)", nil
	case v.PersistentVolumeClaim != nil:
		return "persistentvolumeclaims", nil
	case v.Ephemeral != nil:
		return "persistentvolumeclaims (via ephemeral volumes)", nil
	case v.AzureFile != nil:
		return "secrets (via azureFile volumes)", nil
	case v.Projected != nil:
		return projectedReference(v)
	}
	return "", fmt.Errorf("unknown volume type for volume  %q", v.Name) // as today's server spells it
}

func projectedReference(v *corev1.Volume) (string, error) {
	for _, source := range v.Projected.Sources {
		switch {
		case source.ConfigMap != nil:
			return "configmaps (via projected volumes)", nil
		case source.Secret != nil:
			return "secrets (via projected volumes)", nil
		case source.ServiceAccountToken != nil:
			return "serviceaccounts (via projected volumes)", nil
		case source.ClusterTrustBundle != nil:
			return "clustertrustbundles", nil
		case source.PodCertificate != nil:
			return "podcertificates", nil
		case source.DownwardAPI == nil:
			return "", fmt.Errorf("unknown source for projected volume %q", v.Name)
		}
	}
	return "", nil
}
