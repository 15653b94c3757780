package clients

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	certificates "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	protobuf   = "application/vnd.kubernetes.protobuf"
	aPod       = `{containers: [{name: c, image: i}]}`
	withLabels = `{metadata: {labels: {app: x}}, spec: ` + aPod + `}`
	ofApp      = `selector: {matchLabels: {app: x}}, template: ` + withLabels
	service    = `{namespace: default, name: x}`
	webhooks   = `webhooks: [{name: a.b.c, clientConfig: {service: ` + service + `}, admissionReviewVersions: [v1], sideEffects: None}]`
	matches    = `matchConstraints: {resourceRules: [{apiGroups: [x.y], apiVersions: [v1], operations: [CREATE], resources: [zs]}]}`
)

// rows has an object of each kind without its name, by resource and version. What cannot be created is empty.
var rows = map[string]string{
	"configmaps v1":             `data: {a: b}`,
	"endpoints v1":              `subsets: [{addresses: [{ip: 10.1.2.3}], ports: [{port: 80}]}]`,
	"events v1":                 `{involvedObject: {kind: Pod, name: p, namespace: default}, reason: Tested}`,
	"limitranges v1":            `spec: {limits: [{type: Pod, max: {cpu: 1}}]}`,
	"namespaces v1":             `spec: {}`,
	"nodes v1":                  `spec: {podCIDR: 10.1.0.0/24, podCIDRs: [10.1.0.0/24]}`,
	"persistentvolumes v1":      `spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /x}}`,
	"persistentvolumeclaims v1": `spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}`,
	"pods v1":                   `spec: ` + aPod,
	"podtemplates v1":           `template: ` + withLabels,
	"replicationcontrollers v1": `spec: {replicas: 0, selector: {app: x}, template: ` + withLabels + `}`,
	"resourcequotas v1":         `spec: {hard: {count/secrets: 1000}}`,
	"secrets v1":                `stringData: {a: b}`,
	"services v1":               `spec: {ports: [{port: 80}]}`,
	"serviceaccounts v1":        `automountServiceAccountToken: false`,

	"mutatingadmissionpolicies admissionregistration.k8s.io/v1": `spec: {failurePolicy: Ignore, reinvocationPolicy: Never, ` + matches + `,
		mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{}"}}]}`,
	"mutatingadmissionpolicybindings admissionregistration.k8s.io/v1":   `spec: {policyName: none}`,
	"mutatingwebhookconfigurations admissionregistration.k8s.io/v1":     webhooks,
	"validatingadmissionpolicies admissionregistration.k8s.io/v1":       `spec: {failurePolicy: Ignore, ` + matches + `, validations: [{expression: "true"}]}`,
	"validatingadmissionpolicybindings admissionregistration.k8s.io/v1": `spec: {policyName: none, validationActions: [Audit]}`,
	"validatingwebhookconfigurations admissionregistration.k8s.io/v1":   webhooks,

	"controllerrevisions apps/v1": `{revision: 1, data: {a: b}}`,
	"daemonsets apps/v1":          `spec: {` + ofApp + `}`,
	"deployments apps/v1":         `spec: {replicas: 0, ` + ofApp + `}`,
	"replicasets apps/v1":         `spec: {replicas: 0, ` + ofApp + `}`,
	"statefulsets apps/v1":        `spec: {replicas: 0, serviceName: x, ` + ofApp + `}`,

	"horizontalpodautoscalers autoscaling/v1": `spec: {maxReplicas: 5, targetCPUUtilizationPercentage: 50, scaleTargetRef: {kind: Deployment, name: x, apiVersion: apps/v1}}`,
	"horizontalpodautoscalers autoscaling/v2": `spec: {maxReplicas: 5, scaleTargetRef: {kind: Deployment, name: x, apiVersion: apps/v1}}`,

	"cronjobs batch/v1": `spec: {suspend: true, schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}`,
	"jobs batch/v1":     `spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}`,

	"certificatesigningrequests certificates.k8s.io/v1": `spec: {signerName: a.b/c, usages: [digital signature], request: REQUEST}`,
	"leases coordination.k8s.io/v1":                     `spec: {holderIdentity: me, leaseDurationSeconds: 10}`,
	"endpointslices discovery.k8s.io/v1":                `{addressType: IPv4, endpoints: [{addresses: [10.1.2.3]}], ports: [{port: 80}]}`,
	"events events.k8s.io/v1": `{eventTime: "2020-01-01T00:00:00.000000Z", reportingController: a.b/c, reportingInstance: i, action: A, reason: R, type: Normal,
		regarding: {kind: Pod, name: p, namespace: default}}`,

	"flowschemas flowcontrol.apiserver.k8s.io/v1":                 `spec: {priorityLevelConfiguration: {name: exempt}, matchingPrecedence: 9000}`,
	"prioritylevelconfigurations flowcontrol.apiserver.k8s.io/v1": `spec: {type: Limited, limited: {nominalConcurrencyShares: 1, limitResponse: {type: Reject}}}`,

	"ingresses networking.k8s.io/v1":       `spec: {defaultBackend: {service: {name: x, port: {number: 80}}}}`,
	"ingressclasses networking.k8s.io/v1":  `spec: {controller: a.b/c}`,
	"networkpolicies networking.k8s.io/v1": `spec: {podSelector: {matchLabels: {a: b}}}`,
	"ipaddresses networking.k8s.io/v1":     "",
	"servicecidrs networking.k8s.io/v1":    "",

	"runtimeclasses node.k8s.io/v1":  `handler: x`,
	"poddisruptionbudgets policy/v1": `spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}`,

	"clusterroles rbac.authorization.k8s.io/v1":        `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`,
	"clusterrolebindings rbac.authorization.k8s.io/v1": `{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: x}, subjects: [{kind: User, name: u, apiGroup: rbac.authorization.k8s.io}]}`,
	"roles rbac.authorization.k8s.io/v1":               `rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]`,
	"rolebindings rbac.authorization.k8s.io/v1":        `{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: x}, subjects: [{kind: User, name: u, apiGroup: rbac.authorization.k8s.io}]}`,

	"deviceclasses resource.k8s.io/v1":          `spec: {selectors: [{cel: {expression: "true"}}]}`,
	"resourceclaims resource.k8s.io/v1":         `spec: {devices: {requests: [{name: r, exactly: {deviceClassName: x}}]}}`,
	"resourceclaimtemplates resource.k8s.io/v1": `spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: x}}]}}}`,
	"resourceslices resource.k8s.io/v1":         `spec: {driver: a.b, nodeName: "n", pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: d}]}`,

	"priorityclasses scheduling.k8s.io/v1":      `value: 1`,
	"csidrivers storage.k8s.io/v1":              `spec: {attachRequired: false}`,
	"csinodes storage.k8s.io/v1":                `spec: {drivers: [{name: a.b, nodeID: "n"}]}`,
	"csistoragecapacities storage.k8s.io/v1":    `{storageClassName: x, capacity: 1Gi}`,
	"storageclasses storage.k8s.io/v1":          `provisioner: a.b/c`,
	"volumeattachments storage.k8s.io/v1":       `spec: {attacher: a.b, nodeName: "n", source: {persistentVolumeName: x}}`,
	"volumeattributesclasses storage.k8s.io/v1": `{driverName: a.b, parameters: {a: b}}`,
}

