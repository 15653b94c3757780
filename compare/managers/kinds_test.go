package managers

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

type object = map[string]any

// kind is one whose objects have several managers.
type kind struct {
	name         string
	versions     []string // apiVersion
	path         string   // of the collection, below the version
	base         string   // what each object needs
	fields       []string // what objects may have besides
	status       []string // what their status may have
	strategic    []string // strategic merge patches with directives
	scale        bool     // has the subresource scale
	noStatus     bool     // has no subresource status
	typed        bool     // takes strategic merge patches
	slow         bool     // has controllers in the server
	nameAsPlural bool     // is a definition: its name is that of a resource; in the fields it is PLURAL, SINGULAR and KIND
}

// meta has metadata, one object a line.
const meta = `
{metadata: {labels: {a: "1"}}}
{metadata: {labels: {a: "2", b: "1"}}}
{metadata: {labels: {c: "1"}, annotations: {x: "1"}}}
{metadata: {annotations: {x: "2", y/z: "1"}}}
{metadata: {finalizers: [example.com/one]}}
{metadata: {finalizers: [example.com/two, example.com/one]}}
{metadata: {labels: {}}}
{metadata: {labels: {a: "!"}}}
`

// containers has specs of pods.
const containers = `
{spec: {containers: [{name: c, image: j}]}}
{spec: {containers: [{name: c, image: i, env: [{name: A, value: "1"}]}]}}
{spec: {containers: [{name: c, image: i, env: [{name: B, value: "1"}, {name: A, value: "2"}]}]}}
{spec: {containers: [{name: c, image: i, ports: [{containerPort: 80}]}]}}
{spec: {containers: [{name: c, image: i, ports: [{containerPort: 80, protocol: UDP, name: u}, {containerPort: 80, protocol: TCP}]}]}}
{spec: {containers: [{name: c, image: i, args: [a, b], command: [c]}]}}
{spec: {containers: [{name: d, image: i}]}}
{spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 64Mi}, requests: {cpu: 100m}}}]}}
{spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1000m}}}]}}
{spec: {containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]}], volumes: [{name: v, emptyDir: {}}]}}
{spec: {volumes: [{name: v, configMap: {name: x, items: [{key: a, path: b}]}}, {name: w, emptyDir: {medium: Memory}}]}}
{spec: {containers: [{name: c, image: i, readinessProbe: {httpGet: {port: 80}}}]}}
{spec: {containers: [{name: c, image: i, securityContext: {capabilities: {add: [A]}}}], securityContext: {sysctls: [{name: a, value: b}], supplementalGroups: [1, 2]}}}
{spec: {nodeSelector: {a: b}}}
{spec: {tolerations: [{key: a, operator: Exists}]}}
{spec: {imagePullSecrets: [{name: p}, {name: q}]}}
{spec: {hostAliases: [{ip: 1.2.3.4, hostnames: [a]}, {ip: 1.2.3.5, hostnames: [a]}]}}
{spec: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}}}
{spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}}
{spec: {terminationGracePeriodSeconds: 5, restartPolicy: Always}}
{spec: {priorityClassName: "", schedulerName: s}}
{spec: {overhead: {}, dnsConfig: {options: [{name: a}], searches: [b]}}}
{spec: {initContainers: [{name: "n", image: i}]}}
{spec: {ephemeralContainers: [{name: e, image: i}]}}
`

// template returns lines about pods as lines about a template.
func template(text string) string {
	return strings.ReplaceAll(text, "{spec: ", "{spec: {template: {spec: ") + "\n"
}

