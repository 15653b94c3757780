package defaults

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// filled returns the object of a text after what it got by default.
func filled[T any](t *testing.T, text string, withDefaults func(*T)) string {
	object := new(T)
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), object))
	withDefaults(object)
	once, err := yaml.Marshal(object)
	require.NoError(t, err)
	withDefaults(object)
	twice, err := yaml.Marshal(object)
	require.NoError(t, err)
	assert.Equal(t, string(once), string(twice), "doing so twice is the same")
	return string(once)
}

func podFilled(t *testing.T, text string) string { return filled(t, text, Pod) }
func controllerFilled(t *testing.T, text string) string {
	return filled(t, text, ReplicationController)
}
func serviceFilled(t *testing.T, text string) string      { return filled(t, text, Service) }
func endpointsFilled(t *testing.T, text string) string    { return filled(t, text, Endpoints) }
func nodeFilled(t *testing.T, text string) string         { return filled(t, text, Node) }
func templateSpecFilled(t *testing.T, text string) string { return filled(t, text, PodSpec) }

const (
	oneContainer = `{name: c, image: "i:1", imagePullPolicy: IfNotPresent, resources: {}, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File`
	onePodSpec   = `restartPolicy: Always, terminationGracePeriodSeconds: 30, dnsPolicy: ClusterFirst, securityContext: {}, schedulerName: default-scheduler`
	pending      = `status: {phase: Pending}`
)