// named has the names of objects that cannot have any name.
var named = map[string]string{
	"deviceclasses": "typed.example.com", "csidrivers": "typed.example.com", "mutatingwebhookconfigurations": "typed.example.com",
}

// TestEachKindIsUsedWithItsTypedClientInProtobuf uses client-go's clients as controllers do, with all kinds that the server has.
func TestEachKindIsUsedWithItsTypedClientInProtobuf(t *testing.T) {
	t.Parallel()
	var answers contentTypes
	s := startForTyped(t)
	config := s.config()
	config.ContentType, config.AcceptContentTypes = protobuf, protobuf+",application/json"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return answers.seenBy(next) })
	clients := clientsetFor(t, config)
	waitUntilReady(t, config)
	typed := typedClients(t, clients)
	_, lists, err := clients.Discovery().ServerGroupsAndResources()
	require.NoError(t, err)
	used := 0
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for _, resource := range list.APIResources {
			client, known := typed[version.WithKind(resource.Kind)]
			if !known || strings.Contains(resource.Name, "/") || !strings.Contains(fmt.Sprint(resource.Verbs), "watch") {
				continue // such as an own kind, a subresource or a review
			}
			name := resource.Name + " " + list.GroupVersion
			row, ok := rows[name]
			assert.True(t, ok, "there is a row for %s", name)
			if row == "" {
				continue
			}
			used++
			t.Run(name, func(t *testing.T) { liveTyped(t, client, version.WithKind(resource.Kind), resource, row) })
		}
	}
	t.Logf("%d kinds; answers: %v", used, answers.seen)
	want := len(rows)
	for _, row := range rows {
		if row == "" {
			want--
		}
	}
	require.Equal(t, want, used, "all kinds are served")
}

func startForTyped(t *testing.T) *server {
	if onToday() {
		return startToday(t)
	}
	return startOurs(t, "-authorization_mode", "RBAC", "-secure_port", "0", "-cert_dir", t.TempDir(), "-service_cluster_ip_range", "10.0.0.0/24", "-disable_admission_plugins", "ServiceAccount", "-scheduler", "none")
}

