package v1beta1_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/v1beta1"
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// plugin changes and checks by functions.
type plugin struct {
	admit    func(a *admission.Attributes) error
	validate func(a *admission.Attributes) error
}

func (plugin) Handles(admission.Operation) bool { return true }

func (p plugin) Admit(_ context.Context, a *admission.Attributes) error {
	if p.admit == nil {
		return nil
	}
	return p.admit(a)
}

func (p plugin) Validate(_ context.Context, a *admission.Attributes) error {
	if p.validate == nil {
		return nil
	}
	return p.validate(a)
}

// opened is a first door with a plugin.
type opened struct {
	*v1beta1.Admission
	registry *registry.Registry
	tables   map[string]apiserver.RESTStorage
}

func open(t *testing.T, p plugin) *opened {
	plugins := admission.Plugins{}
	plugins["Test"] = func(json.RawMessage) (admission.Interface, error) { return p, nil }
	chain, err := plugins.New([]string{"Test"}, nil)
	require.NoError(t, err)
	objects := registry.MakeRegistry(memory.New(1))
	return &opened{&v1beta1.Admission{Chain: chain, Objects: objects.Objects()}, objects, map[string]apiserver.RESTStorage{
		"tasks":                  registry.MakeTaskRegistryStorage(objects, nil, registry.MakeRoundRobinScheduler([]string{"m1"})),
		"replicationControllers": registry.MakeControllerRegistryStorage(objects),
		"services":               registry.MakeServiceRegistryStorage(objects),
	}}
}

// ask makes a change as the first door does.
func (o *opened) ask(t *testing.T, verb, resource, id, body string) error {
	table := o.tables[resource]
	change := apiserver.Change{Verb: verb, Resource: resource, ID: id}
	if verb != "delete" {
		object, err := table.Extract(body)
		require.NoError(t, err)
		change.Object = object
	}
	object, ended, err := o.Admit(t.Context(), change)
	if err != nil {
		return err
	}
	switch verb {
	case "create":
		err = table.Create(object)
	case "update":
		err = table.Update(object)
	default:
		err = table.(apiserver.AdmittedDeleter).DeleteAdmitted(object.(api.Object))
	}
	ended(err)
	return err
}

const web = `{"id": "web", "labels": {"a": "b"}, "desiredState": {"manifest": {"version": "v1beta1", "id": "web", "containers": [{"name": "c", "image": "i"}]}}}`

func (o *opened) pod(t *testing.T, id string) *corev1.Pod {
	return o.today(t, api.TaskKind, id).(*corev1.Pod)
}

// today returns what today's API tells of an object.
func (o *opened) today(t *testing.T, kind api.Kind, id string) admission.Object {
	object, err := o.registry.Objects().Get(api.DefaultKey(kind, id))
	require.NoError(t, err)
	name := map[api.Kind]string{api.TaskKind: "Pod", api.ControllerKind: "ReplicationController", api.ServiceKind: "Service"}[kind]
	out, err := v1.NewConverter(corev1.SchemeGroupVersion.WithKind(name), kind, v1.Scheme).ToVersioned(object.Object)
	require.NoError(t, err)
	return out.(admission.Object)
}

func TestToAPluginATaskIsAPod(t *testing.T) {
	t.Parallel()
	var seen []string
	tell := func(step string) func(a *admission.Attributes) error {
		return func(a *admission.Attributes) error {
			text := step + " " + string(a.Operation) + " " + a.Namespace + "/" + a.Resource.Resource + "/" + a.Name
			for _, object := range []admission.Object{a.Object, a.OldObject} {
				if pod, ok := object.(*corev1.Pod); ok {
					text += " " + pod.Kind + " of " + pod.Spec.Containers[0].Image
				} else {
					text += " none"
				}
			}
			assert.Equal(t, "system:unsecured", a.User.Name)
			seen = append(seen, text)
			return nil
		}
	}
	o := open(t, plugin{tell("admit"), tell("validate")})
	require.NoError(t, o.ask(t, "create", "tasks", "", web))
	require.NoError(t, o.ask(t, "update", "tasks", "web", `{"id": "web", "desiredState": {"manifest": {"version": "v1beta1", "id": "web", "containers": [{"name": "c", "image": "j"}]}}}`))
	require.NoError(t, o.ask(t, "delete", "tasks", "web", ""))
	assert.Equal(t, []string{
		"admit CREATE default/pods/web Pod of i none", "validate CREATE default/pods/web Pod of i none",
		"admit UPDATE default/pods/web Pod of j Pod of i", "validate UPDATE default/pods/web Pod of j Pod of i",
		"admit DELETE default/pods/web none Pod of j", "validate DELETE default/pods/web none Pod of j",
	}, seen)
}