var kinds = []kind{
	{name: "ConfigMap", versions: []string{"v1"}, path: "namespaces/default/configmaps", noStatus: true, typed: true, base: `{}`,
		fields: lines(meta, `
{data: {a: "1"}}
{data: {a: "2"}}
{data: {a: "1", b: "1"}}
{data: {c: "3", b: "2"}}
{data: {}}
{binaryData: {d: AAAA}}
{binaryData: {d: "!"}}
{immutable: false}
`)},
	{name: "Deployment", versions: []string{"apps/v1"}, path: "namespaces/default/deployments", scale: true, typed: true,
		base: `{spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: i}]}}}}`,
		fields: lines(meta, strings.ReplaceAll(template(containers), "}}\n", "}}}}\n"), `
{spec: {replicas: 1}}
{spec: {replicas: 2}}
{spec: {replicas: 3}}
{spec: {paused: true, minReadySeconds: 3}}
{spec: {strategy: {type: Recreate}}}
{spec: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 10%}}}}
{spec: {template: {metadata: {labels: {"y": z}, annotations: {k: v}}}}}
{spec: {revisionHistoryLimit: 3, progressDeadlineSeconds: 100}}
`),
		status: lines(`
{status: {replicas: 1, readyReplicas: 1, observedGeneration: 1}}
{status: {replicas: 2, conditions: [{type: A, status: "True"}]}}
{status: {conditions: [{type: B, status: "False", reason: R, lastUpdateTime: "2020-01-01T00:00:00Z"}, {type: A, status: "False"}]}}
{status: {collisionCount: 1}}
`),
		strategic: []string{`{spec: {template: {spec: {containers: [{name: d, $patch: delete}]}}}}`, `{spec: {strategy: {$retainKeys: [type], type: Recreate}}}`},
	},
	{name: "Pod", versions: []string{"v1"}, path: "namespaces/default/pods", typed: true, base: `{spec: {containers: [{name: c, image: i}]}}`,
		fields: lines(meta, containers, `
{spec: {activeDeadlineSeconds: 10}}
{spec: {schedulingGates: [{name: a/b}]}}
{spec: {containers: [{name: c, image: k}]}}
`),
		status: lines(`
{status: {phase: Running}}
{status: {conditions: [{type: Ready, status: "True"}]}}
{status: {conditions: [{type: Ready, status: "False"}, {type: A, status: "True", lastProbeTime: null}]}}
{status: {podIPs: [{ip: 10.0.0.1}], podIP: 10.0.0.1}}
{status: {containerStatuses: [{name: c, ready: true, restartCount: 0, image: i, imageID: "", state: {running: {startedAt: "2020-01-01T00:00:00Z"}}}]}}
{status: {hostIP: 10.0.0.2, hostIPs: [{ip: 10.0.0.2}]}}
`)},
	// What services alone do with addresses and types is not about managers.
	{name: "Service", versions: []string{"v1"}, path: "namespaces/default/services", typed: true, base: `{spec: {ports: [{port: 80}]}}`,
		fields: lines(meta, `
{spec: {ports: [{port: 80, name: a}]}}
{spec: {ports: [{port: 80, name: a, protocol: TCP}, {port: 81, name: b, targetPort: x}]}}
{spec: {ports: [{port: 80, name: u, protocol: UDP}, {port: 80, name: t, protocol: TCP, targetPort: 8080}]}}
{spec: {selector: {a: b}}}
{spec: {selector: {a: c, d: e}}}
{spec: {sessionAffinity: ClientIP}}
{spec: {sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 100}}}}
{spec: {externalIPs: [1.2.3.4]}}
{spec: {externalIPs: [1.2.3.5, 1.2.3.4]}}
{spec: {publishNotReadyAddresses: true, internalTrafficPolicy: Local}}
{spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, loadBalancerSourceRanges: [10.0.0.0/8]}}
`),
		status: lines(`
{status: {conditions: [{type: A, status: "True", reason: R, message: m, lastTransitionTime: "2020-01-01T00:00:00Z"}]}}
{status: {conditions: [{type: B, status: "True", reason: R, message: m, lastTransitionTime: "2020-01-01T00:00:00Z"}, {type: A, status: "False", reason: R, message: m, lastTransitionTime: "2020-01-01T00:00:00Z"}]}}
`)},
	{name: "ServiceAccount", versions: []string{"v1"}, path: "namespaces/default/serviceaccounts", noStatus: true, typed: true, base: `{}`,
		fields: lines(meta, `
{secrets: [{name: a}]}
{secrets: [{name: b}, {name: a, namespace: x}]}
{imagePullSecrets: [{name: a}]}
{imagePullSecrets: [{name: b}, {name: a}]}
{automountServiceAccountToken: true}
{automountServiceAccountToken: false}
`)},
	{name: "HorizontalPodAutoscaler", versions: []string{"autoscaling/v2", "autoscaling/v1"}, path: "namespaces/default/horizontalpodautoscalers", typed: true,
		base: `{spec: {maxReplicas: 5, scaleTargetRef: {kind: Deployment, name: x, apiVersion: apps/v1}}}`,
		fields: lines(meta, `
{spec: {minReplicas: 2}}
{spec: {minReplicas: 3}}
{spec: {maxReplicas: 6}}
{spec: {maxReplicas: 7}}
{spec: {scaleTargetRef: {kind: Deployment, name: z}}}
`),
		status: lines(`
{status: {currentReplicas: 1, desiredReplicas: 2}}
{status: {currentReplicas: 2, desiredReplicas: 2, observedGeneration: 1}}
{status: {desiredReplicas: 3}}
`)},
	{name: "Thing", versions: []string{"managers.example.com/v1", "managers.example.com/v2"}, path: "namespaces/default/things", scale: true, base: `{}`,
		fields: lines(meta, `
{spec: {replicas: 1}}
{spec: {replicas: 2}}
{spec: {byName: [{name: a, value: "1"}]}}
{spec: {byName: [{name: a, value: "2"}, {name: b}]}}
{spec: {byName: [{name: c, inner: [{k: 1, v: x}]}]}}
{spec: {byName: [{name: c, inner: [{k: 1, v: "y"}, {k: 2}]}]}}
{spec: {byTwo: [{port: 80}]}}
{spec: {byTwo: [{port: 80, protocol: UDP, x: 1}, {port: 80, protocol: TCP}]}}
{spec: {set: [a]}}
{spec: {set: [b, a]}}
{spec: {set: [c]}}
{spec: {numbers: [1, 2]}}
{spec: {numbers: [2, 3]}}
{spec: {atomic: [a, b]}}
{spec: {atomic: [b]}}
{spec: {plain: [{a: 1}, {a: 2}]}}
{spec: {plain: [{a: 3}]}}
{spec: {wholeMap: {a: "1"}}}
{spec: {wholeMap: {b: "2"}}}
{spec: {map: {a: "1"}}}
{spec: {map: {b: "2", a: "3"}}}
{spec: {map: {}}}
{spec: {any: {x: {"y": [1, {z: null}], w: 1.5}}}}
{spec: {any: {x: {"y": [2]}, v: true}}}
{spec: {any: [1]}}
{spec: {any: null}}
{spec: {port: 80}}
{spec: {port: http}}
{spec: {nullable: null}}
{spec: {nullable: x}}
{spec: {withDefault: other}}
{spec: {withDefault: null}}
{spec: {embedded: {apiVersion: v1, kind: Pod, metadata: {name: x, labels: {a: b}}, spec: {"y": 1}}}}
{spec: {embedded: {apiVersion: v1, kind: Pod, metadata: {name: "y"}}}}
{spec: {ratio: 1}}
{spec: {ratio: 1.5}}
{spec: {big: 9223372036854775807}}
`),
		status: lines(`
{status: {replicas: 1}}
{status: {replicas: 2, conditions: [{type: A, status: "True"}]}}
{status: {conditions: [{type: A, status: "False"}, {type: B, status: "True"}]}}
`)},
	{name: "CustomResourceDefinition", versions: []string{"apiextensions.k8s.io/v1"}, path: "customresourcedefinitions", typed: true, slow: true, nameAsPlural: true,
		base: `{spec: {group: managers.example.com, scope: Namespaced, names: {plural: PLURAL, singular: SINGULAR, kind: KIND, listKind: KINDList},
			versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}]}}`,
		fields: lines(meta, `
{spec: {names: {shortNames: [SINGULARx]}}}
{spec: {names: {shortNames: [SINGULARy, SINGULARx]}}}
{spec: {names: {categories: [all]}}}
{spec: {preserveUnknownFields: false}}
{spec: {conversion: {strategy: None}}}
`),
		status: lines(`
{status: {storedVersions: [v1]}}
{status: {conditions: [{type: Other, status: "True", reason: R, message: m, lastTransitionTime: "2020-01-01T00:00:00Z"}]}}
`)},
}

