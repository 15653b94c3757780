package plugin

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// bench is a plugin over a store with objects.
type bench struct {
	admission.Interface
	store *memory.Store
	t     *testing.T
}

// open opens a bench of a plugin that a factory makes.
func open(t *testing.T, factory admission.Factory) *bench {
	b := &bench{made(t, factory), memory.New(1), t}
	if wants, ok := b.Interface.(WantsObjects); ok {
		wants.SetObjects(b.store, b.store, nil)
	}
	return b
}

// has stores objects of a resource.
func (b *bench) has(resource string, objects ...admission.Object) *bench {
	for _, object := range objects {
		kinds, _, err := v1.Scheme.ObjectKinds(object)
		require.NoError(b.t, err)
		internal, err := v1.NewConverter(kinds[0], api.Kind(resource), v1.Scheme).ToInternal(object.(runtime.Object))
		require.NoError(b.t, err)
		_, err = storage.CommitOne(b.store, storage.Create(internal))
		require.NoError(b.t, err)
	}
	return b
}

// decide asks about a change of an object, from old to now, as a chain does. An old object that is nil is none.
func (b *bench) decide(resource schema.GroupVersionResource, subresource string, now, old admission.Object) error {
	a := &admission.Attributes{Operation: admission.Create, Resource: resource, Subresource: subresource, Name: "x", Object: now, OldObject: old, User: &user.Info{Name: "bob"}}
	if old != nil {
		a.Operation = admission.Update
	}
	if !b.Handles(a.Operation) || !b.Interface.(admission.SelectsResources).Selects(resource.GroupResource(), subresource) {
		return nil
	}
	if mutating, ok := b.Interface.(admission.MutationInterface); ok {
		if err := mutating.Admit(b.t.Context(), a); err != nil {
			return err
		}
	}
	if validating, ok := b.Interface.(admission.ValidationInterface); ok {
		return validating.Validate(b.t.Context(), a)
	}
	return nil
}

var (
	pods     = corev1.SchemeGroupVersion.WithResource("pods")
	ofClaims = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	csrs     = certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")
)

