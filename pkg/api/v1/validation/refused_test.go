package validation

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"kube2014/pkg/api/v1/defaults"
)

// refusal is an object that a real server refuses, with all that it says.
type refusal struct {
	What   string
	Old    any
	Object any
	Errors []string
}

// decode returns an object of the test's data as one of Go, in the namespace default, with the defaults.
func decode[T any](t *testing.T, data any, withDefaults func(*T)) *T {
	text, err := yaml.Marshal(data)
	require.NoError(t, err)
	object := new(T)
	require.NoError(t, yaml.UnmarshalStrict(text, object))
	meta := any(object).(metav1.ObjectMetaAccessor).GetObjectMeta()
	if meta.GetName() == "" {
		meta.SetName("p")
	}
	if _, isNode := any(object).(*corev1.Node); meta.GetNamespace() == "" && !isNode {
		meta.SetNamespace("default")
	}
	meta.SetResourceVersion("1")
	withDefaults(object)
	return object
}

func nothing[T any](*T) {}

func TestWhatARealServerRefusesIsRefusedInItsWords(t *testing.T) {
	t.Parallel()
	for kind, validate := range map[string]func(*testing.T, refusal) field.ErrorList{
		"pod": func(t *testing.T, r refusal) field.ErrorList {
			return ValidatePodCreate(decode(t, r.Object, defaults.Pod))
		},
		"podupdate": func(t *testing.T, r refusal) field.ErrorList {
			return ValidatePodUpdate(decode(t, r.Object, defaults.Pod), decode(t, r.Old, defaults.Pod))
		},
		"service": func(t *testing.T, r refusal) field.ErrorList {
			return ValidateService(decode(t, r.Object, defaults.Service))
		},
		"replicationcontroller": func(t *testing.T, r refusal) field.ErrorList {
			return ValidateReplicationController(decode(t, r.Object, defaults.ReplicationController))
		},
		"endpoints": func(t *testing.T, r refusal) field.ErrorList {
			return ValidateEndpoints(decode(t, r.Object, defaults.Endpoints))
		},
		"node": func(t *testing.T, r refusal) field.ErrorList { return ValidateNode(decode(t, r.Object, defaults.Node)) },
		"event": func(t *testing.T, r refusal) field.ErrorList {
			return ValidateEventCreate(decode(t, r.Object, nothing[corev1.Event]))
		},
		"binding": func(t *testing.T, r refusal) field.ErrorList {
			return ValidateBinding(decode(t, r.Object, nothing[corev1.Binding]))
		},
	} {
		text, err := os.ReadFile("testdata/refused/" + kind + ".yaml")
		require.NoError(t, err)
		var rows []refusal
		require.NoError(t, yaml.UnmarshalStrict(text, &rows))
		for _, row := range rows {
			t.Run(kind+": "+row.What, func(t *testing.T) {
				t.Parallel()
				require.NotEmpty(t, row.Errors)
				errs := validate(t, row)
				require.Len(t, errs, len(row.Errors), texts(errs))
				for i, text := range texts(errs) {
					text, _, shown := strings.Cut(text, changed)
					want, _, recorded := strings.Cut(row.Errors[i], changed)
					assert.Equal(t, withoutEmptyFields(t, want, errs[i].BadValue), text)
					assert.Equal(t, recorded, shown)
				}
			})
		}
	}
}

// withoutEmptyFields returns an error of a real server with its value as this server shows it: a
// real one shows all fields of its internal type, under their names in Go. K86.
func withoutEmptyFields(t *testing.T, text string, value any) string {
	before, encoded, ok := strings.Cut(text, " value: ")
	if !ok || !strings.ContainsAny(encoded[:1], "[{") {
		return text
	}
	decoder := json.NewDecoder(strings.NewReader(encoded))
	decoder.DisallowUnknownFields()
	recorded := reflect.New(reflect.TypeOf(value))
	require.NoError(t, decoder.Decode(recorded.Interface()))
	shown, err := json.Marshal(recorded.Interface())
	require.NoError(t, err)
	return before + " value: " + string(shown) + encoded[decoder.InputOffset():]
}

// changed begins what is shown of a pod before and after a change.
const changed = "\n@@ "