func TestWhatWasLeftOutIsFilledInAsARealServerDoes(t *testing.T) {
	t.Parallel()
	for what, row := range map[string]struct {
		fill       func(*testing.T, string) string
		text, want string
	}{
		"a pod": {podFilled, `{spec: {containers: [{name: c, image: "i:1"}]}}`,
			`{metadata: {}, spec: {containers: [` + oneContainer + `}], enableServiceLinks: true, ` + onePodSpec + `}, ` + pending + `}`},
		"a template has no service links": {templateSpecFilled, `{containers: [{name: c, image: "i:1"}]}`, `{containers: [` + oneContainer + `}], ` + onePodSpec + `}`},
		"ports, of the host's network too": {podFilled, `{spec: {hostNetwork: true, containers: [{name: c, image: "i:1", ports: [{containerPort: 80}]}]}}`,
			`{metadata: {}, spec: {hostNetwork: true, containers: [` + oneContainer + `, ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]}], enableServiceLinks: true, ` + onePodSpec + `}, ` + pending + `}`},
		"probes and hooks": {templateSpecFilled, `{containers: [{name: c, image: "i:1", livenessProbe: {httpGet: {port: 1}}, readinessProbe: {grpc: {port: 1}}, lifecycle: {preStop: {httpGet: {port: 1}}}}]}`,
			`{containers: [` + oneContainer + `, livenessProbe: {httpGet: {port: 1, path: /, scheme: HTTP}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3},
			readinessProbe: {grpc: {port: 1, service: ""}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}, lifecycle: {preStop: {httpGet: {port: 1, path: /, scheme: HTTP}}}}], ` + onePodSpec + `}`},
		"sources of variables": {templateSpecFilled, `{containers: [{name: c, image: "i:1", env: [{name: A, valueFrom: {fieldRef: {fieldPath: a}}}, {name: B, valueFrom: {fileKeyRef: {key: k, path: p, volumeName: v}}}]}]}`,
			`{containers: [` + oneContainer + `, env: [{name: A, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: a}}}, {name: B, valueFrom: {fileKeyRef: {key: k, path: p, volumeName: v, optional: false}}}]}], ` + onePodSpec + `}`},
		"volumes": {templateSpecFilled, `{containers: [], volumes: [{name: a}, {name: b, hostPath: {path: /}}, {name: c, secret: {}}, {name: d, configMap: {}}, {name: e, downwardAPI: {items: [{path: p, fieldRef: {fieldPath: a}}]}},
			{name: f, projected: {sources: [{serviceAccountToken: {path: t}}, {downwardAPI: {items: [{path: p, fieldRef: {fieldPath: a}}]}}]}}, {name: g, image: {reference: a}}, {name: h, ephemeral: {volumeClaimTemplate: {spec: {}}}}]}`,
			`{containers: [], volumes: [{name: a, emptyDir: {}}, {name: b, hostPath: {path: /, type: ""}}, {name: c, secret: {defaultMode: 420}}, {name: d, configMap: {defaultMode: 420}},
			{name: e, downwardAPI: {defaultMode: 420, items: [{path: p, fieldRef: {apiVersion: v1, fieldPath: a}}]}},
			{name: f, projected: {defaultMode: 420, sources: [{serviceAccountToken: {path: t, expirationSeconds: 3600}}, {downwardAPI: {items: [{path: p, fieldRef: {apiVersion: v1, fieldPath: a}}]}}]}},
			{name: g, image: {reference: a, pullPolicy: Always}}, {name: h, ephemeral: {volumeClaimTemplate: {metadata: {}, spec: {resources: {}, volumeMode: Filesystem}}}}], ` + onePodSpec + `}`},
		"volumes of products": {templateSpecFilled, `{containers: [], volumes: [{name: a, iscsi: {targetPortal: p, iqn: q, lun: 0}}, {name: b, rbd: {monitors: [m], image: i}}, {name: c, azureDisk: {diskName: d, diskURI: u}}, {name: d, scaleIO: {gateway: g, system: s, secretRef: {}}}]}`,
			`{containers: [], volumes: [{name: a, iscsi: {targetPortal: p, iqn: q, lun: 0, iscsiInterface: default}}, {name: b, rbd: {monitors: [m], image: i, pool: rbd, user: admin, keyring: /etc/ceph/keyring}},
			{name: c, azureDisk: {diskName: d, diskURI: u, cachingMode: ReadWrite, fsType: ext4, kind: Shared, readOnly: false}}, {name: d, scaleIO: {gateway: g, system: s, secretRef: {}, storageMode: ThinProvisioned, fsType: xfs}}], ` + onePodSpec + `}`},
		"requests, in thousandths": {podFilled, `{spec: {containers: [{name: c, image: "i:1", resources: {limits: {cpu: 1.0001, memory: 1Gi}, requests: {memory: 1Mi}}}]}}`,
			`{metadata: {}, spec: {containers: [{name: c, image: "i:1", imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File,
			resources: {limits: {cpu: 1001m, memory: 1Gi}, requests: {cpu: 1001m, memory: 1Mi}}}], enableServiceLinks: true, ` + onePodSpec + `}, ` + pending + `}`},
		"resources of the whole pod, from its containers and its limits": {podFilled, `{spec: {resources: {limits: {cpu: 4, memory: 1Gi}}, initContainers: [{name: s, image: "i:1", restartPolicy: Always, resources: {requests: {cpu: 1}}}, {name: init, image: "i:1", resources: {requests: {cpu: 3}}}], containers: [{name: c, image: "i:1", resources: {requests: {cpu: 1}, limits: {hugepages-2Mi: 2Mi}}}]}}`,
			`{metadata: {}, spec: {resources: {limits: {cpu: "4", memory: 1Gi, hugepages-2Mi: 2Mi}, requests: {cpu: "4", memory: 1Gi, hugepages-2Mi: 2Mi}},
			initContainers: [{name: s, image: "i:1", restartPolicy: Always, resources: {requests: {cpu: "1"}}, imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File},
			{name: init, image: "i:1", resources: {requests: {cpu: "3"}}, imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}],
			containers: [{name: c, image: "i:1", imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File, resources: {requests: {cpu: "1", hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 2Mi}}}], enableServiceLinks: true, ` + onePodSpec + `}, ` + pending + `}`},
		"other names of the account and the address, and a grace period": {podFilled, `{spec: {serviceAccount: a, terminationGracePeriodSeconds: -5, containers: []}, status: {phase: Running, podIP: 10.0.0.1}}`,
			`{metadata: {}, spec: {serviceAccount: a, serviceAccountName: a, terminationGracePeriodSeconds: 1, containers: [], enableServiceLinks: true, restartPolicy: Always, dnsPolicy: ClusterFirst, securityContext: {}, schedulerName: default-scheduler}, status: {phase: Running, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}]}}`},
		"a controller": {controllerFilled, `{spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: "i:1"}]}}}}`,
			`{metadata: {labels: {a: b}}, spec: {replicas: 1, selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [` + oneContainer + `}], ` + onePodSpec + `}}}, status: {replicas: 0}}`},
		"a controller that says all": {controllerFilled, `{metadata: {labels: {tier: web}}, spec: {replicas: 0, selector: {c: d}}}`,
			`{metadata: {labels: {tier: web}}, spec: {replicas: 0, selector: {c: d}}, status: {replicas: 0}}`},
		"a service": {serviceFilled, `{spec: {ports: [{port: 80}]}}`,
			`{metadata: {}, spec: {ports: [{port: 80, protocol: TCP, targetPort: 80}], sessionAffinity: None, type: ClusterIP, internalTrafficPolicy: Cluster}, status: {loadBalancer: {}}}`},
		"a service that is reached from outside": {serviceFilled, `{spec: {type: LoadBalancer, sessionAffinity: ClientIP, ports: []}, status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}}`,
			`{metadata: {}, spec: {type: LoadBalancer, sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}, internalTrafficPolicy: Cluster, externalTrafficPolicy: Cluster, allocateLoadBalancerNodePorts: true}, status: {loadBalancer: {ingress: [{ip: 10.0.0.1, ipMode: VIP}]}}}`},
		"a service without an address of its own": {serviceFilled, `{spec: {clusterIP: None}}`,
			`{metadata: {}, spec: {clusterIP: None, clusterIPs: [None], sessionAffinity: None, type: ClusterIP, internalTrafficPolicy: Cluster}, status: {loadBalancer: {}}}`},
		"a service that is a name": {serviceFilled, `{spec: {type: ExternalName, externalName: a}}`,
			`{metadata: {}, spec: {type: ExternalName, externalName: a, sessionAffinity: None}, status: {loadBalancer: {}}}`},
		"endpoints": {endpointsFilled, `{subsets: [{ports: [{port: 80}]}]}`, `{metadata: {}, subsets: [{ports: [{port: 80, protocol: TCP}]}]}`},
		"a node": {nodeFilled, `{spec: {podCIDR: 10.0.0.0/24}, status: {capacity: {cpu: 0.0001}}}`,
			`{metadata: {}, spec: {podCIDR: 10.0.0.0/24, podCIDRs: [10.0.0.0/24]}, status: {capacity: {cpu: 1m}, allocatable: {cpu: 1m}, daemonEndpoints: {kubeletEndpoint: {Port: 0}},
			nodeInfo: {architecture: "", bootID: "", containerRuntimeVersion: "", kernelVersion: "", kubeProxyVersion: "", kubeletVersion: "", machineID: "", operatingSystem: "", osImage: "", systemUUID: ""}}}`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			assert.YAMLEq(t, row.want, row.fill(t, row.text))
		})
	}
}