// isDecided asserts the error of a decision, "" for none.
func isDecided(t *testing.T, want string, err error, name string) {
	t.Helper()
	if want == "" {
		assert.NoError(t, err, name)
	} else {
		assert.EqualError(t, err, want, name)
	}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func TestAPodGetsThePriorityOfItsClass(t *testing.T) {
	t.Parallel()
	never, lower := corev1.PreemptNever, corev1.PreemptLowerPriority
	high := &schedulingv1.PriorityClass{ObjectMeta: named("high"), Value: 1000, PreemptionPolicy: &never}
	low := &schedulingv1.PriorityClass{ObjectMeta: named("low"), Value: -5, PreemptionPolicy: &lower, GlobalDefault: true}
	for name, row := range map[string]struct {
		classes []admission.Object
		spec    corev1.PodSpec
		want    corev1.PodSpec
		wrong   string
	}{
		"no class at all":        {nil, corev1.PodSpec{}, corev1.PodSpec{Priority: new(int32(0)), PreemptionPolicy: &lower}, ""},
		"none is the default":    {[]admission.Object{high}, corev1.PodSpec{}, corev1.PodSpec{Priority: new(int32(0)), PreemptionPolicy: &lower}, ""},
		"one is the default":     {[]admission.Object{high, low}, corev1.PodSpec{}, corev1.PodSpec{PriorityClassName: "low", Priority: new(int32(-5)), PreemptionPolicy: &lower}, ""},
		"the pod names one":      {[]admission.Object{high, low}, corev1.PodSpec{PriorityClassName: "high"}, corev1.PodSpec{PriorityClassName: "high", Priority: new(int32(1000)), PreemptionPolicy: &never}, ""},
		"the pod says the same":  {[]admission.Object{high}, corev1.PodSpec{PriorityClassName: "high", Priority: new(int32(1000))}, corev1.PodSpec{PriorityClassName: "high", Priority: new(int32(1000)), PreemptionPolicy: &never}, ""},
		"a class that is not":    {[]admission.Object{high}, corev1.PodSpec{PriorityClassName: "nope"}, corev1.PodSpec{}, "no PriorityClass with name nope was found"},
		"another priority":       {nil, corev1.PodSpec{Priority: new(int32(7))}, corev1.PodSpec{}, "the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name"},
		"another policy":         {nil, corev1.PodSpec{PreemptionPolicy: &never}, corev1.PodSpec{}, "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name"},
		"a class without policy": {[]admission.Object{&schedulingv1.PriorityClass{ObjectMeta: named("c")}}, corev1.PodSpec{PriorityClassName: "c", PreemptionPolicy: &never}, corev1.PodSpec{PriorityClassName: "c", Priority: new(int32(0)), PreemptionPolicy: &never}, ""},
	} {
		pod := &corev1.Pod{Spec: row.spec}
		err := open(t, NewPriority).has("priorityclasses", row.classes...).decide(pods, "", pod, nil)
		if row.wrong != "" {
			row.wrong = `pods "x" is forbidden: ` + row.wrong
		} else {
			assert.Equal(t, row.want, pod.Spec, name)
		}
		isDecided(t, row.wrong, err, name)
	}
}

// A client may replace a pod by what it once created.
func TestAnUpdateMayLeaveOutWhatPluginsGaveANewPod(t *testing.T) {
	t.Parallel()
	old := &corev1.Pod{}
	benches := []*bench{open(t, NewPriority), open(t, NewDefaultTolerationSeconds)}
	for _, b := range benches {
		require.NoError(t, b.decide(pods, "", old, nil))
	}
	now := &corev1.Pod{}
	for _, b := range benches {
		require.NoError(t, b.decide(pods, "", now, old))
	}
	assert.Equal(t, old, now)
}

// K94.
func TestAnUpdateGivesNothingToATask(t *testing.T) {
	t.Parallel()
	task := &corev1.Pod{}
	for _, factory := range []admission.Factory{NewPriority, NewDefaultTolerationSeconds} {
		require.NoError(t, open(t, factory).decide(pods, "", task, &corev1.Pod{}))
	}
	assert.Equal(t, &corev1.Pod{}, task)
}

func TestAClassThatIsNewOrGoneIsKnownAtOnce(t *testing.T) {
	t.Parallel()
	b := open(t, NewPriority)
	ask := func() error {
		return b.decide(pods, "", &corev1.Pod{Spec: corev1.PodSpec{PriorityClassName: "c"}}, nil)
	}
	require.Error(t, ask())
	b.has("priorityclasses", &schedulingv1.PriorityClass{ObjectMeta: named("c")})
	require.NoError(t, ask())
	_, err := b.store.Commit(storage.Delete(api.Key{Kind: "priorityclasses", ID: "c"}, storage.Any))
	require.NoError(t, err)
	require.Error(t, ask())
}

func TestOnlyOnePriorityClassIsTheDefault(t *testing.T) {
	t.Parallel()
	classes := schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")
	first := &schedulingv1.PriorityClass{ObjectMeta: named("first"), GlobalDefault: true}
	b := open(t, NewPriority)
	require.NoError(t, b.decide(classes, "", first, nil))
	b.has("priorityclasses", first)
	const wrong = `priorityclasses.scheduling.k8s.io "x" is forbidden: PriorityClass first is already marked as default. Only one default can exist`
	second := &schedulingv1.PriorityClass{ObjectMeta: named("second"), GlobalDefault: true}
	isDecided(t, wrong, b.decide(classes, "", second, nil), "a new one")
	isDecided(t, wrong, b.decide(classes, "", second, &schedulingv1.PriorityClass{ObjectMeta: named("second")}), "one that changes")
	isDecided(t, "", b.decide(classes, "", first, first), "it itself")
	isDecided(t, "", b.decide(classes, "", &schedulingv1.PriorityClass{ObjectMeta: named("third")}, nil), "one that is none")
}

func TestAPodStaysForAWhileOnANodeThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	stays := func(key string, seconds int64) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: &seconds}
	}
	notReady, unreachable := stays("node.kubernetes.io/not-ready", 300), stays("node.kubernetes.io/unreachable", 300)
	own, all, other := stays("node.kubernetes.io/not-ready", 5), corev1.Toleration{Operator: "Exists"}, corev1.Toleration{Operator: "Exists", Effect: "NoSchedule"}
	for name, row := range map[string]struct{ has, want []corev1.Toleration }{
		"none":           {nil, []corev1.Toleration{notReady, unreachable}},
		"its own":        {[]corev1.Toleration{own}, []corev1.Toleration{own, unreachable}},
		"all":            {[]corev1.Toleration{all}, []corev1.Toleration{all}},
		"another effect": {[]corev1.Toleration{other}, []corev1.Toleration{other, notReady, unreachable}},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: row.has}}
		require.NoError(t, open(t, NewDefaultTolerationSeconds).decide(pods, "", pod, nil))
		assert.Equal(t, row.want, pod.Spec.Tolerations, name)
	}
}