func TestWhatNoPluginChangesIsStoredAsTheClientSentIt(t *testing.T) {
	t.Parallel()
	plain, admitted := open(t, plugin{}), open(t, plugin{})
	for _, change := range [][]string{
		{"create", "tasks", "", web}, {"update", "tasks", "web", web},
		{"create", "services", "", `{"id": "web", "port": 80, "labels": {"a": "b"}}`}, {"update", "services", "web", `{"id": "web", "port": 81}`},
		{"update", "replicationControllers", "web", `{"id": "web", "desiredState": {"replicas": 2, "replicasInSet": {"a": "b"}, "podTemplate": {"labels": {"a": "b"}}}}`},
	} {
		require.NoError(t, admitted.ask(t, change[0], change[1], change[2], change[3]))
		object, err := plain.tables[change[1]].Extract(change[3])
		require.NoError(t, err)
		if change[0] == "create" {
			require.NoError(t, plain.tables[change[1]].Create(object))
		} else {
			require.NoError(t, plain.tables[change[1]].Update(object))
		}
	}
	for _, kind := range []api.Kind{api.TaskKind, api.ServiceKind, api.ControllerKind} {
		want, err := plain.registry.Objects().Get(api.DefaultKey(kind, "web"))
		require.NoError(t, err)
		got, err := admitted.registry.Objects().Get(api.DefaultKey(kind, "web"))
		require.NoError(t, err)
		assert.Equal(t, want.Object, got.Object)
	}
}

func TestWhatAPluginChangesIsStored(t *testing.T) {
	t.Parallel()
	o := open(t, plugin{admit: func(a *admission.Attributes) error {
		if pod, ok := a.Object.(*corev1.Pod); ok {
			pod.Labels = map[string]string{"set": string(a.Operation)}
			pod.Annotations = map[string]string{"by": "a plugin"}
			pod.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways
			pod.Spec.Containers[0].Image += ":1"
		}
		return nil
	}})
	for _, row := range []struct{ verb, id, set string }{{"create", "", "CREATE"}, {"update", "web", "UPDATE"}} {
		require.NoError(t, o.ask(t, row.verb, "tasks", row.id, web))
		task, err := o.registry.GetTask("web")
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"set": row.set}, task.Labels)
		assert.Equal(t, "i:1", task.DesiredState.Manifest.Containers[0].Image)
		assert.Equal(t, "m1", task.CurrentState.Host)
		pod := o.pod(t, "web")
		assert.Equal(t, corev1.PullAlways, pod.Spec.Containers[0].ImagePullPolicy)
		assert.Equal(t, map[string]string{"by": "a plugin"}, pod.Annotations)
		assert.NotEmpty(t, pod.UID)
	}
}

func TestWhatTheOtherDoorKnowsOfAnObjectStays(t *testing.T) {
	t.Parallel()
	o := open(t, plugin{admit: func(a *admission.Attributes) error {
		if a.Object != nil {
			a.Object.SetLabels(map[string]string{"set": "x"})
		}
		return nil
	}})
	require.NoError(t, o.ask(t, "create", "services", "", `{"id": "web", "port": 80}`))
	stored, err := o.registry.Objects().Get(api.DefaultKey(api.ServiceKind, "web"))
	require.NoError(t, err)
	changed := stored.Object.(*api.Service).DeepCopy()
	changed.Meta().Annotations, changed.Meta().UID = map[string]string{"kept": "yes"}, "7"
	_, err = o.registry.Objects().Commit(storage.Update(&changed, stored.Version()))
	require.NoError(t, err)
	require.NoError(t, o.ask(t, "update", "services", "web", `{"id": "web", "port": 81}`))
	stored, err = o.registry.Objects().Get(api.DefaultKey(api.ServiceKind, "web"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"kept": "yes"}, stored.Meta().Annotations)
	assert.Equal(t, "7", stored.Meta().UID)
	assert.Equal(t, 81, stored.Object.(*api.Service).Port)
}