func TestDefaultsOfRealPodsAreStable(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../validation/testdata/pods/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, podFilled(t, string(text)), "phase: Pending", file)
	}
}

func TestAnImageIsPulledAlwaysIfItIsTheLatest(t *testing.T) {
	t.Parallel()
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for image, want := range map[string]corev1.PullPolicy{
		"nginx":                          corev1.PullAlways,
		"nginx:latest":                   corev1.PullAlways,
		"localhost:5000/a/b":             corev1.PullAlways,
		"Registry.example.com/a":         corev1.PullAlways,
		"nginx:latest@" + digest:         corev1.PullAlways,
		"nginx:1.27":                     corev1.PullIfNotPresent,
		"registry.example.com:5000/a:v1": corev1.PullIfNotPresent,
		"nginx@" + digest:                corev1.PullIfNotPresent,
		"../nginx":                       corev1.PullIfNotPresent,
		"Nginx":                          corev1.PullIfNotPresent,
		"":                               corev1.PullIfNotPresent,
	} {
		assert.Equal(t, want, pullPolicy(image), image)
	}
}

func TestTheClassOfAPodFollowsFromItsResources(t *testing.T) {
	t.Parallel()
	for what, row := range map[string]struct {
		spec string
		want corev1.PodQOSClass
	}{
		"nothing is asked for":                   {`{containers: [{}]}`, corev1.PodQOSBestEffort},
		"zero is nothing":                        {`{containers: [{resources: {requests: {cpu: 0}}}]}`, corev1.PodQOSBestEffort},
		"other resources do not count":           {`{containers: [{resources: {limits: {example.com/gpu: 1}}}]}`, corev1.PodQOSBestEffort},
		"all is limited":                         {`{containers: [{resources: {limits: {cpu: 1, memory: 1}}}]}`, corev1.PodQOSGuaranteed},
		"less is requested":                      {`{containers: [{resources: {limits: {cpu: 2, memory: 1}, requests: {cpu: 1}}}]}`, corev1.PodQOSBurstable},
		"one container is not limited":           {`{containers: [{resources: {limits: {cpu: 1, memory: 1}}}, {}]}`, corev1.PodQOSBurstable},
		"an init container is not limited":       {`{containers: [{resources: {limits: {cpu: 1, memory: 1}}}], initContainers: [{}]}`, corev1.PodQOSBurstable},
		"memory is not limited":                  {`{containers: [{resources: {limits: {cpu: 1}}}]}`, corev1.PodQOSBurstable},
		"the whole pod is limited":               {`{resources: {limits: {cpu: 1, memory: 1}}, containers: [{}]}`, corev1.PodQOSGuaranteed},
		"the whole pod requests, and has no end": {`{resources: {requests: {cpu: 1}}, containers: [{}]}`, corev1.PodQOSBurstable},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			pod := &corev1.Pod{}
			require.NoError(t, yaml.Unmarshal([]byte("spec: "+row.spec), pod))
			Pod(pod)
			assert.Equal(t, row.want, QOSClass(pod))
		})
	}
}