// things is the definition of a kind whose schema has all ways to merge.
const things = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.managers.example.com}
spec:
  group: managers.example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions:
` + version + `
`

// version is one of its versions.
const version = `
  - name: VERSION
    served: true
    storage: STORAGE
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer}
              byName:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string}
                    value: {type: string}
                    inner:
                      type: array
                      x-kubernetes-list-type: map
                      x-kubernetes-list-map-keys: [k]
                      items: {type: object, required: [k], properties: {k: {type: integer}, v: {type: string}}}
              byTwo:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port, protocol]
                items: {type: object, required: [port], properties: {port: {type: integer}, protocol: {type: string, default: TCP}, x: {type: integer}}}
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              numbers: {type: array, x-kubernetes-list-type: set, items: {type: integer}}
              atomic: {type: array, x-kubernetes-list-type: atomic, items: {type: string}}
              plain: {type: array, items: {type: object, properties: {a: {type: integer}}}}
              wholeMap: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
              map: {type: object, additionalProperties: {type: string}}
              any: {x-kubernetes-preserve-unknown-fields: true}
              port: {x-kubernetes-int-or-string: true}
              nullable: {type: string, nullable: true}
              withDefault: {type: string, default: it}
              embedded: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              ratio: {type: number}
              big: {type: integer, format: int64}
          status:
            type: object
            properties:
              replicas: {type: integer}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items: {type: object, required: [type], properties: {type: {type: string}, status: {type: string}}}
