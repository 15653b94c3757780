package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
)

// createIn creates an object of each kind that a namespace can have.
func createIn(t *testing.T, url, namespace string) {
	for path, body := range changeable {
		if !strings.Contains(path, "/namespaces/default/") || strings.Contains(path, "/x/") || !strings.Contains(body, `"metadata"`) || strings.Contains(body, `"target"`) || strings.HasPrefix(path, roleAPI) {
			continue
		}
		path, body = strings.Replace(path, "/default/", "/"+namespace+"/", 1), strings.ReplaceAll(body, `"default"`, `"`+namespace+`"`)
		resp, err := patient.Post(url+path, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusCreated, resp.StatusCode, path)
	}
}

// numberIn returns how many objects of what createIn creates are in a namespace.
func numberIn(t *testing.T, client *clientv1.Client, namespace string) (n int) {
	for _, resource := range []string{"configmaps", "endpoints", "events", "limitranges", "pods", "podtemplates", "replicationcontrollers", "resourcequotas", "secrets", "serviceaccounts", "services"} {
		list, err := client.In(namespace).Metadata(corev1.SchemeGroupVersion.WithResource(resource)).List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=x"})
		require.NoError(t, err)
		n += len(list.Items)
	}
	return n
}

func TestADeletedNamespaceTakesAllWithIt(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			args := flags(t)
			first, _, address := unhurriedProgram(t, append(args, "-controllers=")...)
			url := "http://" + address
			client := clientv1.New(url)
			_, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "dev"}})
			require.NoError(t, err)
			createIn(t, url, "dev")
			createIn(t, url, "default")
			assert.Equal(t, 11, numberIn(t, client, "dev"))
			require.NoError(t, client.Namespaces().Delete(t.Context(), "dev", metav1.DeleteOptions{}))
			_, err = client.In("dev").ConfigMaps().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
			assert.True(t, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), err)
			if name == "memory" {
				assert.Equal(t, 11, numberIn(t, client, "dev"), "no controller runs")
				return
			}
			require.NoError(t, first.Process.Signal(syscall.SIGKILL))
			_, _, address = unhurriedProgram(t, args...)
			client = clientv1.New("http://" + address)
			eventually(t, func() bool {
				_, err := client.Namespaces().Get(t.Context(), "dev")
				return apierrors.IsNotFound(err)
			}, "it is gone")
			assert.Zero(t, numberIn(t, client, "dev"))
			assert.Equal(t, 11, numberIn(t, client, "default"))
		})
	}
}

func TestEachNewNamespaceGetsAnAccountAndTheCertificate(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			_, _, address := unhurriedProgram(t, flags(t)...)
			client := clientv1.New("http://" + address)
			_, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "dev"}})
			require.NoError(t, err)
			for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease", "dev"} {
				eventually(t, func() bool {
					_, err := client.In(namespace).ServiceAccounts().Get(t.Context(), "default")
					_, configErr := client.In(namespace).ConfigMaps().Get(t.Context(), "kube-root-ca.crt")
					return err == nil && configErr == nil
				}, namespace)
			}
			require.NoError(t, client.Namespaces().Delete(t.Context(), "dev", metav1.DeleteOptions{}))
			eventually(t, func() bool {
				_, err := client.Namespaces().Get(t.Context(), "dev")
				return apierrors.IsNotFound(err)
			}, "its account and its config map do not come back")
		})
	}
}

func TestWithoutTodaysAPINothingOfItIsMade(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	cmd, log, _ := unhurriedProgram(t, "-etcd_servers", server.URL, "-runtime_config", "api/v1=false")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	log.find("stopped")
	for key := range keysIn(t, server.URL, "/registry") {
		assert.NotContains(t, key, "/registry/objects/")
	}
}

func TestK6NothingIsCreatedInANamespaceThatIsMissingOrEnds(t *testing.T) {
	t.Parallel()
	d := openDoors(t, "-admission_control", "AlwaysAdmit", "-scheduler", "none")
	require.NoError(t, d.BootstrapNamespaces(t.Context()))
	assert.Contains(t, d.send(http.StatusNotFound, "POST", "/api/v1/namespaces/other/pods", encodeAll(t, podNamed("a"))), `namespaces \"other\" not found`)
	d.send(http.StatusCreated, "POST", "/api/v1/namespaces", `{"metadata": {"name": "other"}}`)
	d.send(http.StatusCreated, "POST", "/api/v1/namespaces/other/pods", encodeAll(t, podNamed("a")))
	d.send(http.StatusOK, "DELETE", "/api/v1/namespaces/other", "")
	assert.Contains(t, d.send(http.StatusForbidden, "POST", "/api/v1/namespaces/other/pods", encodeAll(t, podNamed("b"))),
		`pods \"b\" is forbidden: unable to create new content in namespace other because it is being terminated`)
	assert.Contains(t, d.send(http.StatusForbidden, "DELETE", "/api/v1/namespaces/default", ""), `namespaces \"default\" is forbidden: this namespace may not be deleted`)
}

// K27.
func TestDependentsAreCollectedWhicheverDoorDeletesTheirOwner(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			_, _, address := unhurriedProgram(t, flags(t)...)
			client := clientv1.New("http://" + address)
			labels := map[string]string{"app": "web"}
			for _, owner := range []string{"first", "second", "orphaned"} {
				rc, err := client.ReplicationControllers().Create(t.Context(), &corev1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: owner},
					Spec: corev1.ReplicationControllerSpec{Selector: labels, Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podNamed(owner).Spec}}})
				require.NoError(t, err)
				pod := podNamed(owner)
				pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rc, corev1.SchemeGroupVersion.WithKind("ReplicationController"))}
				_, err = client.Pods().Create(t.Context(), &pod)
				require.NoError(t, err)
			}
			req, err := http.NewRequest("DELETE", "http://"+address+"/api/v1beta1/replicationControllers/first", nil)
			require.NoError(t, err)
			resp, err := patient.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusOK, resp.StatusCode)
			background := metav1.DeletePropagationBackground
			require.NoError(t, client.ReplicationControllers().Delete(t.Context(), "second", metav1.DeleteOptions{PropagationPolicy: &background}))
			require.NoError(t, client.ReplicationControllers().Delete(t.Context(), "orphaned", metav1.DeleteOptions{}))
			eventually(t, func() bool {
				list, err := client.Pods().List(t.Context(), metav1.ListOptions{})
				return err == nil && len(list.Items) == 1 && len(list.Items[0].OwnerReferences) == 0 && list.Items[0].Name == "orphaned"
			}, "one pod stays, without an owner")
			eventually(t, func() bool {
				list, err := client.ReplicationControllers().List(t.Context(), metav1.ListOptions{})
				return err == nil && len(list.Items) == 0
			}, "its owner is gone")
		})
	}
}
