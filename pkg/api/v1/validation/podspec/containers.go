package podspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// containers checks the containers, then the init containers, then the ephemeral ones. Names are
// unique among all of them.
func (c checks) containers(s *podSpec) {
	at := s.at.Child("containers")
	c.Some(at, len(s.Containers), "")
	names, ports := check.Unique{}, check.Unique{}
	for i := range s.Containers {
		ctr, at := &s.Containers[i], at.Index(i)
		c.container(s, ctr, at)
		names.Check(c.Errors, at.Child("name"), ctr.Name)
		c.hooksAndProbes(s, ctr, at)
		c.restartPolicy(ctr, at)
	}
	for i := range s.Containers {
		c.hostPorts(&s.Containers[i], ports, at.Index(i))
	}
	at = s.at.Child("initContainers")
	for i := range s.InitContainers {
		c.initContainer(s, &s.InitContainers[i], names, at, i)
	}
	c.ephemeralContainers(s, names)
}

func (c checks) initContainer(s *podSpec, ctr *corev1.Container, names check.Unique, list *field.Path, i int) {
	at := list.Index(i)
	c.container(s, ctr, at)
	if ctr.RestartPolicy == nil && len(ctr.RestartPolicyRules) > 0 {
		c.Add(field.Required(at.Child("restartPolicy"), rulesNeedPolicy))
	} else {
		c.restartPolicy(ctr, at)
	}
	if names[ctr.Name] {
		c.Add(field.Duplicate(at.Child("name"), ctr.Name))
	} else if ctr.Name != "" {
		names[ctr.Name] = true
	}
	// Init containers run one after the other, so their ports do not conflict. The real server
	// always reports the conflict of a container at the first one.
	c.hostPorts(ctr, check.Unique{}, list.Index(0))
	if ctr.RestartPolicy != nil && *ctr.RestartPolicy == corev1.ContainerRestartPolicyAlways {
		c.hooksAndProbes(s, ctr, at)
		return
	}
	const onlySidecars = "may not be set for init containers without restartPolicy=Always"
	c.Forbid(ctr.Lifecycle != nil, at.Child("lifecycle"), onlySidecars)
	c.Forbid(ctr.LivenessProbe != nil, at.Child("livenessProbe"), onlySidecars)
	c.Forbid(ctr.ReadinessProbe != nil, at.Child("readinessProbe"), onlySidecars)
	c.Forbid(ctr.StartupProbe != nil, at.Child("startupProbe"), onlySidecars)
	for j, policy := range ctr.ResizePolicy {
		c.InvalidIf(policy.RestartPolicy == corev1.RestartContainer, at.Child("resizePolicy").Index(j).Child("restartPolicy"), policy.RestartPolicy,
			"must not be set to 'RestartContainer' for non-sidecar initContainers")
	}
}