func TestANewNodeIsNotReady(t *testing.T) {
	t.Parallel()
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	taint, other := corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"}, corev1.Taint{Key: "a", Effect: "NoSchedule"}
	b := open(t, NewTaintNodesByCondition)
	for _, has := range [][]corev1.Taint{nil, {other}, {other, taint}} {
		node := &corev1.Node{Spec: corev1.NodeSpec{Taints: has}}
		require.NoError(t, b.decide(nodes, "", node, nil))
		assert.Contains(t, node.Spec.Taints, taint)
		assert.Len(t, node.Spec.Taints, max(1, 2*min(len(has), 1)))
	}
	node := &corev1.Node{}
	require.NoError(t, b.decide(nodes, "", node, &corev1.Node{}))
	assert.Empty(t, node.Spec.Taints, "an update")
}

func TestClaimsAndIngressesGetTheNewestClassThatIsTheDefault(t *testing.T) {
	t.Parallel()
	class := func(name string, age int, annotation, value string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotation: value}, CreationTimestamp: metav1.Unix(int64(1000-age), 0)}
	}
	for name, row := range map[string]struct {
		classes []metav1.ObjectMeta // for storage
		want    *string
	}{
		"no class":          {nil, nil},
		"none is marked":    {[]metav1.ObjectMeta{class("a", 0, isDefaultClass, "false"), named("b")}, nil},
		"one is marked":     {[]metav1.ObjectMeta{named("a"), class("b", 0, isDefaultClass, "true")}, new("b")},
		"the old mark":      {[]metav1.ObjectMeta{class("b", 0, isDefaultClassBeta, "true")}, new("b")},
		"the newest of two": {[]metav1.ObjectMeta{class("a", 9, isDefaultClass, "true"), class("b", 1, isDefaultClass, "true")}, new("b")},
		"two of an age":     {[]metav1.ObjectMeta{class("b", 1, isDefaultClass, "true"), class("a", 1, isDefaultClass, "true")}, new("a")},
	} {
		stores, routes := open(t, NewDefaultStorageClass), open(t, NewDefaultIngressClass)
		for _, meta := range row.classes {
			stores.has("storageclasses", &storagev1.StorageClass{ObjectMeta: meta})
			ingress := *meta.DeepCopy()
			if value, marked := meta.Annotations[isDefaultClass]; marked {
				ingress.Annotations = map[string]string{"ingressclass.kubernetes.io/is-default-class": value}
			}
			routes.has("ingressclasses", &networkingv1.IngressClass{ObjectMeta: ingress})
		}
		claim, ingress := &corev1.PersistentVolumeClaim{}, &networkingv1.Ingress{}
		require.NoError(t, stores.decide(ofClaims, "", claim, nil))
		require.NoError(t, routes.decide(networkingv1.SchemeGroupVersion.WithResource("ingresses"), "", ingress, nil))
		assert.Equal(t, row.want, claim.Spec.StorageClassName, name)
		if name != "the old mark" {
			assert.Equal(t, row.want, ingress.Spec.IngressClassName, name)
		}
	}
}

