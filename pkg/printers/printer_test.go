package printers

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// now is when the answers in testdata were recorded; ago is a time before it.
var now = time.Date(2026, 11, 21, 8, 34, 21, 0, time.UTC)

func ago(age time.Duration) metav1.Time { return metav1.NewTime(now.Add(-age)) }

// rowAt returns the row of an object at a time.
func rowAt(t *testing.T, printer Printer, object runtime.Object, now time.Time) (row metav1.TableRow) {
	text, err := printer.Row(object)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(append(AppendRow([]byte{'{'}, text, now), '}'), &row))
	return row
}

// cells returns those of an object, by the names of their columns.
func cells(t *testing.T, printer Printer, object runtime.Object) map[string]any {
	values := printer.Cells(object)
	require.Len(t, values, len(printer.Columns()))
	printed := rowAt(t, printer, object, now).Cells
	for i, value := range values {
		if _, is := value.(Ago); is {
			values[i] = printed[i]
		}
	}
	named := map[string]any{}
	for i, column := range printer.Columns() {
		named[column.Name] = values[i]
	}
	return named
}

// contains checks cells that a test names, whatever the others are.
func contains(t *testing.T, expected, all map[string]any) {
	for name, value := range expected {
		assert.Equal(t, value, all[name], name)
	}
}

func object[T runtime.Object](t *testing.T, object T, text string) T {
	require.NoError(t, json.Unmarshal([]byte(text), object))
	return object
}

// The answers in testdata are those of kube-apiserver 1.36.3, without managedFields. They
// have the metadata of the objects; the test adds what else they were made of.
func TestATableIsTheRealServersByteForByte(t *testing.T) {
	t.Parallel()
	for name, recorded := range map[string]struct {
		printer Printer
		now     time.Time
		objects []runtime.Object
	}{
		"pods": {Pods, now.Add(-9 * time.Second), []runtime.Object{
			object(t, &corev1.Pod{}, `{"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Pending"}}`),
		}},
		"replicationcontrollers": {ReplicationControllers, now, []runtime.Object{
			object(t, &corev1.ReplicationController{}, `{"spec":{"replicas":3,"selector":{"a":"b"},
				"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},"status":{"replicas":1}}`),
		}},
		"services": {Services, now, []runtime.Object{
			object(t, &corev1.Service{}, `{"spec":{"ports":[{"protocol":"TCP","port":443}],"clusterIPs":["10.0.0.1"],"type":"ClusterIP"}}`),
			object(t, &corev1.Service{}, `{"spec":{"ports":[{"protocol":"TCP","port":80}],"clusterIPs":["10.0.0.182"],"type":"ClusterIP","selector":{"a":"b"}}}`),
		}},
		"namespaces": {Namespaces, now, []runtime.Object{
			object(t, &corev1.Namespace{}, `{"status":{"phase":"Active"}}`),
			object(t, &corev1.Namespace{}, `{"status":{"phase":"Active"}}`),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := os.ReadFile("testdata/" + name + ".json")
			require.NoError(t, err)
			var answered struct {
				metav1.ListMeta `json:"metadata"`
				Rows            []struct {
					Object struct {
						Metadata json.RawMessage `json:"metadata"`
					} `json:"object"`
				} `json:"rows"`
			}
			require.NoError(t, json.Unmarshal(answer, &answered))
			require.Len(t, recorded.objects, len(answered.Rows))
			for i, row := range answered.Rows {
				object(t, recorded.objects[i], `{"metadata":`+string(row.Object.Metadata)+`}`)
			}

			table := recorded.printer.Table()
			table.ListMeta = answered.ListMeta
			for _, object := range recorded.objects {
				row := rowAt(t, recorded.printer, object, recorded.now)
				partial := meta.AsPartialObjectMetadata(object.(metav1.Object))
				partial.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
				row.Object.Object = partial
				table.Rows = append(table.Rows, row)
			}
			printed, err := json.Marshal(table)
			require.NoError(t, err)
			assert.Equal(t, string(answer), string(printed)+"\n")
		})
	}
}

func TestATableOfNothingHasAnEmptyListOfRows(t *testing.T) {
	t.Parallel()
	table := Namespaces.Table()
	printed, err := json.Marshal(table)
	require.NoError(t, err)
	assert.Contains(t, string(printed), `"rows":[]`)
	assert.Len(t, table.ColumnDefinitions, 3)
}

func TestColumnsHaveDescriptionsAndOneHasTheName(t *testing.T) {
	t.Parallel()
	printers := []Printer{Pods, ReplicationControllers, Services, Endpoints, EndpointSlices, Nodes, Events, Namespaces, byDefault}
	for _, printer := range printers {
		var names int
		for _, column := range printer.Columns() {
			assert.NotEmpty(t, column.Description, column.Name)
			if column.Format == "name" {
				names++
			}
		}
		assert.Equal(t, 1, names)
	}
}

func TestEachPrinterFindsItsFields(t *testing.T) {
	t.Parallel()
	for i, printer := range []Printer{HorizontalPodAutoscalers, CertificateRequests, PriorityClasses, RuntimeClasses, Leases, Components, ConfigMaps, Secrets, ResourceQuotas,
		PodTemplates, ResourceClaims, ResourceSlices, PodDisruptionBudgets, Endpoints, EndpointSlices, Events, FlowSchemas, PriorityLevels, Ingresses, IngressClasses,
		NetworkPolicies, Jobs, CronJobs, IPAddresses, ServiceCIDRs, Nodes, Namespaces, Pods, Named, ReplicationControllers, Scales, Services, Volumes, Claims,
		StorageClasses, AttributesClasses, Attachments, CSINodes, CSIDrivers, Deployments, ReplicaSets, StatefulSets, DaemonSets, ControllerRevisions, MutatingWebhooks, ValidatingWebhooks,
		ValidatingPolicies, MutatingPolicies, ValidatingPolicyBindings, MutatingPolicyBindings, byDefault} {
		assert.NotPanics(t, func() { assert.NotEmpty(t, printer.Table().ColumnDefinitions) }, i)
	}
}

func TestAColumnOfNoFieldIsAMistakeInTheProgram(t *testing.T) {
	t.Parallel()
	assert.PanicsWithValue(t, "no field spec.nodename", func() { table[corev1.Pod](text("Node", "spec.nodename")).Columns() })
}

func TestAKindWithoutAPrinterHasItsNameAndWhenItWasMade(t *testing.T) {
	t.Parallel()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", CreationTimestamp: ago(time.Minute)}}
	assert.Equal(t, map[string]any{"Name": "s", "Created At": "2026-11-21T08:33:21Z"}, cells(t, byDefault, secret))
}

func TestTheAgeOfWhatHasNoTimeIsUnknown(t *testing.T) {
	t.Parallel()
	for age, printed := range map[time.Duration]string{
		-time.Second:                  "0s",
		-time.Minute:                  "<invalid>",
		119 * time.Second:             "119s",
		2*time.Minute + 3*time.Second: "2m3s",
		49 * time.Hour:                "2d1h",
	} {
		made := metav1.ObjectMeta{CreationTimestamp: ago(age)}
		assert.Equal(t, printed, cells(t, Namespaces, &corev1.Namespace{ObjectMeta: made})["Age"])
	}
	assert.Equal(t, "<unknown>", cells(t, Namespaces, &corev1.Namespace{})["Age"])
}