// container checks the fields of all kinds of containers.
func (c checks) container(s *podSpec, ctr *corev1.Container, at *field.Path) {
	c.RequireLabel(at.Child("name"), ctr.Name)
	c.Require(at.Child("image"), ctr.Image)
	check.RequireSupported(c.Errors, at.Child("terminationMessagePolicy"), ctr.TerminationMessagePolicy, corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	c.ports(ctr.Ports, at.Child("ports"))
	c.env(ctr.Env, at.Child("env"))
	c.envFrom(ctr.EnvFrom, at.Child("envFrom"))
	c.mounts(s, ctr, at.Child("volumeMounts"))
	c.devices(s, ctr, at.Child("volumeDevices"))
	c.pullPolicy(at.Child("imagePullPolicy"), ctr.ImagePullPolicy)
	c.resources(&ctr.Resources, c.ContainerResource, s.claims, at.Child("resources"))
	c.resizePolicy(ctr.ResizePolicy, s.RestartPolicy, at.Child("resizePolicy"))
	c.securityContext(ctr.SecurityContext, s.hostUsers(), at.Child("securityContext"))
}

func (c checks) pullPolicy(at *field.Path, policy corev1.PullPolicy) {
	check.RequireSupported(c.Errors, at, policy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
}

func (c checks) ports(ports []corev1.ContainerPort, at *field.Path) {
	names := check.Unique{}
	for i, port := range ports {
		at := at.Index(i)
		if port.Name != "" {
			if messages := utilvalidation.IsValidPortName(port.Name); len(messages) > 0 {
				c.Each(at.Child("name"), port.Name, messages)
			} else {
				names.Check(c.Errors, at.Child("name"), port.Name)
			}
		}
		if port.ContainerPort == 0 {
			c.Add(field.Required(at.Child("containerPort"), ""))
		} else {
			c.PortNumber(at.Child("containerPort"), port.ContainerPort)
		}
		if port.HostPort != 0 {
			c.PortNumber(at.Child("hostPort"), port.HostPort)
		}
		check.RequireSupported(c.Errors, at.Child("protocol"), port.Protocol, check.Protocols...)
	}
}

func (c checks) hostPorts(ctr *corev1.Container, taken check.Unique, at *field.Path) {
	for i, port := range ctr.Ports {
		if port.HostPort != 0 {
			taken.Check(c.Errors, at.Child("ports").Index(i).Child("hostPort"), fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort))
		}
	}
}

const rulesNeedPolicy = "must specify restartPolicy when restart rules are used"

func (c checks) restartPolicy(ctr *corev1.Container, at *field.Path) {
	rules := at.Child("restartPolicyRules")
	c.RequiredIf(ctr.RestartPolicy == nil && len(ctr.RestartPolicyRules) > 0, at.Child("restartPolicy"), rulesNeedPolicy)
	check.IfSupported(c.Errors, at.Child("restartPolicy"), ctr.RestartPolicy, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)
	c.AtMost(rules, len(ctr.RestartPolicyRules), 20)
	for i, rule := range ctr.RestartPolicyRules {
		at := rules.Index(i)
		check.Supported(c.Errors, at.Child("action"), rule.Action, corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
		if rule.ExitCodes == nil {
			c.Add(field.Required(at.Child("exitCodes"), "must be specified"))
			continue
		}
		check.Supported(c.Errors, at.Child("exitCodes", "operator"), rule.ExitCodes.Operator, corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)
		c.AtMost(at.Child("exitCodes", "values"), len(rule.ExitCodes.Values), 255)
	}
}

func (c checks) resizePolicy(policies []corev1.ContainerResizePolicy, restart corev1.RestartPolicy, at *field.Path) {
	names := check.Unique{}
	for i, policy := range policies {
		names.Check(c.Errors, at.Index(i), string(policy.ResourceName))
		check.RequireSupported(c.Errors, at, policy.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)
		check.RequireSupported(c.Errors, at, policy.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)
		c.InvalidIf(restart == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired, at, policy.RestartPolicy,
			"must be 'NotRequired' when pod `restartPolicy` is 'Never'")
	}
}

func (c checks) mounts(s *podSpec, ctr *corev1.Container, at *field.Path) {
	devices := map[string]string{} // paths by name; the last one of a name wins
	for _, device := range ctr.VolumeDevices {
		devices[device.Name] = device.DevicePath
	}
	names, paths, seen := sets.KeySet(devices), sets.New(slices.Collect(maps.Values(devices))...), sets.New[string]()
	for i, mount := range ctr.VolumeMounts {
		list, at := at, at.Index(i)
		c.Require(at.Child("name"), mount.Name)
		if _, there := s.volumes[mount.Name]; !there {
			c.Add(field.NotFound(at.Child("name"), mount.Name))
		}
		c.Require(at.Child("mountPath"), mount.MountPath)
		c.InvalidIf(seen.Has(mount.MountPath), at.Child("mountPath"), mount.MountPath, "must be unique")
		seen.Insert(mount.MountPath)
		c.InvalidIf(names.Has(mount.Name), at.Child("name"), mount.Name, "must not already exist in volumeDevices")
		c.InvalidIf(paths.Has(mount.MountPath), at.Child("mountPath"), mount.MountPath, "must not already exist as a path in volumeDevices")
		// The real server reports the following errors at the list, not at the mount.
		c.Relative(list.Child("subPath"), mount.SubPath)
		c.InvalidIf(mount.SubPathExpr != "" && mount.SubPath != "", at.Child("subPathExpr"), mount.SubPathExpr, "subPathExpr and subPath are mutually exclusive")
		c.Relative(list.Child("subPathExpr"), mount.SubPathExpr)
		check.IfSupported(c.Errors, list.Child("mountPropagation"), mount.MountPropagation, corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)
		privileged := ctr.SecurityContext != nil && check.Is(ctr.SecurityContext.Privileged)
		propagation := corev1.MountPropagationNone
		if mount.MountPropagation != nil {
			propagation = *mount.MountPropagation
		}
		c.Forbid(propagation == corev1.MountPropagationBidirectional && !privileged, list.Child("mountPropagation"),
			"Bidirectional mount propagation is available only to privileged containers")
		if recursive := mount.RecursiveReadOnly; recursive != nil && *recursive != corev1.RecursiveReadOnlyDisabled {
			at := list.Child("recursiveReadOnly")
			if check.Supported(c.Errors, at, *recursive, corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible) {
				c.Forbid(!mount.ReadOnly, at, "may only be specified when readOnly is true")
				c.Forbid(propagation != corev1.MountPropagationNone, at, "may only be specified when mountPropagation is None or not specified")
			}
		}
	}
}

func (c checks) devices(s *podSpec, ctr *corev1.Container, at *field.Path) {
	mounts := map[string]string{}
	for _, mount := range ctr.VolumeMounts {
		mounts[mount.Name] = mount.MountPath
	}
	mounted := sets.New(slices.Collect(maps.Values(mounts))...)
	names, paths := sets.New[string](), sets.New[string]()
	for i, device := range ctr.VolumeDevices {
		at, name, path := at.Index(i), device.Name, device.DevicePath
		source, there := s.volumes[name]
		c.Require(at.Child("name"), name)
		c.InvalidIf(names.Has(name), at.Child("name"), name, "must be unique")
		c.InvalidIf(there && source.PersistentVolumeClaim == nil && source.Ephemeral == nil, at.Child("name"), name,
			"can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
		if !there {
			c.Add(field.NotFound(at.Child("name"), name))
		}
		c.Require(at.Child("devicePath"), path)
		c.InvalidIf(paths.Has(path), at.Child("devicePath"), path, "must be unique")
		if slices.Contains(strings.Split(path, "/"), "..") {
			c.Add(field.Invalid(at.Child("devicePath"), path, "can not contain backsteps ('..')"))
		} else {
			paths.Insert(path)
		}
		_, isMounted := mounts[name]
		c.InvalidIf(isMounted, at.Child("name"), name, "must not already exist in volumeMounts")
		c.InvalidIf(mounted.Has(path), at.Child("devicePath"), path, "must not already exist as a path in volumeMounts")
		if name != "" {
			names.Insert(name)
		}
	}
}
