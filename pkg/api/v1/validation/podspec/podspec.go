// Package podspec validates the spec of a pod or of a pod template.
package podspec

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// checks has the rules of this package and collects their errors.
type checks struct{ *check.Errors }

// podSpec is the spec of a pod or of a template, with what its parts refer to.
type podSpec struct {
	corev1.PodSpec
	at      *field.Path
	volumes map[string]corev1.VolumeSource
	claims  map[string]bool
}

// hostUsers reports whether the users in the pod are those of the host.
func (s *podSpec) hostUsers() bool { return s.HostUsers == nil || *s.HostUsers }

// EachContainer calls a function with all containers of a spec at a path: first the init containers,
// last the ephemeral ones.
func EachContainer(spec *corev1.PodSpec, at *field.Path, visit func(*corev1.Container, *field.Path)) {
	for i := range spec.InitContainers {
		visit(&spec.InitContainers[i], at.Child("initContainers").Index(i))
	}
	for i := range spec.Containers {
		visit(&spec.Containers[i], at.Child("containers").Index(i))
	}
	for i := range spec.EphemeralContainers {
		visit((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon), at.Child("ephemeralContainers").Index(i))
	}
}

// Validate checks the spec of a pod, whose name is empty if it is a template's, and adds the errors.
func Validate(errors *check.Errors, spec *corev1.PodSpec, pod string, at *field.Path) {
	c := checks{errors}
	s := &podSpec{PodSpec: *spec, at: at}
	c.RequiredIf(s.TerminationGracePeriodSeconds == nil, at.Child("terminationGracePeriodSeconds"), "")
	s.volumes = c.volumes(s.Volumes, pod, at.Child("volumes"))
	c.claims(s)
	c.containers(s)
	if whole := s.Resources; whole != nil {
		c.Forbid(whole.Claims != nil, at.Child("resources", "claims"), "claims may not be set for Resources at pod-level")
		c.resources(whole, c.podResource, s.claims, at.Child("resources"))
		c.wholePod(s, at.Child("resources"))
	}
	for i, ctr := range s.Containers {
		for j, port := range ctr.Ports {
			c.InvalidIf(s.HostNetwork && port.HostPort != port.ContainerPort && (pod != "" || port.HostPort != 0),
				at.Child("containers").Index(i).Child("ports").Index(j).Child("hostPort"), port.HostPort, "must match `containerPort` when `hostNetwork` is true")
		}
	}
	check.RequireSupported(c.Errors, at.Child("restartPolicy"), s.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	check.RequireSupported(c.Errors, at.Child("dnsPolicy"), s.DNSPolicy, corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)
	c.Add(metavalidation.ValidateLabels(s.NodeSelector, at.Child("nodeSelector"))...)
	c.podSecurity(s)
	c.affinity(s.Affinity, at.Child("affinity"))
	c.dns(s, at.Child("dnsConfig"))
	for i, gate := range s.ReadinessGates {
		c.Qualified(at.Child("readinessGates").Index(i).Child("conditionType"), string(gate.ConditionType))
	}
	gates := check.Unique{}
	for i, gate := range s.SchedulingGates {
		c.Qualified(at.Child("schedulingGates").Index(i), gate.Name)
		gates.Check(c.Errors, at.Child("schedulingGates").Index(i), gate.Name)
	}
	c.topologySpread(s.TopologySpreadConstraints, at.Child("topologySpreadConstraints"))
	c.userNamespaces(s)
	c.hostname(s)
	c.OptionalName(at.Child("serviceAccountName"), s.ServiceAccountName)
	c.OptionalName(at.Child("nodeName"), s.NodeName)
	if seconds := s.ActiveDeadlineSeconds; seconds != nil {
		c.InvalidIf(*seconds < 1 || *seconds > math.MaxInt32, at.Child("activeDeadlineSeconds"), *seconds, utilvalidation.InclusiveRangeError(1, math.MaxInt32))
	}
	c.Optional(at.Child("hostname"), s.Hostname, c.Label)
	c.Optional(at.Child("subdomain"), s.Subdomain, c.Label)
	Tolerations(c.Errors, s.Tolerations, at.Child("tolerations"))
	for i, alias := range s.HostAliases {
		at := at.Child("hostAliases").Index(i)
		c.IP(at.Child("ip"), alias.IP)
		for j, name := range alias.Hostnames {
			c.Subdomain(at.Child("hostnames").Index(j), name)
		}
	}
	c.OptionalName(at.Child("priorityClassName"), s.PriorityClassName)
	check.IfSet(at.Child("runtimeClassName"), s.RuntimeClassName, c.Name)
	if policy := s.PreemptionPolicy; policy != nil {
		check.RequireSupported(c.Errors, at.Child("preemptionPolicy"), *policy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
	if s.Overhead != nil {
		c.resources(&corev1.ResourceRequirements{Limits: s.Overhead}, c.ContainerResource, nil, at.Child("overhead"))
	}
	if s.OS != nil && c.Require(at.Child("os", "name"), string(s.OS.Name)) {
		check.Supported(c.Errors, at.Child("os"), s.OS.Name, corev1.Linux, corev1.Windows)
	}
	c.filesForVariables(s)
}

// claims checks the pod's resource claims and records their names.
func (c checks) claims(s *podSpec) {
	names := check.Unique{}
	for i, claim := range s.ResourceClaims {
		at := s.at.Child("resourceClaims").Index(i)
		if c.Require(at.Child("name"), claim.Name) {
			if !names[claim.Name] {
				c.Label(at.Child("name"), claim.Name)
			}
			names.Check(c.Errors, at.Child("name"), claim.Name)
		}
		name, template := claim.ResourceClaimName, claim.ResourceClaimTemplateName
		c.InvalidIf(name != nil && template != nil, at, claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
		c.InvalidIf(name == nil && template == nil, at, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
		check.IfSet(at.Child("resourceClaimName"), name, c.Name)
		check.IfSet(at.Child("resourceClaimTemplateName"), template, c.Name)
	}
	s.claims = names
}

func (c checks) dns(s *podSpec, at *field.Path) {
	config := s.DNSConfig
	c.RequiredIf(s.DNSPolicy == corev1.DNSNone && config == nil, at, "must provide `dnsConfig` when `dnsPolicy` is None")
	if config == nil {
		return
	}
	if s.DNSPolicy == corev1.DNSNone && len(config.Nameservers) == 0 {
		c.Add(field.Required(at.Child("nameservers"), "must provide at least one DNS nameserver when `dnsPolicy` is None"))
		return
	}
	c.InvalidIf(len(config.Nameservers) > 3, at.Child("nameservers"), config.Nameservers, "must not have more than 3 nameservers")
	for i, server := range config.Nameservers {
		c.IP(at.Child("nameservers").Index(i), server)
	}
	c.InvalidIf(len(config.Searches) > 32, at.Child("searches"), config.Searches, "must not have more than 32 search paths")
	c.InvalidIf(len(strings.Join(config.Searches, " ")) > 2048, at.Child("searches"), config.Searches,
		"must not have more than 2048 characters (including spaces) in the search list")
	for i, search := range config.Searches {
		if search != "." {
			name := strings.TrimSuffix(search, ".")
			c.Each(at.Child("searches").Index(i), name, utilvalidation.IsDNS1123SubdomainWithUnderscore(name))
		}
	}
	for i, option := range config.Options {
		c.Some(at.Child("options").Index(i), len(option.Name), "must not be empty")
	}
}

func (c checks) hostname(s *podSpec) {
	name, at := s.HostnameOverride, s.at.Child("hostnameOverride")
	if name == nil {
		return
	}
	c.Forbid(check.Is(s.SetHostnameAsFQDN), at, "may not be specified when setHostnameAsFQDN is true")
	c.Forbid(s.HostNetwork, at, "may not be specified when hostNetwork is true")
	c.NotLonger(at, len(*name), 64)
	c.Subdomain(at, *name)
}

// filesForVariables checks that files with variables are in emptyDir volumes.
func (c checks) filesForVariables(s *podSpec) {
	sources := map[string]corev1.VolumeSource{}
	for _, v := range s.Volumes {
		sources[v.Name] = v.VolumeSource
	}
	EachContainer(&s.PodSpec, s.at, func(ctr *corev1.Container, at *field.Path) {
		for i, v := range ctr.Env {
			if v.ValueFrom == nil || v.ValueFrom.FileKeyRef == nil {
				continue
			}
			at, name := at.Child("env").Index(i).Child("valueFrom", "fileKeyRef", "volumeName"), v.ValueFrom.FileKeyRef.VolumeName
			if source, there := sources[name]; !there {
				c.Add(field.NotFound(at, name))
			} else {
				c.InvalidIf(source.EmptyDir == nil, at, name, "referenced volume must be of type emptyDir")
			}
		}
	})
}