// K86.
func TestWhatAPodMayNotChangeIsShownAsTheAPIHasIt(t *testing.T) {
	t.Parallel()
	for what, row := range map[string]struct {
		change func(*corev1.PodSpec)
		want   []string
	}{
		"a name": {func(s *corev1.PodSpec) { s.Containers[0].Name = "d" }, []string{
			`-1,7 +1,7 @@`, ` {`, `  "containers": [`, `   {`, `-   "name": "c",`, `+   "name": "d",`,
			`    "image": "i",`, `    "resources": {},`, `    "terminationMessagePath": "/dev/termination-log",`}},
		"what it shares with its host": {func(s *corev1.PodSpec) { s.HostNetwork, s.NodeName = true, "n" }, []string{
			`-12,6 +12,8 @@`, `  "restartPolicy": "Always",`, `  "terminationGracePeriodSeconds": 30,`, `  "dnsPolicy": "ClusterFirst",`,
			`+ "nodeName": "n",`, `+ "hostNetwork": true,`, `  "securityContext": {},`, `  "schedulerName": "default-scheduler",`, `  "enableServiceLinks": true`}},
		"volumes": {func(s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}, []string{
			`-1,4 +1,10 @@`, ` {`, `+ "volumes": [`, `+  {`, `+   "name": "v",`, `+   "emptyDir": {}`, `+  }`, `+ ],`, `  "containers": [`, `   {`, `    "name": "c",`}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			errs := texts(ValidatePodUpdate(pod(func(p *corev1.Pod) { row.change(&p.Spec) }), pod(nil)))
			require.Len(t, errs, 1)
			_, shown, _ := strings.Cut(errs[0], changed)
			assert.Equal(t, strings.Join(row.want, "\n"), shown)
		})
	}
}

func texts(errs field.ErrorList) []string {
	var all []string
	for _, err := range errs {
		all = append(all, strings.TrimSuffix(err.Error(), "\n"))
	}
	return all
}

// controller returns one of nginx, changed.
func controller(change func(*corev1.ReplicationController)) *corev1.ReplicationController {
	labels := map[string]string{"name": "web"}
	rc := &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", ResourceVersion: "1"}}
	rc.Spec.Template = &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	rc.Spec.Template.Spec.Containers = []corev1.Container{{Name: "nginx", Image: "nginx"}}
	defaults.ReplicationController(rc)
	if change != nil {
		change(rc)
	}
	return rc
}

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", ResourceVersion: "1"}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	defaults.Pod(p)
	if change != nil {
		change(p)
	}
	return p
}

func service(change func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default", ResourceVersion: "1"}}
	s.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	defaults.Service(s)
	if change != nil {
		change(s)
	}
	return s
}

func node(change func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1"}}
	n.Spec.PodCIDRs, n.Spec.ProviderID = []string{"10.0.0.0/24"}, "cloud://1"
	defaults.Node(n)
	if change != nil {
		change(n)
	}
	return n
}

func ended(p *corev1.Pod) {
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
}

