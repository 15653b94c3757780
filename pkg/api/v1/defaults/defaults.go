// Package defaults sets the default values of today's API as kube-apiserver 1.36 does. The
// functions change their argument and are idempotent. They do not set what a real server
// allocates or what its admission plugins add: cluster IPs and their families, tolerations,
// the priority.
package defaults

import (
	"maps"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// set sets a field that has the zero value.
func set[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// point sets a nil pointer to a value.
func point[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// ReplicationController sets the replicas, copies the template's labels to the selector and the
// labels, and sets the defaults of the template.
func ReplicationController(rc *corev1.ReplicationController) {
	point(&rc.Spec.Replicas, 1)
	template := rc.Spec.Template
	if template == nil {
		return
	}
	if len(rc.Spec.Selector) == 0 {
		rc.Spec.Selector = maps.Clone(template.Labels)
	}
	if len(rc.Labels) == 0 {
		rc.Labels = maps.Clone(template.Labels)
	}
	PodSpec(&template.Spec)
}

// Service sets the defaults that do not depend on an allocated cluster IP. A cluster IP of the
// client, or None, becomes the first of the service's addresses.
func Service(service *corev1.Service) {
	spec := &service.Spec
	if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	set(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		config := spec.SessionAffinityConfig
		if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
			timeout := corev1.DefaultClientIPServiceAffinitySeconds
			spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &timeout}}
		}
	}
	set(&spec.Type, corev1.ServiceTypeClusterIP)
	for i := range spec.Ports {
		port := &spec.Ports[i]
		set(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	reached := spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
	if reached || spec.Type == corev1.ServiceTypeClusterIP {
		point(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if reached || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0 {
		set(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if spec.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	point(&spec.AllocateLoadBalancerNodePorts, true)
	for i := range service.Status.LoadBalancer.Ingress {
		if ingress := &service.Status.LoadBalancer.Ingress[i]; ingress.IP != "" {
			point(&ingress.IPMode, corev1.LoadBalancerIPModeVIP)
		}
	}
}

// Endpoints sets the protocol of the ports.
func Endpoints(endpoints *corev1.Endpoints) {
	for i := range endpoints.Subsets {
		for j := range endpoints.Subsets[i].Ports {
			set(&endpoints.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
}

// Node makes the whole capacity allocatable, and synchronizes the two fields of pod CIDRs.
func Node(node *corev1.Node) {
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
	if spec := &node.Spec; spec.PodCIDR != "" && (len(spec.PodCIDRs) == 0 || spec.PodCIDRs[0] != spec.PodCIDR) {
		spec.PodCIDRs = []string{spec.PodCIDR}
	} else if len(spec.PodCIDRs) > 0 {
		spec.PodCIDR = spec.PodCIDRs[0]
	}
	roundUp(node.Status.Capacity)
	roundUp(node.Status.Allocatable)
}

// Namespace sets the phase, and the label with the name.
func Namespace(namespace *corev1.Namespace) {
	set(&namespace.Status.Phase, corev1.NamespaceActive)
	if name := namespace.Name; name != "" && namespace.Labels[corev1.LabelMetadataName] != name {
		labels := map[string]string{} // the others may be those of a stored object
		maps.Copy(labels, namespace.Labels)
		labels[corev1.LabelMetadataName] = name
		namespace.Labels = labels
	}
}

// ConfigMap makes missing values empty ones.
func ConfigMap(config *corev1.ConfigMap) { fill(config.BinaryData) }

// fill sets what was null in JSON.
func fill(data map[string][]byte) {
	for key, value := range data {
		if value == nil {
			data[key] = []byte{}
		}
	}
}

// Secret sets the type, moves the texts to the data, and makes missing values empty ones.
func Secret(secret *corev1.Secret) {
	fill(secret.Data)
	set(&secret.Type, corev1.SecretTypeOpaque)
	if len(secret.StringData) > 0 && secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for key, text := range secret.StringData {
		secret.Data[key] = []byte(text)
	}
	secret.StringData = nil
}

// TokenRequest lets a token last an hour.
func TokenRequest(request *authenticationv1.TokenRequest) {
	point(&request.Spec.ExpirationSeconds, 60*60)
}

// PodTemplate sets the defaults of the template.
func PodTemplate(template *corev1.PodTemplate) { PodSpec(&template.Template.Spec) }

// RoleBinding sets the API groups of the role and the subjects.
func RoleBinding(binding *rbacv1.RoleBinding) { bound(&binding.RoleRef, binding.Subjects) }

// ClusterRoleBinding sets the API groups of the role and the subjects.
func ClusterRoleBinding(binding *rbacv1.ClusterRoleBinding) {
	bound(&binding.RoleRef, binding.Subjects)
}

func bound(role *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	set(&role.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if subject := &subjects[i]; subject.Kind == rbacv1.UserKind || subject.Kind == rbacv1.GroupKind {
			set(&subject.APIGroup, rbacv1.GroupName)
		}
	}
}