`

// definition returns the definition, with two versions.
func definition() []byte {
	text := strings.TrimSuffix(things, version+"\n")
	for _, v := range []string{"v1", "v2"} {
		text += strings.NewReplacer("VERSION", v, "STORAGE", fmt.Sprint(v == "v1")).Replace(version)
	}
	return []byte(text)
}

// lines returns the lines of texts.
func lines(texts ...string) (found []string) {
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				found = append(found, line)
			}
		}
	}
	return found
}

// parsed returns the object in a text.
func parsed(text string) object {
	var o object
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		panic(fmt.Sprintf("%s: %v", text, err))
	}
	return o
}

// keys has the members that tell the elements of a list apart, by the name of the list. Other lists are replaced.
var keys = map[string][]string{
	"containers": {"name"}, "initContainers": {"name"}, "env": {"name"}, "volumes": {"name"}, "volumeMounts": {"mountPath"}, "conditions": {"type"},
	"ports": {"containerPort", "port", "protocol"}, "secrets": {"name"}, "hostAliases": {"ip"}, "byName": {"name"}, "inner": {"k"}, "byTwo": {"port", "protocol"},
	"imagePullSecrets": {"name"}, "schedulingGates": {"name"}, "containerStatuses": {"name"},
}

// merge adds the members of an object to another one.
func merge(to, from object) {
	for name, value := range from {
		switch value := value.(type) {
		case object:
			if inner, ok := to[name].(object); ok {
				merge(inner, value)
				continue
			}
		case []any:
			if before, ok := to[name].([]any); ok && keys[name] != nil {
				to[name] = mergeLists(before, value, keys[name])
				continue
			}
		}
		to[name] = value
	}
}

func mergeLists(to, from []any, keys []string) []any {
next:
	for _, element := range from {
		for _, before := range to {
			if same(before.(object), element.(object), keys) {
				merge(before.(object), element.(object))
				continue next
			}
		}
		to = append(to, element)
	}
	return to
}

func same(a, b object, keys []string) bool {
	for _, key := range keys {
		if fmt.Sprint(a[key]) != fmt.Sprint(b[key]) {
			return false
		}
	}
	return true
}
