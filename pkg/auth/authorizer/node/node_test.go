package node_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/authorizer/node"
	"kube2014/pkg/auth/user"
)

// What a node may do on today's server, requests to the whole server compare. Here is what they cannot see.

func nodeNamed(name string) *user.Info {
	return &user.Info{Name: "system:node:" + name, Groups: []string{user.Nodes}}
}

// empty returns a graph that has followed nothing yet, but pods on m.
func empty() *node.Graph {
	g := node.NewGraph(func(_, name string) string { return map[string]string{"mine": "m", "other": "n"}[name] })
	for _, kind := range []node.Kind{node.Pod, node.Volume, node.Attachment, node.Slice} {
		g.Replace(kind, nil)
	}
	return g
}

func podOn(machine, secret string, more ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p"}, Spec: corev1.PodSpec{NodeName: machine, ServiceAccountName: "sa"}}
	for _, name := range append(more, secret) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}})
	}
	return pod
}

func secret(name string) node.Object {
	return node.Object{Kind: node.Secret, Namespace: "a", Name: name}
}

func TestAnObjectIsReachedWhileOnePodOfTheNodeNeedsIt(t *testing.T) {
	t.Parallel()
	g := empty()
	first, second := node.OfPod(podOn("m", "s")), node.OfPod(podOn("m", "s", "s", "t"))
	g.Change(node.Pod, nil, first)
	g.Change(node.Pod, nil, second)
	assert.True(t, g.Reaches(secret("s"), "m"))
	assert.False(t, g.Reaches(secret("s"), "n"))
	g.Change(node.Pod, second, nil)
	assert.True(t, g.Reaches(secret("s"), "m"), "the other pod needs it")
	assert.False(t, g.Reaches(secret("t"), "m"))
	g.Change(node.Pod, first, node.OfPod(podOn("n", "s")))
	assert.False(t, g.Reaches(secret("s"), "m"))
	assert.True(t, g.Reaches(secret("s"), "n"))
	g.Replace(node.Pod, [][]node.Relation{node.OfPod(podOn("m", "new"))})
	assert.False(t, g.Reaches(secret("s"), "n"), "what is read again replaces all")
	assert.True(t, g.Reaches(secret("new"), "m"))
}

func TestAVolumeIsReachedThroughTheClaimOfAPod(t *testing.T) {
	t.Parallel()
	g := empty()
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "a", Name: "c"}}}
	volume.Spec.ISCSI = &corev1.ISCSIPersistentVolumeSource{SecretRef: &corev1.SecretReference{Name: "of-claim"}}
	pod := podOn("m", "")
	pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
	g.Change(node.Volume, nil, node.OfVolume(volume))
	of := node.Object{Kind: node.Volume, Name: "v"}
	assert.False(t, g.Reaches(of, "m"))
	g.Change(node.Pod, nil, node.OfPod(pod))
	assert.True(t, g.Reaches(of, "m"))
	assert.True(t, g.Reaches(secret("of-claim"), "m"))
	assert.False(t, g.Reaches(of, "n"))
	g.Change(node.Volume, node.OfVolume(volume), nil)
	assert.False(t, g.Reaches(of, "m"))
	assert.False(t, g.Reaches(secret("of-claim"), "m"))
}

func TestSecretsOfVolumesAreThoseThatAKubeletNeeds(t *testing.T) {
	t.Parallel()
	ref := func(name string) *corev1.SecretReference { return &corev1.SecretReference{Namespace: "b", Name: name} }
	other := "b"
	for name, row := range map[string]struct {
		source    corev1.PersistentVolumeSource
		namespace string
	}{
		"azure file":              {corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "s"}}, "a"},
		"azure file of another":   {corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{SecretName: "s", SecretNamespace: &other}}, "b"},
		"ceph":                    {corev1.PersistentVolumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{SecretRef: ref("s")}}, "b"},
		"ceph of the claim":       {corev1.PersistentVolumeSource{CephFS: &corev1.CephFSPersistentVolumeSource{SecretRef: &corev1.SecretReference{Name: "s"}}}, "a"},
		"cinder":                  {corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{SecretRef: ref("s")}}, "b"},
		"flex":                    {corev1.PersistentVolumeSource{FlexVolume: &corev1.FlexPersistentVolumeSource{SecretRef: ref("s")}}, "b"},
		"rbd":                     {corev1.PersistentVolumeSource{RBD: &corev1.RBDPersistentVolumeSource{SecretRef: ref("s")}}, "b"},
		"scale":                   {corev1.PersistentVolumeSource{ScaleIO: &corev1.ScaleIOPersistentVolumeSource{SecretRef: ref("s")}}, "b"},
		"iscsi":                   {corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{SecretRef: ref("s")}}, "b"},
		"storageos":               {corev1.PersistentVolumeSource{StorageOS: &corev1.StorageOSPersistentVolumeSource{SecretRef: &corev1.ObjectReference{Namespace: "b", Name: "s"}}}, "b"},
		"csi that is published":   {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{NodePublishSecretRef: ref("s")}}, "b"},
		"csi that is staged":      {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{NodeStageSecretRef: ref("s")}}, "b"},
		"csi that grows":          {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{NodeExpandSecretRef: ref("s")}}, "b"},
		"csi of the controller":   {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{ControllerPublishSecretRef: ref("s"), ControllerExpandSecretRef: ref("s")}}, ""},
		"nothing":                 {corev1.PersistentVolumeSource{}, ""},
		"a reference to no name":  {corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{SecretRef: &corev1.SecretReference{}}}, ""},
		"no reference to anybody": {corev1.PersistentVolumeSource{ISCSI: &corev1.ISCSIPersistentVolumeSource{}}, ""},
	} {
		g := empty()
		pod := podOn("m", "")
		pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
		g.Change(node.Pod, nil, node.OfPod(pod))
		volume := corev1.PersistentVolumeSpec{PersistentVolumeSource: row.source, ClaimRef: &corev1.ObjectReference{Namespace: "a", Name: "c"}}
		g.Change(node.Volume, nil, node.OfVolume(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: volume}))
		for _, namespace := range []string{"a", "b"} {
			assert.Equal(t, namespace == row.namespace, g.Reaches(node.Object{Kind: node.Secret, Namespace: namespace, Name: "s"}, "m"), "%s in %s", name, namespace)
		}
		volume.ClaimRef = nil
		assert.Empty(t, node.OfVolume(&corev1.PersistentVolume{Spec: volume}), name)
	}
}

