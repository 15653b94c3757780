package warnings

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/podspec"
)

const (
	noSeccomp           = `non-functional in v1.27+; use the "seccompProfile" field instead`
	required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
)

// Pod looks at a new pod: programs change pods, often, and read no warnings.
var Pod = of(func(l *list, now, old *corev1.Pod) {
	if old != nil {
		return
	}
	if os := now.Spec.OS; os == nil || os.Name != corev1.Windows {
		l.appArmor(nil, &now.ObjectMeta, &now.Spec)
	}
	l.label(now.Name, "the Pod's hostname")
	l.pod(nil, &now.ObjectMeta, &now.Spec)
})

// pod looks at a pod, whose path is nil, or at a template.
func (l *list) pod(root *field.Path, meta *metav1.ObjectMeta, spec *corev1.PodSpec) {
	at := root.Child("spec")
	l.labels(spec.NodeSelector, at.Child("nodeSelector").Key)
	affinity, atAffinity := cmp.Or(spec.Affinity, &corev1.Affinity{}), at.Child("affinity")
	if nodes, at := affinity.NodeAffinity, atAffinity.Child("nodeAffinity"); nodes != nil {
		l.terms(at.Child(required), nodes.RequiredDuringSchedulingIgnoredDuringExecution)
		for i, term := range nodes.PreferredDuringSchedulingIgnoredDuringExecution {
			l.term(at.Child(preferred).Index(i).Child("preference"), term.Preference, true)
		}
	}
	for i, spread := range spec.TopologySpreadConstraints {
		at := at.Child("topologySpreadConstraints").Index(i)
		l.key(at.Child("topologyKey"), spread.TopologyKey)
		l.selector(at, spread.LabelSelector)
	}
	l.annotation(meta, root, "scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`)
	l.annotation(meta, root, "security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`)
	l.annotation(meta, root, "security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`)
	l.volumes(at.Child("volumes"), spec.Volumes)
	hosts, atHosts := spec.HostAliases, at.Child("hostAliases")
	l.pairs(len(hosts), func(i, j int) bool {
		return hosts[i].IP == hosts[j].IP && l.at(atHosts.Index(i).Child("ip"), "duplicate ip %q", hosts[i].IP)
	})
	secrets, atSecrets := spec.ImagePullSecrets, at.Child("imagePullSecrets")
	l.pairs(len(secrets), func(i, j int) bool {
		return secrets[i].Name == secrets[j].Name && l.at(atSecrets.Index(i).Child("name"), "duplicate name %q", secrets[i].Name)
	})
	for i, secret := range secrets {
		if secret.Name == "" {
			l.at(atSecrets.Index(i).Child("name"), `invalid empty name ""`)
		}
	}
	l.whole(at, spec.Overhead, corev1.ResourceMemory, "overhead")
	l.whole(at, spec.Overhead, corev1.ResourceEphemeralStorage, "overhead")
	if spec.SecurityContext == nil || spec.SecurityContext.SeccompProfile == nil {
		l.annotation(meta, root, corev1.SeccompPodAnnotationKey, noSeccomp)
	}
	if root != nil {
		l.appArmor(root, meta, spec)
	}
	l.containers(root, meta, spec)
	if grace := spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		l.at(at.Child("terminationGracePeriodSeconds"), "must be >= 0; negative values are invalid and will be treated as 1")
	}
	l.near(atAffinity.Child("podAffinity"), affinity.PodAffinity)
	l.near(atAffinity.Child("podAntiAffinity"), (*corev1.PodAffinity)(affinity.PodAntiAffinity))
	if spec.DNSConfig != nil {
		each(at.Child("dnsConfig", "nameservers"), spec.DNSConfig.Nameservers, l.ip)
	}
	for i, host := range hosts {
		l.ip(atHosts.Index(i).Child("ip"), host.IP)
	}
}

// selector adds a warning if no selector selects pods: it is not the one that selects all.
func (l *list) selector(at *field.Path, selector *metav1.LabelSelector) {
	if selector == nil {
		l.at(at.Child("labelSelector"), "a null labelSelector results in matching no pod")
	}
}

// near looks at the pods to be near to, or far from.
func (l *list) near(at *field.Path, pods *corev1.PodAffinity) {
	if pods == nil {
		return
	}
	for i, term := range pods.RequiredDuringSchedulingIgnoredDuringExecution {
		l.selector(at.Child(required).Index(i), term.LabelSelector)
	}
	for i, term := range pods.PreferredDuringSchedulingIgnoredDuringExecution {
		l.selector(at.Child(preferred).Index(i).Child("podAffinityTerm"), term.PodAffinityTerm.LabelSelector)
	}
}

// containers looks at the containers, and then at the ports of all of them.
func (l *list) containers(root *field.Path, meta *metav1.ObjectMeta, spec *corev1.PodSpec) {
	var ports []port
	podspec.EachContainer(spec, root.Child("spec"), func(c *corev1.Container, at *field.Path) {
		if len(meta.Annotations) > 0 && (c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil) {
			l.annotation(meta, root, corev1.SeccompContainerAnnotationKeyPrefix+c.Name, noSeccomp)
		}
		for _, name := range [...]corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
			l.whole(at, c.Resources.Limits, name, "resources", "limits")
			l.whole(at, c.Resources.Requests, name, "resources", "requests")
		}
		l.pairs(len(c.Env), func(i, j int) bool {
			now := &c.Env[i]
			if now.Name == c.Env[j].Name && (now.ValueFrom != nil || now.Value == "$("+now.Name+")" || !strings.Contains(now.Value, "$("+now.Name+")")) {
				l.at(at.Child("env").Index(i), "hides previous definition of %q, which may be dropped when using apply", now.Name)
			}
			return now.Name == c.Env[j].Name
		})
		for i := range c.Ports {
			ports = append(ports, port{&c.Ports[i], at.Child("ports").Index(i)})
		}
	})
	l.ports(ports)
}

// appArmor adds warnings for annotations that name a profile that neither the container nor its pod has.
func (l *list) appArmor(root *field.Path, meta *metav1.ObjectMeta, spec *corev1.PodSpec) {
	if len(meta.Annotations) == 0 {
		return
	}
	profile := cmp.Or(spec.SecurityContext, &corev1.PodSecurityContext{}).AppArmorProfile
	podspec.EachContainer(spec, nil, func(c *corev1.Container, _ *field.Path) {
		key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + c.Name
		if hasOwn := c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil; !hasOwn && (profile == nil || meta.Annotations[key] != annotationOf(profile)) {
			l.annotation(meta, root, key, `deprecated since v1.30; use the "appArmorProfile" field instead`)
		}
	})
}

// annotationOf returns the annotation that names a profile.
func annotationOf(profile *corev1.AppArmorProfile) string {
	switch profile.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		return corev1.DeprecatedAppArmorBetaProfileNamePrefix + *cmp.Or(profile.LocalhostProfile, new(""))
	case corev1.AppArmorProfileTypeRuntimeDefault:
		return corev1.DeprecatedAppArmorBetaProfileRuntimeDefault
	}
	return corev1.DeprecatedAppArmorBetaProfileNameUnconfined
}

