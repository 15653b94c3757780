package warnings

import "testing"

// podSpec is a pod with fields of its spec.
func podSpec(fields string) string { return `{"metadata":{"name":"web"},"spec":{` + fields + `}}` }

func container(fields string) string { return podSpec(`"containers":[{"name":"c",` + fields + `}]`) }

func annotated(annotation, spec string) string {
	return `{"metadata":{"name":"web","annotations":{"` + annotation + `":"localhost/p"}},"spec":{` + spec + `}}`
}

func TestWhatIsOddInANewPodIsTold(t *testing.T) {
	t.Parallel()
	const c, appArmor = `"containers":[{"name":"c"}]`, "container.apparmor.security.beta.kubernetes.io/c"
	says(t, Pod, map[string]said{
		"plain":      {container(`"image":"i"`), "", nil},
		"an update":  {podSpec(`"terminationGracePeriodSeconds":-1`), podSpec(""), nil},
		"grace":      {podSpec(`"terminationGracePeriodSeconds":-1`), "", []string{"spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"}},
		"node label": {podSpec(`"nodeSelector":{"beta.kubernetes.io/os":"x"}`), "", []string{`spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`}},
		"node affinity": {podSpec(`"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"beta.kubernetes.io/arch"}]}]},
			"preferredDuringSchedulingIgnoredDuringExecution":[{"preference":{"matchExpressions":[{"key":"node-role.kubernetes.io/master","values":["-"]}]}}]}}`), "", []string{
			`spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead`,
			`spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: node-role.kubernetes.io/master is use "node-role.kubernetes.io/control-plane" instead`,
			`spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values[0]: - is invalid, a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
		}},
		"affinity": {podSpec(`"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{},{"labelSelector":{}}]},
			"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{}}]}}`), "", []string{
			"spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod",
			"spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm.labelSelector: a null labelSelector results in matching no pod",
		}},
		"spread": {podSpec(`"topologySpreadConstraints":[{"topologyKey":"failure-domain.beta.kubernetes.io/zone"}]`), "", []string{
			`spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
			"spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
		}},
		"critical": {annotated("scheduler.alpha.kubernetes.io/critical-pod", ""), "",
			[]string{`metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead`}},
		"sysctls": {annotated("security.alpha.kubernetes.io/unsafe-sysctls", ""), "",
			[]string{`metadata.annotations[security.alpha.kubernetes.io/unsafe-sysctls]: non-functional in v1.11+; use the "sysctls" field instead`}},
		"seccomp": {annotated("seccomp.security.alpha.kubernetes.io/pod", ""), "",
			[]string{`metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use the "seccompProfile" field instead`}},
		"seccomp, set": {annotated("seccomp.security.alpha.kubernetes.io/pod", `"securityContext":{"seccompProfile":{"type":"Unconfined"}}`), "", nil},
		"seccomp of a container": {annotated("container.seccomp.security.alpha.kubernetes.io/c", c), "",
			[]string{`metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]: non-functional in v1.27+; use the "seccompProfile" field instead`}},
		"AppArmor":                      {annotated(appArmor, c), "", []string{`metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead`}},
		"AppArmor on Windows":           {annotated(appArmor, c+`,"os":{"name":"windows"}`), "", nil},
		"AppArmor, the same of the pod": {annotated(appArmor, c+`,"securityContext":{"appArmorProfile":{"type":"Localhost","localhostProfile":"p"}}`), "", nil},
		"AppArmor, another of the pod": {annotated(appArmor, c+`,"securityContext":{"appArmorProfile":{"type":"RuntimeDefault"}}`), "",
			[]string{`metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead`}},
		"hosts": {podSpec(`"hostAliases":[{"ip":"1.2.3.4"},{"ip":"1.2.3.04"},{"ip":"1.2.3.4"}]`), "", []string{
			`spec.hostAliases[2].ip: duplicate ip "1.2.3.4"`,
			`spec.hostAliases[1].ip: non-standard IP address "1.2.3.04" is invalid: use "1.2.3.4"`,
		}},
		"pull secrets": {podSpec(`"imagePullSecrets":[{"name":"a"},{"name":"a"},{}]`), "",
			[]string{`spec.imagePullSecrets[1].name: duplicate name "a"`, `spec.imagePullSecrets[2].name: invalid empty name ""`}},
		"nameservers": {podSpec(`"dnsConfig":{"nameservers":["::ffff:1.2.3.4"]}`), "",
			[]string{`spec.dnsConfig.nameservers[0]: non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"`}},
		"overhead": {podSpec(`"overhead":{"memory":"100m"}`), "", []string{`spec.overhead[memory]: fractional byte value "100m" is invalid, must be an integer`}},
		"memory": {container(`"resources":{"requests":{"memory":"1500m"},"limits":{"ephemeral-storage":"2500m"}}`), "", []string{
			`spec.containers[0].resources.requests[memory]: fractional byte value "1500m" is invalid, must be an integer`,
			`spec.containers[0].resources.limits[ephemeral-storage]: fractional byte value "2500m" is invalid, must be an integer`,
		}},
		"variables": {container(`"env":[{"name":"A"},{"name":"A","value":"$(A)b"},{"name":"A","value":"$(A)"},{"name":"A","value":"b"}]`), "", []string{
			`spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply`,
			`spec.containers[0].env[3]: hides previous definition of "A", which may be dropped when using apply`,
		}},
	})
}

func TestPortsThatMeetAreTold(t *testing.T) {
	t.Parallel()
	const first = "spec.containers[0].ports[0]"
	says(t, Pod, map[string]said{
		"different": {container(`"ports":[{"containerPort":80},{"containerPort":81},{"containerPort":80,"protocol":"UDP"}]`), "", nil},
		"twice":     {container(`"ports":[{"containerPort":80},{"containerPort":80}]`), "", []string{"spec.containers[0].ports[1]: duplicate port definition with " + first}},
		"in two containers": {podSpec(`"initContainers":[{"name":"a","ports":[{"containerPort":80}]}],"containers":[{"name":"b","ports":[{"containerPort":80}]}]`), "",
			[]string{"spec.containers[0].ports[0]: duplicate port definition with spec.initContainers[0].ports[0]"}},
		"overlap":   {container(`"ports":[{"containerPort":80},{"containerPort":80,"hostPort":1}]`), "", []string{"spec.containers[0].ports[1]: overlapping port definition with " + first}},
		"ambiguous": {container(`"ports":[{"containerPort":80,"hostPort":1},{"containerPort":80,"hostPort":1,"hostIP":"1.2.3.4"}]`), "", []string{"spec.containers[0].ports[1]: dangerously ambiguous port definition with " + first}},
		"host IP": {container(`"ports":[{"containerPort":80,"protocol":"TCP","hostIP":"1.2.3.4"}]`), "",
			[]string{first + ": hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}"}},
		"names": {container(`"ports":[{"name":"a","containerPort":80},{"name":"a","containerPort":81}]`), "",
			[]string{`spec.containers[0].ports[1]: duplicate port name "a" with ` + first + ", services and probes that select ports by name will use " + first}},
	})
}