// contentTypes counts the types of answers.
type contentTypes struct {
	mu   sync.Mutex // guards seen
	seen map[string]int
}

func (c *contentTypes) seenBy(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(r)
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.seen == nil {
				c.seen = map[string]int{}
			}
			c.seen[answer.Header.Get("Content-Type")]++
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// typedClient is a client of client-go for a kind, as reflection finds it.
type typedClient struct{ reflect.Value }

// typedClients returns the clients of a clientset, those with namespaces for the default one.
func typedClients(t *testing.T, clients *kubernetes.Clientset) map[schema.GroupVersionKind]typedClient {
	found := map[schema.GroupVersionKind]typedClient{}
	set := reflect.ValueOf(clients)
	for i := range set.NumMethod() {
		if of := set.Type().Method(i).Type; of.NumIn() != 1 || of.NumOut() != 1 || !strings.Contains(of.Out(0).PkgPath(), "/kubernetes/typed/") {
			continue
		}
		group := set.Method(i).Call(nil)[0].Elem()
		for j := range group.NumMethod() {
			of := group.Type().Method(j).Type
			if of.NumOut() != 1 || of.Out(0).Kind() != reflect.Interface || of.NumIn() > 2 || of.NumIn() == 2 && of.In(1).Kind() != reflect.String || group.Type().Method(j).Name == "RESTClient" {
				continue
			}
			var in []reflect.Value
			if of.NumIn() == 2 {
				in = append(in, reflect.ValueOf(metav1.NamespaceDefault))
			}
			client := typedClient{group.Method(j).Call(in)[0].Elem()}
			create := client.MethodByName("Create")
			if !create.IsValid() || create.Type().NumIn() != 3 {
				continue
			}
			object := reflect.New(create.Type().In(1).Elem()).Interface().(runtime.Object)
			kinds, _, err := scheme.Scheme.ObjectKinds(object)
			require.NoError(t, err)
			found[kinds[0]] = client
		}
	}
	return found
}

// call calls a method of the client, and returns what it answers.
func (c typedClient) call(ctx context.Context, method string, arguments ...any) (any, error) {
	in := []reflect.Value{reflect.ValueOf(ctx)}
	for _, argument := range arguments {
		in = append(in, reflect.ValueOf(argument))
	}
	out := c.MethodByName(method).Call(in)
	err, _ := out[len(out)-1].Interface().(error)
	return out[0].Interface(), err
}

// object calls a method that answers with an object.
func (c typedClient) object(t *testing.T, method string, arguments ...any) metav1.Object {
	answer, err := c.call(t.Context(), method, arguments...)
	require.NoError(t, err, method)
	object, err := meta.Accessor(answer)
	require.NoError(t, err)
	return object
}

// argument returns a new value for a parameter of a method, made of JSON.
func (c typedClient) argument(t *testing.T, method string, text []byte) any {
	value := reflect.New(c.MethodByName(method).Type().In(1).Elem()).Interface()
	require.NoError(t, json.Unmarshal(text, value))
	return value
}

// liveTyped lets a client do all that it can with an object.
func liveTyped(t *testing.T, client typedClient, kind schema.GroupVersionKind, resource metav1.APIResource, row string) {
	name := named[resource.Name]
	if name == "" {
		name = "typed"
	}
	text := objectOf(t, kind, resource.Namespaced, name, row)
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	list, err := client.call(ctx, "List", metav1.ListOptions{})
	require.NoError(t, err, "List")
	before, err := meta.ListAccessor(list)
	require.NoError(t, err)
	watching, err := client.call(ctx, "Watch", metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: before.GetResourceVersion()})
	require.NoError(t, err, "Watch")
	events := watching.(watch.Interface)
	defer events.Stop()

	created := client.object(t, "Create", client.argument(t, "Create", text), metav1.CreateOptions{FieldManager: "creator"})
	assert.Equal(t, name, created.GetName())
	assert.NotEmpty(t, created.GetUID())
	assert.Equal(t, watch.Added, nextEvent(ctx, t, events, func(metav1.Object) bool { return true }))
	assertManages(t, created, "creator", metav1.ManagedFieldsOperationUpdate)

	got := client.object(t, "Get", name, metav1.GetOptions{})
	assert.Equal(t, created.GetUID(), got.GetUID())
	list, err = client.call(ctx, "List", metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	require.NoError(t, err, "List")
	items, err := meta.ExtractList(list.(runtime.Object))
	require.NoError(t, err)
	require.Len(t, items, 1)
	assert.Equal(t, reflect.TypeOf(got), reflect.TypeOf(items[0]), "the typed object")

	updated := client.update(t, got)
	assert.Equal(t, "updated", updated.GetLabels()["step"])
	assertManages(t, updated, "updater", metav1.ManagedFieldsOperationUpdate)
	assert.Equal(t, watch.Modified, nextEvent(ctx, t, events, func(o metav1.Object) bool { return o.GetLabels()["step"] == "updated" }))

	for i, patch := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		patched := client.object(t, "Patch", name, patch, fmt.Appendf(nil, `{"metadata": {"annotations": {"patch": "%d"}}}`, i), metav1.PatchOptions{FieldManager: "patcher"})
		assert.Equal(t, fmt.Sprint(i), patched.GetAnnotations()["patch"])
	}

	var applied object
	require.NoError(t, json.Unmarshal(text, &applied))
	applied["metadata"].(object)["labels"] = object{"step": "applied", "more": "applied"}
	text, err = json.Marshal(applied)
	require.NoError(t, err)
	configuration := client.argument(t, "Apply", text)
	_, err = client.call(ctx, "Apply", configuration, metav1.ApplyOptions{FieldManager: "applier"})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	require.ErrorContains(t, err, ".metadata.labels.step")
	after := client.object(t, "Apply", configuration, metav1.ApplyOptions{FieldManager: "applier", Force: true})
	assert.Subset(t, after.GetLabels(), map[string]string{"step": "applied", "more": "applied"})
	assertManages(t, after, "applier", metav1.ManagedFieldsOperationApply)
	assert.Equal(t, watch.Modified, nextEvent(ctx, t, events, func(o metav1.Object) bool { return o.GetLabels()["step"] == "applied" }))

	_, err = client.call(ctx, "Delete", name, metav1.DeleteOptions{})
	require.NoError(t, err, "Delete")
	_, err = client.call(ctx, "Patch", name, types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`), metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) { // some kinds have finalizers, for controllers that are not there
		require.NoError(t, err, "no finalizers")
	}
	for kind.Kind != "Namespace" { // which controllers empty first
		if nextEvent(ctx, t, events, func(o metav1.Object) bool { return o.GetLabels()["step"] == "applied" }) == watch.Deleted {
			break
		}
	}
}

// update labels an object, again if somebody else has changed it meanwhile.
func (c typedClient) update(t *testing.T, object metav1.Object) metav1.Object {
	for {
		object.SetLabels(map[string]string{"step": "updated"})
		answer, err := c.call(t.Context(), "Update", object, metav1.UpdateOptions{FieldManager: "updater"})
		if apierrors.IsConflict(err) {
			object = c.object(t, "Get", object.GetName(), metav1.GetOptions{})
			continue
		}
		require.NoError(t, err, "Update")
		return answer.(metav1.Object)
	}
}

type object = map[string]any

func objectOf(t *testing.T, kind schema.GroupVersionKind, namespaced bool, name, row string) []byte {
	row = strings.ReplaceAll(row, "REQUEST", certificateRequest(t))
	var o object
	require.NoError(t, yaml.Unmarshal([]byte(row), &o))
	o["apiVersion"], o["kind"] = kind.GroupVersion().String(), kind.Kind
	o["metadata"] = object{"name": name}
	if namespaced {
		o["metadata"] = object{"name": name, "namespace": metav1.NamespaceDefault}
	}
	text, err := json.Marshal(o)
	require.NoError(t, err)
	return text
}

func assertManages(t *testing.T, o metav1.Object, manager string, operation metav1.ManagedFieldsOperationType) {
	t.Helper()
	if _, is := o.(*certificates.CertificateSigningRequest); is && operation == metav1.ManagedFieldsOperationUpdate {
		assert.Empty(t, o.GetManagedFields(), "its strategy resets all that a creator says, and what nobody owns has no managers")
		return
	}
	for _, entry := range o.GetManagedFields() {
		if entry.Manager == manager && entry.Operation == operation {
			assert.True(t, json.Valid(entry.FieldsV1.GetRawBytes()))
			return
		}
	}
	assert.Fail(t, "no entry of "+manager, "%v", o.GetManagedFields())
}

// nextEvent returns the type of the next event of an object that is as wanted; others may be before it.
func nextEvent(ctx context.Context, t *testing.T, events watch.Interface, wanted func(metav1.Object) bool) watch.EventType {
	t.Helper()
	for {
		select {
		case event, open := <-events.ResultChan():
			require.True(t, open, "the watch goes on")
			object, err := meta.Accessor(event.Object)
			require.NoError(t, err, "%v", event)
			if wanted(object) {
				return event.Type
			}
		case <-ctx.Done():
			require.NoError(t, ctx.Err(), "an event comes")
		}
	}
}

// certificateRequest returns one in base64.
func certificateRequest(t *testing.T) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "x"}}, key)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}
