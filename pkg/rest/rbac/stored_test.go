package rbac

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"

	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// kinds are the four kinds: where they are, and an object named x of each.
var kinds = []struct{ path, object string }{
	{rolesPath, `{"metadata":{"name":"x"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}`},
	{roleBindingsPath, `{"metadata":{"name":"x"},"roleRef":{"kind":"Role","name":"x"},"subjects":[{"kind":"User","name":"u"}]}`},
	{clusterRolesPath, `{"metadata":{"name":"x"},"rules":[{"verbs":["get"],"nonResourceURLs":["/x"]}]}`},
	{clusterRoleBindingsPath, `{"metadata":{"name":"x"},"roleRef":{"kind":"ClusterRole","name":"x"},"subjects":[{"kind":"User","name":"u"}]}`},
}

func TestAnObjectOfEachKindIsCreatedReadChangedAndDeleted(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		d, beside := open(t, connect(), nil), open(t, connect(), nil)
		for _, kind := range kinds {
			created := must[metav1.PartialObjectMetadata](d, "POST", kind.path, kind.object)
			assert.NotEmpty(t, created.UID)
			read := must[metav1.PartialObjectMetadata](beside, "GET", kind.path+"/x", "")
			assert.Equal(t, created, read, "another apiserver sees it")

			same := must[metav1.PartialObjectMetadata](beside, "PUT", kind.path+"/x", kind.object)
			assert.Equal(t, created.ResourceVersion, same.ResourceVersion, "nothing changes")
			patched := must[metav1.PartialObjectMetadata](beside, "PATCH", kind.path+"/x", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", "application/merge-patch+json")
			assert.NotEqual(t, created.ResourceVersion, patched.ResourceVersion)
			list := must[metav1.PartialObjectMetadataList](d, "GET", kind.path+"?labelSelector=a%3Db", "")
			require.Len(t, list.Items, 1)
			assert.Equal(t, patched.ResourceVersion, list.Items[0].ResourceVersion)

			stale := strings.Replace(kind.object, `"x"`, `"x","resourceVersion":"`+created.ResourceVersion+`"`, 1)
			status, text := d.do("admin", "PUT", kind.path+"/x", stale)
			assert.Equal(t, 409, status, text)
			must[metav1.Status](d, "DELETE", kind.path+"/x", "")
			status, _ = beside.do("admin", "GET", kind.path+"/x", "")
			assert.Equal(t, 404, status)
			must[metav1.PartialObjectMetadata](d, "POST", kind.path, strings.Replace(kind.object, `"name":"x"`, `"generateName":"x:"`, 1))
			must[metav1.PartialObjectMetadataList](d, "DELETE", kind.path, "")
			assert.Empty(t, must[metav1.PartialObjectMetadataList](beside, "GET", kind.path, "").Items)
		}
	})
}

// What etcd hides, or means something in a URL, is a name like others.
func TestAnyNameThatIsASegmentOfAPathIsStored(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		d := open(t, connect(), nil)
		names := []string{"system:node", "_", "_hidden", "__x", ".x", "...", "A B", "a_b", "ü", "?#&=", `\`, `"`, "a\nb", "<>", "+", "5F_", "*", strings.Repeat("ü", 126) + "x"}
		for _, name := range names {
			quoted, err := json.Marshal(name)
			require.NoError(t, err)
			must[rbacv1.Role](d, "POST", rolesPath, fmt.Sprintf(`{"metadata":{"name":%s}}`, quoted))
		}
		beside := open(t, connect(), nil)
		for _, side := range []door{d, beside} {
			assert.Len(t, must[rbacv1.RoleList](side, "GET", rolesPath, "").Items, len(names))
			for _, name := range names {
				assert.Equal(t, name, must[rbacv1.Role](side, "GET", rolesPath+"/"+url.PathEscape(name), "").Name)
			}
		}
		for _, name := range names {
			must[rbacv1.Role](beside, "PATCH", rolesPath+"/"+url.PathEscape(name), `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", "application/merge-patch+json")
			assert.Equal(t, "b", must[rbacv1.Role](d, "GET", rolesPath+"/"+url.PathEscape(name), "").Labels["a"])
			must[metav1.Status](d, "DELETE", rolesPath+"/"+url.PathEscape(name), "")
		}
		assert.Empty(t, must[rbacv1.RoleList](beside, "GET", rolesPath, "").Items)
	})
}

func TestK39ANameIsNoLongerThanOthersAre(t *testing.T) {
	t.Parallel()
	d := open(t, memory.New(1), nil)
	long := strings.Repeat("n", 254)
	status, text := d.do("admin", "POST", rolesPath, `{"metadata":{"name":"`+long+`"}}`)
	assert.Equal(t, 422, status)
	assert.Contains(t, text, "must be no more than 253 characters")
}

func TestAWatchTellsEachChangeOnceInOrder(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		store := connect()
		d := open(t, store, nil)
		for i, kind := range kinds {
			before := must[metav1.PartialObjectMetadataList](d, "GET", kind.path, "")
			watcher := Resources(store, clock, nil)[[]int{3, 2, 1, 0}[i]].Storage.(rest.Watcher)
			w, err := watcher.Watch(t.Context(), []string{"default", "default", "", ""}[i], rest.WatchOptions{ListOptions: rest.ListOptions{
				Labels: labels.Everything(), Fields: fields.Everything(), ResourceVersion: before.ResourceVersion}})
			require.NoError(t, err)
			must[metav1.PartialObjectMetadata](d, "POST", kind.path, kind.object)
			must[metav1.PartialObjectMetadata](d, "PATCH", kind.path+"/x", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", "application/merge-patch+json")
			must[metav1.Status](d, "DELETE", kind.path+"/x", "")
			var happened []watch.EventType
			for len(happened) < 3 {
				events, err := w.Next(t.Context())
				require.NoError(t, err)
				for _, event := range events {
					happened = append(happened, event.Type)
				}
			}
			assert.Equal(t, []watch.EventType{watch.Added, watch.Modified, watch.Deleted}, happened, kind.path)
		}
	})
}

func TestWhatDiscoveryShowsIsWhatTodaysServerShows(t *testing.T) {
	t.Parallel()
	var want metav1.APIResourceList
	require.NoError(t, json.Unmarshal(recordedIn(t, "defaults.json")[0].Answer, &want))
	var shown []metav1.APIResource
	for _, check := range []*Escalation{nil, escalation(NewPolicy(memory.New(1)))} {
		shown = nil
		for _, resource := range Resources(memory.New(1), clock, check) {
			shown = append(shown, resource.APIResource())
			assert.True(t, resource.Types().Recognizes(resource.Kind))
			assert.True(t, resource.Types().Recognizes(resource.Kind.GroupVersion().WithKind(resource.Kind.Kind+"List")))
		}
		assert.Equal(t, want.APIResources, shown)
	}
}
