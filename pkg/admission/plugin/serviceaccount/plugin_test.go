package serviceaccount

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/admission"
)

// accounts are those that there are, by namespace and name. One that is nil is there after a second.
type accounts map[string]*corev1.ServiceAccount

func (a accounts) Account(namespace, name string) (*corev1.ServiceAccount, error) {
	if account := a[namespace+"/"+name]; account != nil {
		return account, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("serviceaccounts"), name)
}

func (a accounts) Await(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	if account, late := a[namespace+"/"+name]; late && account == nil {
		time.Sleep(time.Second)
		return &corev1.ServiceAccount{}, nil
	}
	<-ctx.Done()
	return a.Account(namespace, name)
}

type away struct{ Accounts }

func (away) Account(string, string) (*corev1.ServiceAccount, error) { return nil, errors.New("away") }

var someAccounts = accounts{
	"dev/default": {},
	"dev/robot":   {AutomountServiceAccountToken: new(false), ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}},
	"dev/strict": {ObjectMeta: metav1.ObjectMeta{Name: "strict", Annotations: map[string]string{"kubernetes.io/enforce-mountable-secrets": "true"}},
		Secrets: []corev1.ObjectReference{{Name: "mine"}}, ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}},
	"late/default": nil,
}

// ask asks the plugin about a new pod in a namespace, as a request does.
func ask(t *testing.T, known Accounts, namespace string, spec corev1.PodSpec, annotations ...string) (*corev1.Pod, error) {
	created, err := New(nil)
	require.NoError(t, err)
	created.(WantsAccounts).SetAccounts(known)
	plugins := admission.Plugins{}
	plugins[Name] = func(json.RawMessage) (admission.Interface, error) { return created, nil }
	chain, err := plugins.New([]string{Name}, nil)
	require.NoError(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace}, Spec: spec}
	for _, annotation := range annotations {
		pod.Annotations = map[string]string{annotation: "x"}
	}
	request := chain.Begin(t.Context(), admission.Attributes{Operation: admission.Create, Namespace: namespace, Resource: corev1.SchemeGroupVersion.WithResource("pods")})
	object, err := request.Mutate(pod, nil)
	if err != nil {
		return nil, err
	}
	return object.(*corev1.Pod), request.Validate(object, nil)
}

func podSpec(account string) corev1.PodSpec {
	return corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}, InitContainers: []corev1.Container{{Name: "i"}}}
}

// The volume is that of today's server.
func TestAPodGetsTheAccountDefaultAndAToken(t *testing.T) {
	t.Parallel()
	pod, err := ask(t, someAccounts, "dev", podSpec(""))
	require.NoError(t, err)
	assert.Equal(t, "default", pod.Spec.ServiceAccountName)
	require.Len(t, pod.Spec.Volumes, 1)
	volume := pod.Spec.Volumes[0]
	assert.Regexp(t, `^kube-api-access-[a-z0-9]{5}$`, volume.Name)
	text, err := json.Marshal(volume.Projected)
	require.NoError(t, err)
	assert.JSONEq(t, `{"defaultMode":420,"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},
		{"configMap":{"items":[{"key":"ca.crt","path":"ca.crt"}],"name":"kube-root-ca.crt"}},
		{"downwardAPI":{"items":[{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"},"path":"namespace"}]}}]}`, string(text))
	mounts := []corev1.VolumeMount{{Name: volume.Name, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
	for _, container := range append(pod.Spec.Containers, pod.Spec.InitContainers...) {
		assert.Equal(t, mounts, container.VolumeMounts, container.Name)
	}
	again, err := ask(t, someAccounts, "dev", *pod.Spec.DeepCopy())
	require.NoError(t, err)
	assert.Equal(t, pod.Spec, again.Spec, "nothing is added twice")
}

func TestAContainerKeepsWhatItHasAtThePlaceOfTheToken(t *testing.T) {
	t.Parallel()
	spec := podSpec("default")
	spec.InitContainers = nil
	own := []corev1.VolumeMount{{Name: "x", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
	spec.Containers[0].VolumeMounts = own
	pod, err := ask(t, someAccounts, "dev", spec)
	require.NoError(t, err)
	assert.Equal(t, own, pod.Spec.Containers[0].VolumeMounts)
	assert.Len(t, pod.Spec.Volumes, 1)
	assert.Equal(t, pod.Spec.Volumes[0].Name, pod.Spec.Containers[1].VolumeMounts[0].Name)
	spec.Containers[1].VolumeMounts, spec.Volumes = own, nil
	pod, err = ask(t, someAccounts, "dev", spec)
	require.NoError(t, err)
	assert.Empty(t, pod.Spec.Volumes, "none is needed")
}

func TestThePodDecidesBeforeTheAccountWhetherItGetsAToken(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		account string
		wish    *bool
		volumes int
	}{
		"nobody says":          {"default", nil, 1},
		"the account says no":  {"robot", nil, 0},
		"the pod says yes":     {"robot", new(true), 1},
		"the pod says no":      {"default", new(false), 0},
		"the account is there": {"strict", nil, 1},
	} {
		spec := podSpec(row.account)
		spec.AutomountServiceAccountToken = row.wish
		pod, err := ask(t, someAccounts, "dev", spec)
		require.NoError(t, err, name)
		assert.Len(t, pod.Spec.Volumes, row.volumes, name)
	}
}

func TestAPodPullsImagesWithTheSecretsOfItsAccountUnlessItHasOwn(t *testing.T) {
	t.Parallel()
	pod, err := ask(t, someAccounts, "dev", podSpec("robot"))
	require.NoError(t, err)
	assert.Equal(t, []corev1.LocalObjectReference{{Name: "pull"}}, pod.Spec.ImagePullSecrets)
	spec := podSpec("robot")
	spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "own"}}
	pod, err = ask(t, someAccounts, "dev", spec)
	require.NoError(t, err)
	assert.Equal(t, spec.ImagePullSecrets, pod.Spec.ImagePullSecrets)
	assert.Len(t, someAccounts["dev/robot"].ImagePullSecrets, 1, "the account is as it was")
}

// The words are those of today's server. K91: it waits a while for the account default, and tells when the store is away.
func TestAPodWithoutItsAccountIsRefused(t *testing.T) {
	t.Parallel()
	_, err := ask(t, someAccounts, "dev", podSpec("nope"))
	assert.EqualError(t, err, `pods "web" is forbidden: error looking up service account dev/nope: serviceaccount "nope" not found`)
	assert.True(t, apierrors.IsForbidden(err))
	_, err = ask(t, away{}, "dev", podSpec("nope"))
	assert.EqualError(t, err, "away")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err = ask(t, someAccounts, "empty", podSpec(""))
		assert.EqualError(t, err, `pods "web" is forbidden: error looking up service account empty/default: serviceaccount "default" not found`)
		assert.Equal(t, DefaultTimeout, time.Since(start))
	})
}

