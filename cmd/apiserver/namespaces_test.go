package main

import (
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
)

// objectsElsewhere returns objects of other namespaces, and of a kind that no door knows. They have the
// ids, labels and ports of those in the recording.
func objectsElsewhere() []api.Object {
	base := func(id string) api.JSONBase { return api.JSONBase{ID: id} }
	dev, web := api.ObjectMeta{Namespace: "dev"}, map[string]string{"name": "web"}
	pod := makeTask("web-1", 0)
	pod.ObjectMeta, pod.Labels, pod.IsPod, pod.CurrentState.Host = dev, web, true, "127.0.0.1"
	return []api.Object{
		&pod,
		&api.Service{JSONBase: base("frontend"), ObjectMeta: dev, Port: 9999, Labels: web},
		&api.Service{JSONBase: base("other"), ObjectMeta: dev, Port: 9998, Labels: web},
		&api.Endpoints{Name: "frontend", ObjectMeta: dev, Endpoints: []string{"10.0.0.1:80"}},
		&api.ReplicationController{JSONBase: base("webController"), ObjectMeta: dev},
		&api.Any{Kind: "widgets.example.com", ID: "frontend", ObjectMeta: api.ObjectMeta{Namespace: "default"}},
		&api.Any{Kind: "namespaces", ID: "dev"},
		&api.Service{JSONBase: base("kubernetes"), ObjectMeta: api.ObjectMeta{Remainder: `{"metadata":{"labels":{"component":"apiserver"}}}`}, Port: 443},
		&api.Endpoints{Name: "kubernetes", ObjectMeta: api.ObjectMeta{Remainder: `{"metadata":{}}`}, Endpoints: []string{"10.0.0.1:80"}},
	}
}

// objectsOf returns all objects of registries, which some tests make without them.
func objectsOf(stores registries) storage.Interface {
	return stores.Tasks.(interface{ Whole() storage.Interface }).Whole()
}

func createElsewhere(t *testing.T, stores registries) {
	for _, object := range objectsElsewhere() {
		_, err := objectsOf(stores).Commit(storage.Create(object))
		require.NoError(t, err)
	}
}

// namesakes returns a pod, a service, its endpoints and a controller in another namespace for each id in a recording.
func namesakes(recorded recording) (objects []api.Object) {
	ids := map[string]bool{}
	for _, step := range recorded.Steps {
		for _, named := range regexp.MustCompile(`(?:"id": ?"|/(?:tasks|services|replicationControllers)/)(\w[-\w.]*)`).FindAllStringSubmatch(step.Path+step.Body, -1) {
			ids[named[1]] = true
		}
	}
	for id := range ids {
		elsewhere, labels, base := api.ObjectMeta{Namespace: "namesakes"}, map[string]string{"name": id}, api.JSONBase{ID: id}
		pod := makeTask(id, 0)
		pod.ObjectMeta, pod.Labels, pod.IsPod, pod.CurrentState.Host = elsewhere, labels, true, "127.0.0.1"
		objects = append(objects, &pod, &api.Service{JSONBase: base, ObjectMeta: elsewhere, Port: 9999, Labels: labels},
			&api.Endpoints{Name: id, ObjectMeta: elsewhere, Endpoints: []string{"10.0.0.1:80"}},
			&api.ReplicationController{JSONBase: base, ObjectMeta: elsewhere, DesiredState: api.ReplicationControllerState{ReplicasInSet: labels}})
	}
	return objects
}

func TestTheFirstDoorSeesTheNamespaceDefaultAlone(t *testing.T) {
	t.Parallel()
	for file, check := range map[string]func(t *testing.T, recorded recording, stores registries){
		"happy.json": checkEndpoints,
		"wrong.json": func(t *testing.T, _ recording, stores registries) { checkWhatIsStored(t, stores) },
	} {
		recorded := load(t, "testdata/"+file)
		t.Run(file, func(t *testing.T) {
			onEachStore(t, func(t *testing.T, stores registries) {
				elsewhere := append(objectsElsewhere(), namesakes(recorded)...)
				require.Greater(t, len(elsewhere), 30)
				var before []*storage.Object
				for _, object := range elsewhere {
					written, err := objectsOf(stores).Commit(storage.Create(object))
					require.NoError(t, err)
					before = append(before, written...)
				}
				replay(t, recorded, stores)
				require.NoError(t, registry.MakeEndpointController(stores.Services, stores.Tasks).SyncServiceEndpoints())
				check(t, recorded, stores)
				for i, object := range elsewhere {
					stored, err := objectsOf(stores).Get(object.Key())
					require.NoError(t, err)
					assert.Equal(t, before[i].Version(), stored.Version(), object.Key())
				}
			})
		})
	}
}

