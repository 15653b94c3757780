package podspec

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

const sysctlName = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"

var (
	sysctls = regexp.MustCompile(sysctlName)
	// ipcSysctls belong to the pod if it has an IPC namespace of its own.
	ipcSysctls = regexp.MustCompile(`^(kernel\.(sem|shmall|shmmax|shmmni|shm_rmid_forced|msgmax|msgmnb|msgmni)$|kernel\.(shm|msg)\.|fs\.mqueue\.)`)
	netSysctls = regexp.MustCompile(`^net\.`)
)

// podSecurity checks the security context of the pod.
func (c checks) podSecurity(s *podSpec) {
	at, sc := s.at.Child("securityContext"), s.SecurityContext
	if sc == nil {
		return
	}
	check.IfSet(at.Child("fsGroup"), sc.FSGroup, c.group)
	c.runAs(at, sc.RunAsUser, sc.RunAsGroup)
	for i, group := range sc.SupplementalGroups {
		c.group(at.Child("supplementalGroups").Index(i), group)
	}
	c.InvalidIf(check.Is(s.ShareProcessNamespace) && s.HostPID, at.Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled")
	names := check.Unique{}
	for i, setting := range sc.Sysctls {
		at := at.Child("sysctls").Index(i).Child("name")
		if c.Require(at, setting.Name) {
			if len(setting.Name) > 253 || !sysctls.MatchString(setting.Name) {
				c.Add(field.Invalid(at, setting.Name, "must have at most 253 characters and match regex "+sysctlName))
			} else {
				names.Check(c.Errors, at, setting.Name)
			}
		}
		name := sysctlWithDots(setting.Name)
		if s.HostNetwork && netSysctls.MatchString(name) {
			c.Add(field.Invalid(at, setting.Name, "may not be specified when 'hostNetwork' is true"))
		} else {
			c.InvalidIf(s.HostIPC && ipcSysctls.MatchString(name), at, setting.Name, "may not be specified when 'hostIPC' is true")
		}
	}
	check.IfSupported(c.Errors, at.Child("fsGroupChangePolicy"), sc.FSGroupChangePolicy, corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)
	c.seccomp(sc.SeccompProfile, at.Child("seccompProfile"))
	c.appArmor(sc.AppArmorProfile, at.Child("appArmorProfile"))
	check.IfSupported(c.Errors, at.Child("supplementalGroupsPolicy"), sc.SupplementalGroupsPolicy, corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)
	check.IfSupported(c.Errors, at.Child("seLinuxChangePolicy"), sc.SELinuxChangePolicy, corev1.SELinuxChangePolicyRecursive)
}

// sysctlWithDots swaps the dots and slashes of a name that is separated by slashes.
func sysctlWithDots(name string) string {
	first := strings.IndexAny(name, "./")
	if first < 0 || name[first] == '.' {
		return name
	}
	return strings.NewReplacer(".", "/", "/", ".").Replace(name)
}

func (c checks) runAs(at *field.Path, user, group *int64) {
	if user != nil {
		c.Each(at.Child("runAsUser"), *user, utilvalidation.IsValidUserID(*user))
	}
	check.IfSet(at.Child("runAsGroup"), group, c.group)
}

func (c checks) group(at *field.Path, id int64) { c.Each(at, id, utilvalidation.IsValidGroupID(id)) }

func (c checks) securityContext(sc *corev1.SecurityContext, hostUsers bool, at *field.Path) {
	if sc == nil {
		return
	}
	c.runAs(at, sc.RunAsUser, sc.RunAsGroup)
	if mount := sc.ProcMount; mount != nil {
		check.Supported(c.Errors, at.Child("procMount"), *mount, corev1.DefaultProcMount, corev1.UnmaskedProcMount)
		c.InvalidIf(hostUsers && *mount == corev1.UnmaskedProcMount, at.Child("procMount"), mount, "`hostUsers` must be false to use `Unmasked`")
	}
	c.seccomp(sc.SeccompProfile, at.Child("seccompProfile"))
	if sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation {
		c.InvalidIf(check.Is(sc.Privileged), at, sc, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
		c.InvalidIf(sc.Capabilities != nil && slices.Contains(sc.Capabilities.Add, "CAP_SYS_ADMIN"), at, sc,
			"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
	}
	c.appArmor(sc.AppArmorProfile, at.Child("appArmorProfile"))
}

func (c checks) seccomp(p *corev1.SeccompProfile, at *field.Path) {
	if p == nil {
		return
	}
	if p.Type == "" {
		c.Add(field.Required(at.Child("type"), "type is required when seccompProfile is set"))
	} else {
		check.Supported(c.Errors, at.Child("type"), p.Type, corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	}
	switch file := at.Child("localhostProfile"); {
	case p.Type != corev1.SeccompProfileTypeLocalhost:
		c.InvalidIf(p.LocalhostProfile != nil, file, p, "can only be set when seccomp type is Localhost")
	case p.LocalhostProfile == nil:
		c.Add(field.Required(file, "must be set when seccomp type is Localhost"))
	default:
		c.Relative(file, *p.LocalhostProfile)
	}
}

func (c checks) appArmor(p *corev1.AppArmorProfile, at *field.Path) {
	if p == nil {
		return
	}
	file := at.Child("localhostProfile")
	switch p.Type {
	case "":
		c.Add(field.Required(at.Child("type"), "type is required when appArmorProfile is set"))
	case corev1.AppArmorProfileTypeLocalhost:
		switch name := p.LocalhostProfile; {
		case name == nil || *name == "":
			c.Add(field.Required(file, "must be set when AppArmor type is Localhost"))
		case strings.TrimSpace(*name) != *name:
			c.Add(field.Invalid(file, *name, "must not be padded with whitespace"))
		}
		if p.LocalhostProfile != nil {
			c.NotLonger(file, len(*p.LocalhostProfile), 4095)
		}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		c.InvalidIf(p.LocalhostProfile != nil, file, p.LocalhostProfile, "can only be set when AppArmor type is Localhost")
	default:
		check.Supported(c.Errors, at.Child("type"), p.Type, corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	}
}

// userNamespaces checks that a pod with its own users shares no other namespace with its host.
func (c checks) userNamespaces(s *podSpec) {
	if s.hostUsers() {
		return
	}
	const why = "when `hostUsers` is false"
	c.Forbid(s.HostNetwork, s.at.Child("hostNetwork"), why)
	c.Forbid(s.HostPID, s.at.Child("HostPID"), why)
	c.Forbid(s.HostIPC, s.at.Child("HostIPC"), why)
	EachContainer(&s.PodSpec, s.at, func(ctr *corev1.Container, at *field.Path) {
		c.Forbid(len(ctr.VolumeDevices) > 0, at.Child("volumeDevices"), why)
	})
}