// port is one of a container.
type port struct {
	*corev1.ContainerPort
	at *field.Path
}

// ports looks at the numbers of ports, and then at their names.
func (l *list) ports(ports []port) {
	for _, now := range ports {
		if now.HostIP != "" && now.HostPort == 0 {
			l.at(now.at, "hostIP set without hostPort: %+v", *now.ContainerPort)
		}
	}
	l.pairs(len(ports), func(i, j int) bool {
		now, other := ports[i], ports[j]
		sameHost := now.HostPort == other.HostPort
		switch {
		case now.ContainerPort.ContainerPort != other.ContainerPort.ContainerPort || now.Protocol != other.Protocol:
		case sameHost && now.HostIP == other.HostIP:
			l.at(now.at, "duplicate port definition with %s", other.at)
		case now.HostPort == 0 || other.HostPort == 0:
			l.at(now.at, "overlapping port definition with %s", other.at)
		case sameHost && (now.HostIP == "" || other.HostIP == ""):
			l.at(now.at, "dangerously ambiguous port definition with %s", other.at)
		}
		return false
	})
	l.pairs(len(ports), func(i, j int) bool {
		name, other := ports[i].Name, ports[j].at
		return name != "" && name == ports[j].Name &&
			l.at(ports[i].at, "duplicate port name %q with %s, services and probes that select ports by name will use %[2]s", name, other)
	})
}