// D49. June 2014's controller manager, proxy and kubelet read whole directories, and take names from the JSON.
func TestJune2014sProgramsSeeTheNamespaceDefaultAlone(t *testing.T) {
	t.Parallel()
	recorded := load(t, "testdata/happy.json")
	server := startEtcd(t)
	stores, err := etcdRegistries([]string{server.URL}, recorded.Machines)
	require.NoError(t, err)
	createElsewhere(t, stores)
	replay(t, recorded, stores)
	require.NoError(t, registry.MakeEndpointController(stores.Services, stores.Tasks).SyncServiceEndpoints())
	require.NoError(t, stores.Reconcile())
	for _, directory := range []string{"/registry/hosts", "/registry/controllers", "/registry/services"} {
		want := maps.Clone(recorded.EtcdAtTheEnd)
		maps.DeleteFunc(want, func(key, _ string) bool { return !strings.HasPrefix(key, directory+"/") })
		require.NotEmpty(t, want)
		assert.Equal(t, want, keysIn(t, server.URL, directory))
	}
	assert.Equal(t, []string{"/registry/objects/controllers/dev/webController", "/registry/objects/example.com/widgets/default/frontend",
		"/registry/objects/namespaces/dev", "/registry/objects/pods/dev/web-1", "/registry/objects/services/endpoints/default/kubernetes",
		"/registry/objects/services/endpoints/dev/frontend", "/registry/objects/services/specs/default/kubernetes", "/registry/objects/services/specs/dev/frontend", "/registry/objects/services/specs/dev/other"}, sortedKeys(keysIn(t, server.URL, "/registry/objects")))
}

func TestTheSecondDoorShowsAllNamespaces(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	createElsewhere(t, d.Stores)
	d.createPod(podNamed("own"))
	d.createPod(podNamed("web-1"))
	names := func(list corev1.PodList) (names []string) {
		for _, pod := range list.Items {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
		return names
	}
	for path, want := range map[string][]string{
		todaysPods:                                            {"default/own", "default/web-1"},
		"/api/v1/namespaces/dev/pods":                         {"dev/web-1"},
		"/api/v1/namespaces/other/pods":                       nil,
		"/api/v1/pods":                                        {"default/own", "default/web-1", "dev/web-1"},
		"/api/v1/pods?labelSelector=name%3Dweb":               {"dev/web-1"},
		"/api/v1/pods?fieldSelector=metadata.namespace%3Ddev": {"dev/web-1"},
		"/api/v1/pods?fieldSelector=metadata.name%3Dweb-1":    {"default/web-1", "dev/web-1"},
	} {
		assert.Equal(t, want, names(read[corev1.PodList](d, path)), path)
	}
	var paged []string
	for next := ""; ; {
		page := read[corev1.PodList](d, "/api/v1/pods?limit=1&continue="+next)
		paged = append(paged, names(page)...)
		if next = page.Continue; next == "" {
			break
		}
	}
	assert.Equal(t, []string{"default/own", "default/web-1", "dev/web-1"}, paged)
	d.send(http.StatusNotFound, "DELETE", todaysServices+"/frontend", "")
	d.send(http.StatusOK, "DELETE", "/api/v1/namespaces/dev/services/frontend", "")
	d.send(http.StatusNotFound, "GET", "/api/v1/namespaces/dev/endpoints/frontend", "")
	d.send(http.StatusOK, "DELETE", "/api/v1/namespaces/dev/pods/web-1", "")
	assert.Equal(t, []string{"default/own", "default/web-1"}, names(read[corev1.PodList](d, "/api/v1/pods")))
}
