package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
)

// A pod may come before the account: the controller makes that while the pod waits.
func TestAPodInANewNamespaceHasAnAccountAndAToken(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			_, _, address := unhurriedProgram(t, flags(t)...)
			client := clientv1.New("http://" + address)
			pod := podNamed("web")
			for _, namespace := range []string{"default", "dev", "other"} {
				if namespace != "default" {
					_, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
					require.NoError(t, err)
				}
				created, err := client.In(namespace).Pods().Create(t.Context(), &pod)
				require.NoError(t, err)
				assert.Equal(t, "default", created.Spec.ServiceAccountName)
				assert.Equal(t, "default", created.Spec.DeprecatedServiceAccount)
				require.Len(t, created.Spec.Volumes, 1)
				assert.Regexp(t, "^kube-api-access-.{5}$", created.Spec.Volumes[0].Name)
				assert.Equal(t, created.Spec.Volumes[0].Name, created.Spec.Containers[0].VolumeMounts[0].Name)
				if namespace == "default" { // June 2014 sees what it saw before
					_, text := getText(t, "http://"+address+taskPath("web"))
					assert.NotContains(t, text, "kube-api-access")
				}
			}
			refused := podNamed("refused")
			refused.Spec.ServiceAccountName = "x"
			_, err := client.In("dev").Pods().Create(t.Context(), &refused)
			assert.True(t, apierrors.IsForbidden(err))
			assert.ErrorContains(t, err, `pods "refused" is forbidden: error looking up service account dev/x: serviceaccount "x" not found`)
			late := podNamed("late")
			status, text := posted(t, "http://"+address+"/api/v1/namespaces/dev/pods?dryRun=All", encodeAll(t, late))
			assert.Equal(t, http.StatusCreated, status, text)
			assert.Contains(t, text, "kube-api-access-")
		})
	}
}

// The pods take all places of changes that are served at once.
func TestPodsThatWaitForAnAccountDoNotKeepItFromBeingMade(t *testing.T) {
	t.Parallel()
	_, _, address := unhurriedProgram(t, "-max_mutating_requests_inflight", "3")
	client := clientv1.New("http://" + address)
	_, err := client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "dev"}})
	require.NoError(t, err)
	made := make(chan error)
	for _, name := range strings.Fields("a b c") {
		go func() {
			pod := podNamed(name)
			err := error(apierrors.NewTooManyRequestsError(""))
			for apierrors.IsTooManyRequests(err) { // the namespace may still have its place
				_, err = client.In("dev").Pods().Create(t.Context(), &pod)
			}
			made <- err
		}()
	}
	for range 3 {
		assert.NoError(t, soon(t, made, "the pods are made"))
	}
}

// posted returns the answer to a POST of JSON.
func posted(t *testing.T, url, body string) (status int, text string) {
	status, text, _ = askWith(t, patient, credentials{}, http.MethodPost, url, body)
	return status, text
}

func TestATaskHasNoAccount(t *testing.T) {
	t.Parallel()
	_, _, address := unhurriedProgram(t, "-admission_control", "NamespaceLifecycle,ServiceAccount")
	status, text := posted(t, "http://"+address+"/api/v1beta1/tasks", encodePort(t, "x", 0))
	require.Equal(t, http.StatusOK, status, text)
	pod, err := clientv1.New("http://"+address).Pods().Get(t.Context(), "x")
	require.NoError(t, err)
	assert.Empty(t, pod.Spec.ServiceAccountName)
	assert.Empty(t, pod.Spec.Volumes)
}

func BenchmarkPostPod(b *testing.B) {
	for name, plugins := range map[string]string{"without accounts": "NamespaceLifecycle", "with accounts": "NamespaceLifecycle,ServiceAccount",
		"with defaults": "NamespaceLifecycle,LimitRanger,TaintNodesByCondition,Priority,DefaultTolerationSeconds,DefaultStorageClass,StorageObjectInUseProtection," +
			"PersistentVolumeClaimResize,RuntimeClass,CertificateApproval,CertificateSigning,CertificateSubjectRestriction,DefaultIngressClass,ResourceQuota"} {
		b.Run(name, func(b *testing.B) {
			handler := assembled("-controllers=", "-scheduler", "none", "-admission_control", plugins)
			post := func(path, body string) {
				if status, answer := ask(handler, http.MethodPost, path, body); status != http.StatusCreated {
					b.Fatal(string(answer))
				}
			}
			post(accountsPath, `{"metadata": {"name": "default"}}`)
			for b.Loop() {
				post(todaysPods, `{"metadata": {"generateName": "web-"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}`)
			}
		})
	}
}