func TestAMirrorPodAndOneWithoutANodeGiveNothing(t *testing.T) {
	t.Parallel()
	assert.Empty(t, node.OfPod(podOn("", "s")))
	mirror := podOn("m", "s")
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: ""}
	assert.Empty(t, node.OfPod(mirror))
	assert.Empty(t, node.OfAttachment(&storagev1.VolumeAttachment{}))
	assert.Empty(t, node.OfSlice(&resourcev1.ResourceSlice{}))
}

func TestClaimsOfDevicesAreThoseThatThereAre(t *testing.T) {
	t.Parallel()
	pod := podOn("m", "")
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "own", ResourceClaimName: new("c1")}, {Name: "made", ResourceClaimTemplateName: new("t")}, {Name: "waits", ResourceClaimTemplateName: new("t")}, {Name: "neither"}}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "made", ResourceClaimName: new("c2")}, {Name: "waits"}, {Name: "own", ResourceClaimName: new("c4")}}
	pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "c3"}
	g := empty()
	g.Change(node.Pod, nil, node.OfPod(pod))
	for i := range 5 {
		assert.Equal(t, i > 0 && i < 4, g.Reaches(node.Object{Kind: node.ResourceClaim, Namespace: "a", Name: fmt.Sprint("c", i)}, "m"), i)
	}
}

func TestWhatIsNotFollowedYetIsNotAllowed(t *testing.T) {
	t.Parallel()
	g := node.NewGraph(func(string, string) string { return "" })
	assert.False(t, g.Reaches(secret("s"), "m"))
	assert.False(t, g.Reaches(node.Object{Kind: node.Pod, Namespace: "a", Name: "p"}, "m"))
}

func TestAPodIsReachedByItsMachineAlone(t *testing.T) {
	t.Parallel()
	g := empty()
	for name, want := range map[string]bool{"mine": true, "other": false, "absent": false} {
		assert.Equal(t, want, g.Reaches(node.Object{Kind: node.Pod, Namespace: "a", Name: name}, "m"), name)
	}
	decision, reason, err := node.New(g, nil).Authorize(t.Context(), authorizer.Attributes{User: nodeNamed(""), IsResource: true, Verb: "get", Resource: "pods", Namespace: "a", Name: "absent"})
	assert.Equal(t, authorizer.NoOpinion, decision, "a node without a name is not that of pods without a machine")
	assert.Equal(t, `unknown node for user "system:node:"`, reason)
	assert.NoError(t, err)
}

func TestTheRightsOfANodeAreNotListed(t *testing.T) {
	t.Parallel()
	a := node.New(empty(), []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}})
	rules, incomplete, err := a.RulesFor(t.Context(), nodeNamed("m"), "a")
	assert.Empty(t, rules)
	assert.True(t, incomplete)
	assert.EqualError(t, err, "node authorizer does not support user rule resolution")
	_, incomplete, err = a.RulesFor(t.Context(), &user.Info{Name: "ann"}, "a")
	assert.False(t, incomplete)
	assert.NoError(t, err)
}

// As large as the largest cluster: 150,000 pods on 5,000 nodes, in 1,000 namespaces. Each has a secret of its own, and one that all in its
// namespace share.
func BenchmarkDecision(b *testing.B) {
	g := empty()
	var all [][]node.Relation
	for i := range 150_000 {
		pod := podOn(fmt.Sprint("node-", i%5000), fmt.Sprint("own-", i), "shared")
		pod.Namespace = fmt.Sprint("ns-", i%999)
		all = append(all, node.OfPod(pod))
	}
	g.Replace(node.Pod, all)
	a := node.New(g, nil)
	ask := func(name, namespace string, want authorizer.Decision) func(*testing.B) {
		return func(b *testing.B) {
			attributes := authorizer.Attributes{User: nodeNamed("node-7"), IsResource: true, Verb: "get", Resource: "secrets", Namespace: namespace, Name: name}
			for b.Loop() {
				if decision, _, _ := a.Authorize(b.Context(), attributes); decision != want {
					b.Fatal(decision)
				}
			}
		}
	}
	b.Run("own", ask("own-7", "ns-7", authorizer.Allow))
	b.Run("shared", ask("shared", "ns-7", authorizer.Allow))
	b.Run("of_another", ask("own-8", "ns-8", authorizer.NoOpinion))
	b.Run("unknown", ask("none", "ns-7", authorizer.NoOpinion))
}