func TestARefusalIsTheFirstDoorsWords(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		refusal error
		kind    api.ErrorKind
		words   string
	}{
		"forbidden":        {apierrors.NewForbidden(corev1.Resource("pods"), "web", errors.New("too many")), api.Forbidden, "too many"},
		"not found":        {apierrors.NewNotFound(corev1.Resource("namespaces"), "x"), api.NotFound, `namespaces "x" not found`},
		"too many":         {apierrors.NewTooManyRequests("later", 1), api.TooManyRequests, "later"},
		"a webhook's own":  {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 418, Message: "a teapot"}}, api.Forbidden, "a teapot"},
		"a webhook failed": {apierrors.NewInternalError(errors.New("failed calling webhook")), api.Internal, "failed calling webhook"},
		"no words":         {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 403}}, api.Forbidden, "a plugin refuses it"},
		"an unknown code":  {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 599, Message: "x"}}, api.Internal, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range []plugin{{admit: func(*admission.Attributes) error { return row.refusal }}, {validate: func(*admission.Attributes) error { return row.refusal }}} {
				o := open(t, p)
				err := o.ask(t, "create", "tasks", "", web)
				assert.Equal(t, row.kind, api.KindOf(err))
				assert.EqualError(t, err, row.words)
				tasks, err := o.registry.ListTasks(nil)
				require.NoError(t, err)
				assert.Empty(t, tasks)
			}
		})
	}
}

func TestPluginsThatCheckSeeValidObjectsOnly(t *testing.T) {
	t.Parallel()
	o := open(t, plugin{validate: func(a *admission.Attributes) error { return errors.New("asked of " + a.Name) }})
	for _, row := range []struct {
		verb, resource, id, body string
		kind                     api.ErrorKind
	}{
		{"create", "tasks", "", `{"id": "no name"}`, api.Invalid},
		{"update", "tasks", "no name", `{"id": "no name"}`, api.Invalid},
		{"update", "tasks", "web", web, api.NotFound},
		{"update", "services", "", `{"id": ""}`, api.Invalid},
	} {
		assert.Equal(t, row.kind, api.KindOf(o.ask(t, row.verb, row.resource, row.id, row.body)), row.body)
	}
	assert.EqualError(t, o.ask(t, "update", "services", "web", `{"id": "web", "port": 80}`), "asked of web")
}

// What a plugin has seen of one container, it may not have admitted of another one.
func TestWhatIsAdmittedReplacesOnlyWhatThePluginsHaveSeen(t *testing.T) {
	t.Parallel()
	for name, admit := range map[string]func(*admission.Attributes) error{
		"changed": func(a *admission.Attributes) error {
			a.Object.SetAnnotations(map[string]string{"by": "a plugin"})
			return nil
		},
		"unchanged": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, plugin{admit: admit})
			require.NoError(t, o.ask(t, "create", "tasks", "", web))
			require.NoError(t, o.ask(t, "update", "services", "web", `{"id": "web", "port": 80}`))
			for _, row := range [][]string{{"tasks", web}, {"services", `{"id": "web", "port": 81}`}} {
				table := o.tables[row[0]]
				object, err := table.Extract(row[1])
				require.NoError(t, err)
				change := apiserver.Change{Verb: "update", Resource: row[0], ID: "web", Object: object}
				early, _, err := o.Admit(t.Context(), change)
				require.NoError(t, err)
				require.NoError(t, o.ask(t, "update", row[0], "web", row[1]))
				err = table.Update(early)
				assert.ErrorIs(t, err, api.ErrOutdated)
				assert.Equal(t, api.Conflict, api.KindOf(err))

				late, _, err := o.Admit(t.Context(), change)
				require.NoError(t, err)
				assert.NoError(t, table.Update(late))
			}
			early, _, err := o.Admit(t.Context(), apiserver.Change{Verb: "update", Resource: "services", ID: "web", Object: api.Service{JSONBase: api.JSONBase{ID: "web"}, Port: 80}})
			require.NoError(t, err)
			require.NoError(t, o.tables["services"].Delete("web"))
			assert.ErrorIs(t, o.tables["services"].Update(early), api.ErrOutdated, "it does not come back as it was")
		})
	}
}

const (
	service    = `{"id": "web", "port": 80}`
	controller = `{"id": "web", "desiredState": {"replicasInSet": {"a": "b"}, "podTemplate": {"labels": {"a": "b"}}}}`
)

func TestANewObjectIsStoredOnlyIfThereIsStillNone(t *testing.T) {
	t.Parallel()
	o := open(t, plugin{})
	for _, row := range [][]string{{"services", service}, {"replicationControllers", controller}} {
		table := o.tables[row[0]]
		object, err := table.Extract(row[1])
		require.NoError(t, err)
		early, _, err := o.Admit(t.Context(), apiserver.Change{Verb: "update", Resource: row[0], ID: "web", Object: object})
		require.NoError(t, err)
		require.NoError(t, o.ask(t, "update", row[0], "web", row[1]))
		assert.ErrorIs(t, table.Update(early), api.ErrOutdated, "it was admitted as a new one")
	}
}

