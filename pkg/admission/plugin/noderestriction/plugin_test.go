package noderestriction

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	plugins "kube2014/pkg/admission/plugin"
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// What a node may write on today's server, requests to the whole server compare. Here is what they cannot see.

// allows lets everybody do everything.
type allows struct{}

func (allows) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.Allow, "", nil
}

// refused returns why the plugin refuses a change by the node m, "" if it does not. The store has a pod.
func refused(t *testing.T, stored *corev1.Pod, a admission.Attributes) string {
	store := memory.New(1)
	converter := v1.NewConverter(corev1.SchemeGroupVersion.WithKind("Pod"), api.TaskKind, v1.Scheme)
	object, err := converter.ToInternal(stored)
	require.NoError(t, err)
	object.(*api.Task).IsPod = true
	_, err = storage.CommitOne(store, storage.Create(object))
	require.NoError(t, err)
	created, err := New(nil)
	require.NoError(t, err)
	created.(plugins.WantsObjects).SetObjects(store, store, rest.Catalogs{})
	created.(plugins.WantsAuthorizer).SetAuthorizer(allows{})
	all := admission.Plugins{}
	all[Name] = func(json.RawMessage) (admission.Interface, error) { return created, nil }
	chain, err := all.New([]string{Name}, nil)
	require.NoError(t, err)
	a.User = &user.Info{Name: "system:node:m", Groups: []string{user.Nodes}}
	if _, err := chain.Begin(t.Context(), a).Mutate(a.Object, a.OldObject); err != nil {
		assert.True(t, apierrors.IsForbidden(err), "%v", err)
		return err.Error()
	}
	return ""
}

func podWith(volume corev1.VolumeSource) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u", CreationTimestamp: metav1.Now().Rfc3339Copy()},
		Spec: corev1.PodSpec{NodeName: "m", Volumes: []corev1.Volume{{Name: "v", VolumeSource: volume}}}}
}

// tokenFor is a request for a token for an audience that is bound to a pod.
func tokenFor(audience string, pod *corev1.Pod) admission.Attributes {
	return admission.Attributes{Operation: admission.Create, Resource: corev1.SchemeGroupVersion.WithResource("serviceaccounts"), Subresource: "token", Namespace: "default", Name: "robot",
		Object: &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience},
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}}}}
}

func TestK122NoVolumeIsTakenForThatOfAnotherDriverAndNoDifferenceIsShown(t *testing.T) {
	t.Parallel()
	pod := podWith(corev1.VolumeSource{AzureFile: &corev1.AzureFileVolumeSource{SecretName: "s", ShareName: "x"}})
	assert.Empty(t, refused(t, pod, tokenFor("extra", pod)), "today's server looks for the driver file.csi.azure.com")
	pod = podWith(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "absent"}})
	assert.Contains(t, refused(t, pod, tokenFor("extra", pod)), `error validating audience "extra": csidriver.storage.k8s.io "absent" not found`)

	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	changed := claim.DeepCopy()
	changed.Status.Phase = corev1.ClaimLost
	assert.Equal(t, `persistentvolumeclaims "c" is forbidden: node "m" is not allowed to update fields other than status.quantity and status.conditions`,
		refused(t, pod, admission.Attributes{Operation: admission.Update, Resource: corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), Subresource: "status", Name: "c", Object: changed, OldObject: claim}))
}

// An object of another type would be one of a version that the plugin does not know.
func TestAnObjectOfAnotherTypeIsRefused(t *testing.T) {
	t.Parallel()
	pod := podWith(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	other := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	for resource, subresources := range map[schema.GroupVersionResource][]string{
		corev1.SchemeGroupVersion.WithResource("pods"):                               {"", "status", "exec"},
		corev1.SchemeGroupVersion.WithResource("nodes"):                              {"", "status"},
		corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"):             {"", "status"},
		corev1.SchemeGroupVersion.WithResource("serviceaccounts"):                    {"token"},
		{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}:        {""},
		certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests"): {""},
		{Group: "coordination.k8s.io", Version: "v1beta1", Resource: "leases"}:       {""}, // in no namespace
	} {
		for _, subresource := range subresources {
			assert.NotEmpty(t, refused(t, pod, admission.Attributes{Operation: admission.Create, Resource: resource, Subresource: subresource, Name: "m", Object: other}), "%v %s", resource, subresource)
		}
	}
}

// The delete of a collection deletes only the slices of the node, whatever it selects.
func TestASliceOfAnotherNodeIsNotDeleted(t *testing.T) {
	t.Parallel()
	pod := podWith(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	for says, name := range map[string]*string{"": new("m"), `resourceslices.resource.k8s.io "Unknown" is forbidden: can only delete ResourceSlice with the same NodeName as the requesting node`: new("n")} {
		assert.Equal(t, says, refused(t, pod, admission.Attributes{Operation: admission.Delete, Resource: resourcev1.SchemeGroupVersion.WithResource("resourceslices"),
			OldObject: &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{NodeName: name}}}))
	}
}

func TestOthersThanNodesAreNotBounded(t *testing.T) {
	t.Parallel()
	created, err := New(nil)
	require.NoError(t, err)
	for _, who := range []*user.Info{{Name: "ann"}, {Name: "system:node:m"}, {Name: "m", Groups: []string{user.Nodes}}} {
		assert.NoError(t, created.(admission.MutationInterface).Admit(t.Context(), &admission.Attributes{User: who, Operation: admission.Delete, Resource: corev1.SchemeGroupVersion.WithResource("pods")}))
	}
	assert.False(t, created.Handles(admission.Connect))
	_, err = New(json.RawMessage(`{}`))
	assert.EqualError(t, err, "configuration: the plugin has none")
}

func TestVolumesOfUnknownSourcesAreRefused(t *testing.T) {
	t.Parallel()
	for says, source := range map[string]corev1.VolumeSource{
		`unknown volume type for volume  "v"`:     {},
		`unknown source for projected volume "v"`: {Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{}}}},
	} {
		_, err := reference(podWith(source))
		assert.EqualError(t, err, says)
	}
	for kind, source := range map[string]corev1.VolumeProjection{"clustertrustbundles": {ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}}, "podcertificates": {PodCertificate: &corev1.PodCertificateProjection{}}} {
		got, err := reference(podWith(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{source}}}))
		assert.NoError(t, err)
		assert.Equal(t, kind, got)
	}
}