func TestUpdatesAreHeldToWhatTheyChange(t *testing.T) {
	t.Parallel()
	odd := func(p *corev1.Pod) { p.Name, p.Labels = "Web_1", map[string]string{"a b": ""} }
	for what, row := range map[string]struct {
		errs field.ErrorList
		want []string
	}{
		"an odd name and odd labels may stay": {ValidatePodUpdate(pod(func(p *corev1.Pod) { odd(p); p.Spec.Containers[0].Image = "j" }), pod(odd)), nil},
		"an odd name does not excuse another fault": {
			ValidatePodUpdate(pod(func(p *corev1.Pod) { odd(p); p.Annotations = map[string]string{"/": ""} }), pod(odd)),
			[]string{
				`metadata.annotations: Invalid value: "/": prefix part must be non-empty`,
				`metadata.annotations: Invalid value: "/": name part must be non-empty`,
				`metadata.annotations: Invalid value: "/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
				`metadata.annotations: Invalid value: "/": prefix part must be non-empty`,
				`metadata.annotations: Invalid value: "/": name part must be non-empty`,
				`metadata.annotations: Invalid value: "/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
			}},
		"an uid does not change": {ValidatePodUpdate(pod(func(p *corev1.Pod) { p.UID = "b" }), pod(func(p *corev1.Pod) { p.UID = "a" })),
			[]string{`metadata.uid: Invalid value: "b": field is immutable`}},
		"a version is told": {ValidatePodUpdate(pod(func(p *corev1.Pod) { p.ResourceVersion = "" }), pod(nil)),
			[]string{`metadata.resourceVersion: Invalid value: "": must be specified for an update`}},
		"a negative grace period becomes one second": {
			ValidatePodUpdate(pod(func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(1)) }), pod(func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(-1)) })), nil},
		"a toleration is added, and lasts longer": {
			ValidatePodUpdate(pod(func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(9))}, {Key: "b", Operator: "Exists"}}
			}), pod(func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Exists", Effect: "NoExecute"}}
			})), nil},
		"a pod that is held back may ask for more": {
			ValidatePodUpdate(pod(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "b"} }), pod(func(p *corev1.Pod) {
				p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}}
			})), nil},
		"a status has addresses of both families, and of each once": {
			ValidatePodStatusUpdate(pod(func(p *corev1.Pod) { p.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "10.0.0.2"}} }), pod(nil)),
			[]string{`status.podIPs: Invalid value: [{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]: may specify no more than one IP for each IP family`}},
		"a status cannot bind": {ValidatePodStatusUpdate(pod(func(p *corev1.Pod) { p.Spec.NodeName = "n" }), pod(nil)),
			[]string{"status.nodeName: Forbidden: may not be changed directly"}},
		"what has ended stays so": {
			ValidatePodStatusUpdate(pod(func(p *corev1.Pod) { ended(p); p.Status.ContainerStatuses[0].State = corev1.ContainerState{} }), pod(ended)),
			[]string{"status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"}},
		"what has ended starts again if it always does": {
			ValidatePodStatusUpdate(pod(nil), pod(func(p *corev1.Pod) { ended(p); p.Spec.RestartPolicy = corev1.RestartPolicyAlways })), nil},
		"a controller's replicas change": {Update(controller(func(rc *corev1.ReplicationController) { rc.Spec.Replicas = new(int32(5)) }), controller(nil), ReplicationController), nil},
		"a controller's replicas are not negative": {
			Update(controller(func(rc *corev1.ReplicationController) { rc.Spec.Replicas = new(int32(-5)) }), controller(nil), ReplicationController),
			[]string{"spec.replicas: Invalid value: -5: must be greater than or equal to 0"}},
		"a controller has no more ready replicas than replicas": {
			Update(controller(func(rc *corev1.ReplicationController) { rc.Status.ReadyReplicas = 1 }), controller(nil), ReplicationControllerStatus),
			[]string{"status.readyReplicas: Invalid value: 1: cannot be greater than status.replicas"}},
		"a service's selector changes": {ValidateServiceUpdate(service(func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} }), service(nil)), nil},
		"a service's two fields have the same address": {ValidateService(service(func(s *corev1.Service) { s.Spec.ClusterIP = "10.0.0.1" })),
			[]string{"spec.clusterIPs: Required value"}},
		"a service without ports has no address": {ValidateService(service(func(s *corev1.Service) {
			s.Spec.Ports, s.Spec.ClusterIP = nil, corev1.ClusterIPNone
			defaults.Service(s)
		})), nil},
		"a service's first address stays": {
			ValidateServiceUpdate(service(func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "10.0.0.2", []string{"10.0.0.2"} }),
				service(func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "10.0.0.1", []string{"10.0.0.1"} })),
			[]string{`spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set`}},
		"a node's range and provider stay": {
			ValidateNodeUpdate(node(func(n *corev1.Node) { n.Spec.PodCIDRs, n.Spec.ProviderID = []string{"10.1.0.0/24"}, "cloud://2" }), node(nil)),
			[]string{`spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid`,
				`spec.providerID: Forbidden: node updates may not change providerID except from "" to valid`}},
		"a node's address is told once": {
			ValidateNodeUpdate(node(func(n *corev1.Node) {
				n.Status.Addresses = []corev1.NodeAddress{{Type: "InternalIP", Address: "a"}, {Type: "InternalIP", Address: "a"}}
			}), node(nil)),
			[]string{`status.addresses[1]: Duplicate value: {"type":"InternalIP","address":"a"}`}},
		"endpoints are checked again": {
			ValidateEndpointsUpdate(&corev1.Endpoints{ObjectMeta: service(nil).ObjectMeta, Subsets: []corev1.EndpointSubset{{}}}, &corev1.Endpoints{ObjectMeta: service(nil).ObjectMeta}),
			[]string{"subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"}},
		"events are checked again": {
			ValidateEvent(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "other"}}, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}),
			[]string{`involvedObject.namespace: Invalid value: "": does not match event.namespace`}},
		"a scale is not negative": {
			ValidateScaleUpdate(&autoscalingv1.Scale{ObjectMeta: controller(nil).ObjectMeta, Spec: autoscalingv1.ScaleSpec{Replicas: -1}},
				&autoscalingv1.Scale{ObjectMeta: controller(nil).ObjectMeta}),
			[]string{"spec.replicas: Invalid value: -1: must be greater than or equal to 0"}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, texts(row.errs))
		})
	}
}

func TestMetadataIsChecked(t *testing.T) {
	t.Parallel()
	for what, row := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"a name is a subdomain": {func(p *corev1.Pod) { p.Name = "Bad_Name" }, `metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		"a namespace is there":  {func(p *corev1.Pod) { p.Namespace = "" }, "metadata.namespace: Required value"},
		"a finalizer has a domain": {func(p *corev1.Pod) { p.Finalizers = []string{"mine"} },
			`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`},
		"the cost of a deletion is a number": {func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "+1"} },
			`metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer`},
		"a mirror is of a pod on a node": {func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} },
			`metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, []string{row.want}, texts(ValidatePodCreate(pod(row.change))))
		})
	}
}