func TestOnlyWhatWasAdmittedIsDeleted(t *testing.T) {
	t.Parallel()
	o := open(t, plugin{})
	require.NoError(t, o.ask(t, "create", "tasks", "", web))
	for _, row := range [][]string{{"tasks", web, `{"id": "web", "labels": {"kept": "yes"}}`}, {"services", service, `{"id": "web", "port": 81}`},
		{"replicationControllers", controller, `{"id": "web", "desiredState": {"replicas": 1, "replicasInSet": {"a": "b"}, "podTemplate": {"labels": {"a": "b"}}}}`}} {
		if row[0] != "tasks" {
			require.NoError(t, o.ask(t, "update", row[0], "web", row[1]))
		}
		deletion := apiserver.Change{Verb: "delete", Resource: row[0], ID: "web"}
		early, _, err := o.Admit(t.Context(), deletion)
		require.NoError(t, err)
		require.NoError(t, o.ask(t, "update", row[0], "web", row[2]))
		table := o.tables[row[0]].(apiserver.AdmittedDeleter)
		assert.ErrorIs(t, table.DeleteAdmitted(early.(api.Object)), api.ErrOutdated)
		late, _, err := o.Admit(t.Context(), deletion)
		require.NoError(t, err)
		require.NoError(t, table.DeleteAdmitted(late.(api.Object)))
		assert.Equal(t, api.NotFound, api.KindOf(table.DeleteAdmitted(late.(api.Object))))
	}
}

func TestAPluginMayNotBreakTheRulesOfTodaysAPI(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		spoil func(pod *corev1.Pod)
		why   string
	}{
		"a request above the limit": {func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"memory": resource.MustParse("64Mi")}
		}, `spec.containers[0].resources.requests: Invalid value: "64Mi": must be less than or equal to memory limit of 1k`},
		"no such operator": {func(pod *corev1.Pod) {
			pod.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: "Like"}}
		}, `spec.tolerations[0].operator: Unsupported value: "Like"`},
	} {
		o := open(t, plugin{admit: func(a *admission.Attributes) error {
			row.spoil(a.Object.(*corev1.Pod))
			return nil
		}})
		err := o.ask(t, "create", "tasks", "", strings.Replace(web, `"image"`, `"memory": 1000, "image"`, 1))
		assert.Equal(t, api.Invalid, api.KindOf(err), name)
		assert.ErrorContains(t, err, `Pod "web" is invalid: `+row.why, name)
		_, err = o.registry.GetTask("web")
		assert.Equal(t, api.NotFound, api.KindOf(err), name)
	}
}

func TestWhatOnlyJune2014AllowsIsNoFaultOfAPlugin(t *testing.T) {
	t.Parallel()
	o := open(t, plugin{admit: func(a *admission.Attributes) error {
		a.Object.SetLabels(map[string]string{"set": "x"})
		return nil
	}})
	require.NoError(t, o.ask(t, "create", "tasks", "", strings.ReplaceAll(web, `"web"`, `"Web_1"`)))
	assert.Equal(t, map[string]string{"set": "x"}, o.pod(t, "Web_1").Labels)
}

func TestAtBothDoorsWhatAPluginAddsGetsItsDefaults(t *testing.T) {
	t.Parallel()
	o := open(t, plugin{admit: func(a *admission.Attributes) error {
		pod := a.Object.(*corev1.Pod)
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "side", Image: "s"})
		return nil
	}})
	require.NoError(t, o.ask(t, "create", "tasks", "", web))
	containers := o.pod(t, "web").Spec.Containers
	require.Len(t, containers, 2)
	containers[0].Name, containers[0].Image = "side", "s"
	assert.Equal(t, containers[0], containers[1])
}