func TestAClassThatIsNamedStays(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Name: "a", Annotations: map[string]string{isDefaultClass: "true", networkingv1.AnnotationIsDefaultIngressClass: "true"}}
	stores := open(t, NewDefaultStorageClass).has("storageclasses", &storagev1.StorageClass{ObjectMeta: meta})
	routes := open(t, NewDefaultIngressClass).has("ingressclasses", &networkingv1.IngressClass{ObjectMeta: meta})
	for _, annotation := range []string{"volume.beta.kubernetes.io/storage-class", "kubernetes.io/ingress.class"} {
		by := metav1.ObjectMeta{Annotations: map[string]string{annotation: "b"}}
		claim, ingress := &corev1.PersistentVolumeClaim{ObjectMeta: by}, &networkingv1.Ingress{ObjectMeta: by}
		if annotation[0] == 'v' {
			require.NoError(t, stores.decide(ofClaims, "", claim, nil))
			assert.Nil(t, claim.Spec.StorageClassName)
		} else {
			require.NoError(t, routes.decide(networkingv1.SchemeGroupVersion.WithResource("ingresses"), "", ingress, nil))
			assert.Nil(t, ingress.Spec.IngressClassName)
		}
	}
	claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("")}}
	require.NoError(t, stores.decide(ofClaims, "", claim, nil))
	assert.Empty(t, *claim.Spec.StorageClassName)
}

func TestWhatIsStoredOnVolumesStaysWhileItIsUsed(t *testing.T) {
	t.Parallel()
	b := open(t, NewStorageObjectInUseProtection)
	for _, row := range []struct {
		resource schema.GroupVersionResource
		object   admission.Object
		want     string
	}{
		{ofClaims, &corev1.PersistentVolumeClaim{}, "kubernetes.io/pvc-protection"},
		{corev1.SchemeGroupVersion.WithResource("persistentvolumes"), &corev1.PersistentVolume{}, "kubernetes.io/pv-protection"},
		{storagev1.SchemeGroupVersion.WithResource("volumeattributesclasses"), &storagev1.VolumeAttributesClass{}, "kubernetes.io/vac-protection"},
	} {
		for range 2 {
			require.NoError(t, b.decide(row.resource, "", row.object, nil))
			assert.Equal(t, []string{row.want}, row.object.GetFinalizers())
		}
	}
}

func TestAClaimGrowsOnlyIfItIsBoundAndItsClassAllowsIt(t *testing.T) {
	t.Parallel()
	const unbound, fixed = "Only bound persistent volume claims can be expanded",
		"only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
	claim := func(size, class string, phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		claim := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
		claim.Spec.Resources.Requests = corev1.ResourceList{"storage": resource.MustParse(size)}
		if class != "" {
			claim.Spec.StorageClassName = &class
		}
		return claim
	}
	b := open(t, NewPersistentVolumeClaimResize).has("storageclasses", &storagev1.StorageClass{ObjectMeta: named("grows"), AllowVolumeExpansion: new(true)},
		&storagev1.StorageClass{ObjectMeta: named("fixed"), AllowVolumeExpansion: new(false)}, &storagev1.StorageClass{ObjectMeta: named("silent")})
	for name, row := range map[string]struct {
		size, class string
		phase       corev1.PersistentVolumeClaimPhase
		wrong       string
	}{
		"the same size":     {"1Gi", "fixed", corev1.ClaimPending, ""},
		"less":              {"1Mi", "fixed", corev1.ClaimBound, ""},
		"more":              {"2Gi", "grows", corev1.ClaimBound, ""},
		"more, but unbound": {"2Gi", "grows", corev1.ClaimPending, unbound},
		"a fixed class":     {"2Gi", "fixed", corev1.ClaimBound, fixed},
		"a silent class":    {"2Gi", "silent", corev1.ClaimBound, fixed},
		"an unknown class":  {"2Gi", "nope", corev1.ClaimBound, fixed},
		"no class":          {"2Gi", "", corev1.ClaimBound, fixed},
	} {
		if row.wrong != "" {
			row.wrong = `persistentvolumeclaims "x" is forbidden: ` + row.wrong
		}
		isDecided(t, row.wrong, b.decide(ofClaims, "", claim(row.size, row.class, row.phase), claim("1Gi", row.class, row.phase)), name)
	}
}