func TestAPodWaitsForTheAccountDefault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pod, err := ask(t, someAccounts, "late", corev1.PodSpec{})
		require.NoError(t, err)
		assert.Equal(t, "default", pod.Spec.ServiceAccountName)
	})
}

func TestAMirrorPodStaysAsItIs(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*corev1.PodSpec){
		"": func(*corev1.PodSpec) {},
		"a mirror pod may not reference service accounts": func(spec *corev1.PodSpec) { spec.ServiceAccountName = "default" },
		"a mirror pod may not reference secrets": func(spec *corev1.PodSpec) {
			spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "x"}}}}
		},
		"a mirror pod may not use ServiceAccountToken volume projections": func(spec *corev1.PodSpec) {
			spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: access()}}}
		},
	} {
		spec := podSpec("")
		change(&spec)
		pod, err := ask(t, someAccounts, "dev", *spec.DeepCopy(), corev1.MirrorPodAnnotationKey)
		if want != "" {
			assert.EqualError(t, err, `pods "web" is forbidden: `+want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, spec, pod.Spec)
	}
}

// The words are those of today's server.
func TestAPodOfAStrictAccountUsesItsSecretsOnly(t *testing.T) {
	t.Parallel()
	key := func(name string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
	}
	from := func(name string) []corev1.EnvFromSource {
		return []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}
	}
	const why = ` is not allowed because service account strict does not reference that `
	for want, change := range map[string]func(*corev1.PodSpec, string){
		`volume with secret.secretName="other"` + why + "secret": func(spec *corev1.PodSpec, name string) {
			spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}}
		},
		`init container i with envVar E referencing secret.secretName="other"` + why + "secret": func(spec *corev1.PodSpec, name string) {
			spec.InitContainers[0].Env = []corev1.EnvVar{{Name: "E", ValueFrom: key(name)}}
		},
		`container b with envVar E referencing secret.secretName="other"` + why + "secret": func(spec *corev1.PodSpec, name string) {
			spec.Containers[1].Env = []corev1.EnvVar{{Name: "E", ValueFrom: key(name)}}
		},
		`init container i with envFrom referencing secret.secretName="other"` + why + "secret": func(spec *corev1.PodSpec, name string) {
			spec.InitContainers[0].EnvFrom = from(name)
		},
		`container a with envFrom referencing secret.secretName="other"` + why + "secret": func(spec *corev1.PodSpec, name string) {
			spec.Containers[0].EnvFrom = from(name)
		},
		`imagePullSecrets[0].name="other"` + why + "imagePullSecret": func(spec *corev1.PodSpec, name string) {
			if name == "mine" {
				name = "pull"
			}
			spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: name}}
		},
	} {
		spec := podSpec("strict")
		change(&spec, "other")
		_, err := ask(t, someAccounts, "dev", *spec.DeepCopy())
		assert.EqualError(t, err, `pods "web" is forbidden: `+want)
		change(&spec, "mine")
		_, err = ask(t, someAccounts, "dev", *spec.DeepCopy())
		assert.NoError(t, err, want)
	}
}

func TestOtherObjectsAndUpdatesAreNotLookedAt(t *testing.T) {
	t.Parallel()
	created, err := New(nil)
	require.NoError(t, err)
	assert.False(t, created.Handles(admission.Update))
	assert.False(t, created.Handles(admission.Delete))
	both := created.(interface {
		admission.MutationInterface
		admission.ValidationInterface
	})
	for _, a := range []*admission.Attributes{
		{Resource: corev1.SchemeGroupVersion.WithResource("services"), Object: &corev1.Service{}},
		{Resource: corev1.SchemeGroupVersion.WithResource("pods"), Subresource: "binding", Object: &corev1.Binding{}},
	} {
		assert.NoError(t, both.Admit(t.Context(), a))
		assert.NoError(t, both.Validate(t.Context(), a))
	}
	_, err = New(json.RawMessage(`{}`))
	assert.EqualError(t, err, "configuration: the plugin has none")
}