func TestAPluginDoesNotChangeWhatOnlyTheServerSays(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	o := open(t, plugin{
		admit: func(a *admission.Attributes) error {
			a.Object.SetUID("another")
			a.Object.SetCreationTimestamp(now)
			a.Object.SetDeletionTimestamp(&now)
			a.Object.SetDeletionGracePeriodSeconds(new(int64))
			a.Object.SetGeneration(77)
			a.Object.SetResourceVersion("77")
			switch object := a.Object.(type) {
			case *corev1.Pod:
				object.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "1.2.3.4"}
				object.Spec.NodeName = "elsewhere"
				object.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"memory": resource.MustParse("64Mi")}
			case *corev1.ReplicationController:
				object.Status.Replicas = 7
			case *corev1.Service:
				object.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "1.2.3.4"}}
			}
			return nil
		},
		validate: func(a *admission.Attributes) error {
			assert.Zero(t, a.Object.GetGeneration())
			assert.Nil(t, a.Object.GetDeletionTimestamp())
			if pod, ok := a.Object.(*corev1.Pod); ok {
				assert.NotEqual(t, "elsewhere", pod.Spec.NodeName)
				assert.Equal(t, corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable}, pod.Status)
			}
			return nil
		},
	})
	plain := open(t, plugin{})
	for _, row := range [][]string{{"create", "tasks", "", web}, {"update", "tasks", "web", web}, {"update", "services", "web", service}, {"update", "services", "web", service},
		{"update", "replicationControllers", "web", controller}, {"update", "replicationControllers", "web", controller}} {
		require.NoError(t, o.ask(t, row[0], row[1], row[2], row[3]))
		require.NoError(t, plain.ask(t, row[0], row[1], row[2], row[3]))
		kind := map[string]api.Kind{"tasks": api.TaskKind, "services": api.ServiceKind, "replicationControllers": api.ControllerKind}[row[1]]
		object, without := o.today(t, kind, "web"), plain.today(t, kind, "web")
		assert.NotEqual(t, types.UID("another"), object.GetUID())
		assert.Equal(t, without.GetResourceVersion(), object.GetResourceVersion())
		if pod, ok := object.(*corev1.Pod); ok {
			assert.Equal(t, "64Mi", pod.Spec.Containers[0].Resources.Requests.Memory().String())
			assert.Equal(t, corev1.PodQOSBurstable, pod.Status.QOSClass)
			pod.Spec.Containers[0].Resources.Requests, pod.Status.QOSClass = nil, corev1.PodQOSBestEffort
		}
		object.SetUID(without.GetUID())
		object.SetCreationTimestamp(without.GetCreationTimestamp())
		assert.Equal(t, without, object)
	}
}

func TestAPluginDoesNotLetAnObjectGoThatEnds(t *testing.T) {
	t.Parallel()
	o := open(t, plugin{admit: func(a *admission.Attributes) error {
		if a.Operation == admission.Update {
			a.Object.SetDeletionTimestamp(nil)
			a.Object.SetDeletionGracePeriodSeconds(nil)
			a.Object.SetFinalizers(nil)
		}
		return nil
	}})
	require.NoError(t, o.ask(t, "create", "tasks", "", web))
	_, err := storage.GuaranteedUpdate(o.registry.Objects(), api.DefaultKey(api.TaskKind, "web"), func(stored *storage.Object) (api.Object, error) {
		ends := *stored.Object.(*api.Task)
		ends.Remainder = `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":0,"finalizers":["example.com/a"]}}`
		return &ends, nil
	})
	require.NoError(t, err)
	before := o.pod(t, "web")
	require.Equal(t, []string{"example.com/a"}, before.Finalizers)
	require.NoError(t, o.ask(t, "update", "tasks", "web", strings.Replace(web, `"b"`, `"c"`, 1)))
	after := o.pod(t, "web")
	assert.Equal(t, map[string]string{"a": "c"}, after.Labels)
	after.Labels, after.ResourceVersion = before.Labels, before.ResourceVersion
	assert.Equal(t, before, after)
}

func TestAServiceWhoseSelectorAPluginRemovesSelectsNothing(t *testing.T) {
	t.Parallel()
	for _, verbs := range [][]string{{"create"}, {"update"}, {"create", "update"}} {
		o := open(t, plugin{admit: func(a *admission.Attributes) error {
			a.Object.(*corev1.Service).Spec.Selector = nil
			return nil
		}})
		for _, verb := range verbs {
			id := map[string]string{"update": "web"}[verb]
			require.NoError(t, o.ask(t, verb, "services", id, `{"id": "web", "port": 80, "selector": {"a": "b"}, "labels": {"a": "b"}}`), verbs)
		}
		object, err := o.registry.Objects().Get(api.DefaultKey(api.ServiceKind, "web"))
		require.NoError(t, err)
		assert.True(t, object.Object.(*api.Service).SelectsNothing, verbs)
		assert.Empty(t, object.GetLabels(), verbs)
	}
}