func TestASignerDecidesWhoApprovesAndSigns(t *testing.T) {
	t.Parallel()
	request := func(certificate string, conditions ...string) *certificatesv1.CertificateSigningRequest {
		request := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "example.com/a"}}
		request.Status.Certificate = []byte(certificate)
		for _, condition := range conditions {
			request.Status.Conditions = append(request.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.RequestConditionType(condition)})
		}
		return request
	}
	for name, row := range map[string]struct {
		factory     admission.Factory
		subresource string
		now         *certificatesv1.CertificateSigningRequest
		rights      rights
		wrong       string
	}{
		"approve by the name":    {NewCertificateApproval, "approval", request("", "Approved"), rights{"approve example.com/a"}, ""},
		"approve by the domain":  {NewCertificateApproval, "approval", request("", "Approved"), rights{"approve example.com/*"}, ""},
		"approve without rights": {NewCertificateApproval, "approval", request("", "Approved"), rights{"sign example.com/a"}, `user not permitted to approve requests with signerName "example.com/a"`},
		"approve if it fails":    {NewCertificateApproval, "approval", request("", "Approved"), nil, `user not permitted to approve requests with signerName "example.com/a"`},
		"another subresource":    {NewCertificateApproval, "status", request("", "Approved"), rights{}, ""},
		"sign":                   {NewCertificateSigning, "status", request("pem"), rights{"sign example.com/*"}, ""},
		"sign without rights":    {NewCertificateSigning, "status", request("pem"), rights{"approve example.com/a"}, `user not permitted to sign requests with signerName "example.com/a"`},
		"fail without rights":    {NewCertificateSigning, "status", request("", "Failed"), rights{}, `user not permitted to sign requests with signerName "example.com/a"`},
		"a status that stays":    {NewCertificateSigning, "status", request(""), rights{}, ""},
	} {
		b := open(t, row.factory)
		b.Interface.(WantsAuthorizer).SetAuthorizer(row.rights)
		if row.wrong != "" {
			row.wrong = `certificatesigningrequests.certificates.k8s.io "x" is forbidden: ` + row.wrong
		}
		isDecided(t, row.wrong, b.decide(csrs, row.subresource, row.now, request("")), name)
	}
}

// rights are verbs with signers. Without any, the authorizer fails.
type rights []string

func (r rights) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if r == nil {
		return authorizer.Allow, "", errors.New("away")
	}
	if a.User.Name == "bob" && a.APIGroup == "certificates.k8s.io" && a.Resource == "signers" && strings.Contains(" "+strings.Join(r, " , ")+" ", " "+a.Verb+" "+a.Name+" ") {
		return authorizer.Allow, "", nil
	}
	return authorizer.NoOpinion, "", nil
}

func TestNobodyAsksForACertificateOfMasters(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	of := func(kind string, groups ...string) string {
		der, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "bob", Organization: groups}}, key)
		require.NoError(t, err)
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	const client, request = certificatesv1.KubeAPIServerClientSignerName, "CERTIFICATE REQUEST"
	for name, row := range map[string]struct{ signer, request, wrong string }{
		"a group":           {client, of(request, "dev"), ""},
		"masters":           {client, of(request, "dev", "system:masters"), "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"},
		"another signer":    {"example.com/a", of(request, "system:masters"), ""},
		"another signer, x": {"example.com/a", "x", ""},
		"no PEM":            {client, "x", "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"},
		"another block":     {client, of("CERTIFICATE", "dev"), "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"},
	} {
		if row.wrong != "" {
			row.wrong = `certificatesigningrequests.certificates.k8s.io "x" is forbidden: ` + row.wrong
		}
		csr := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: row.signer, Request: []byte(row.request)}}
		isDecided(t, row.wrong, open(t, NewCertificateSubjectRestriction).decide(csrs, "", csr, nil), name)
	}
}
