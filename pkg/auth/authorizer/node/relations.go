package node

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"

	"kube2014/pkg/util/pods"
)

// Relation leads from an object to what gives access to it.
type Relation struct{ from, to Object }

func toNode(from Object, name string) Relation { return Relation{from, Object{Kind: node, Name: name}} }

// OfPod returns what the node of a pod may read for it, nothing while it has no node. A mirror pod gives no access: its node has made it.
func OfPod(pod *corev1.Pod) (relations []Relation) {
	if pods.IsMirror(pod) || pod.Spec.NodeName == "" {
		return nil
	}
	needs := func(kind Kind, name string) {
		if name != "" {
			relations = append(relations, toNode(Object{kind, pod.Namespace, name}, pod.Spec.NodeName))
		}
	}
	needs(Account, pod.Spec.ServiceAccountName)
	for _, name := range pods.Secrets(&pod.Spec) {
		needs(Secret, name)
	}
	for _, name := range pods.ConfigMaps(&pod.Spec) {
		needs(ConfigMap, name)
	}
	for i := range pod.Spec.Volumes {
		needs(Claim, pods.ClaimName(pod, &pod.Spec.Volumes[i]))
	}
	for i := range pod.Spec.ResourceClaims {
		needs(ResourceClaim, resourceClaim(pod, &pod.Spec.ResourceClaims[i]))
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		needs(ResourceClaim, extended.ResourceClaimName)
	}
	return relations
}

// resourceClaim returns the name of a claim of a pod, "" while there is none.
func resourceClaim(pod *corev1.Pod, claim *corev1.PodResourceClaim) string {
	if claim.ResourceClaimName != nil {
		return *claim.ResourceClaimName
	}
	if claim.ResourceClaimTemplateName == nil {
		return ""
	}
	for _, made := range pod.Status.ResourceClaimStatuses {
		if made.Name == claim.Name && made.ResourceClaimName != nil {
			return *made.ResourceClaimName
		}
	}
	return ""
}

// OfVolume returns the claim through which a volume and its secrets are reached. One without a claim is not reached.
func OfVolume(volume *corev1.PersistentVolume) (relations []Relation) {
	claim := volume.Spec.ClaimRef
	if claim == nil {
		return nil
	}
	own := Object{Kind: Volume, Name: volume.Name}
	relations = append(relations, Relation{own, Object{Claim, claim.Namespace, claim.Name}})
	for _, secret := range volumeSecrets(&volume.Spec) {
		if secret.Name != "" {
			relations = append(relations, Relation{Object{Secret, secret.Namespace, secret.Name}, own})
		}
	}
	return relations
}

// volumeSecrets returns the secrets that a kubelet needs for a volume that has a claim.
func volumeSecrets(spec *corev1.PersistentVolumeSpec) (secrets []corev1.SecretReference) {
	add := func(secret *corev1.SecretReference) {
		if secret != nil {
			secrets = append(secrets, *secret)
		}
	}
	addLegacy := func(secret *corev1.SecretReference) { // it may have no namespace: then it is in that of the claim
		if secret != nil {
			add(&corev1.SecretReference{Namespace: cmp.Or(secret.Namespace, spec.ClaimRef.Namespace), Name: secret.Name})
		}
	}
	switch source := &spec.PersistentVolumeSource; {
	case source.AzureFile != nil:
		secret := &corev1.SecretReference{Name: source.AzureFile.SecretName}
		if source.AzureFile.SecretNamespace != nil {
			secret.Namespace = *source.AzureFile.SecretNamespace
		}
		addLegacy(secret)
	case source.CephFS != nil:
		addLegacy(source.CephFS.SecretRef)
	case source.Cinder != nil:
		add(source.Cinder.SecretRef)
	case source.FlexVolume != nil:
		addLegacy(source.FlexVolume.SecretRef)
	case source.RBD != nil:
		addLegacy(source.RBD.SecretRef)
	case source.ScaleIO != nil:
		addLegacy(source.ScaleIO.SecretRef)
	case source.ISCSI != nil:
		addLegacy(source.ISCSI.SecretRef)
	case source.StorageOS != nil:
		if secret := source.StorageOS.SecretRef; secret != nil {
			add(&corev1.SecretReference{Namespace: secret.Namespace, Name: secret.Name})
		}
	case source.CSI != nil: // those of its controller are not for the kubelet
		add(source.CSI.NodePublishSecretRef)
		add(source.CSI.NodeStageSecretRef)
		add(source.CSI.NodeExpandSecretRef)
	}
	return secrets
}

// OfAttachment returns the node to which a volume is attached.
func OfAttachment(attachment *storagev1.VolumeAttachment) []Relation {
	return ownedBy(Object{Kind: Attachment, Name: attachment.Name}, &attachment.Spec.NodeName)
}

// OfSlice returns the node that has the devices of a slice, nothing for those of many nodes.
func OfSlice(slice *resourcev1.ResourceSlice) []Relation {
	return ownedBy(Object{Kind: Slice, Name: slice.Name}, slice.Spec.NodeName)
}

func ownedBy(own Object, name *string) []Relation {
	if name == nil || *name == "" {
		return nil
	}
	return []Relation{toNode(own, *name)}
}
