package clients

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	reconciled = "tests.kube2014/pods" // a finalizer
	ownerField = "owner"               // an index of the manager's cache
)

// reconciler makes a pod for each replica of a replication controller, as one that is written
// with controller-runtime does: from a cache with an index, with owner references, a status and
// a finalizer.
type reconciler struct{ client.Client }

func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var controller corev1.ReplicationController
	if err := r.Get(ctx, request.NamespacedName, &controller); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	if err := r.List(ctx, &pods, client.InNamespace(request.Namespace), client.MatchingFields{ownerField: request.Name}); err != nil {
		return ctrl.Result{}, err
	}
	if controller.DeletionTimestamp != nil {
		return ctrl.Result{}, r.finish(ctx, &controller, pods.Items)
	}
	if controllerutil.AddFinalizer(&controller, reconciled) {
		return ctrl.Result{}, r.Update(ctx, &controller)
	}
	for i := range int(*controller.Spec.Replicas) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: fmt.Sprintf("%s-%d", request.Name, i), Labels: controller.Spec.Template.Labels},
			Spec:       controller.Spec.Template.Spec,
		}
		if err := controllerutil.SetControllerReference(&controller, pod, r.Scheme()); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
			return ctrl.Result{}, err
		}
	}
	before := controller.DeepCopy()
	controller.Status.Replicas = int32(len(pods.Items))
	return ctrl.Result{}, r.Status().Patch(ctx, &controller, client.MergeFrom(before))
}

// finish deletes the pods of a controller, then lets it go.
func (r reconciler) finish(ctx context.Context, controller *corev1.ReplicationController, pods []corev1.Pod) error {
	for _, pod := range pods {
		if err := r.Delete(ctx, &pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if len(pods) == 0 && controllerutil.RemoveFinalizer(controller, reconciled) {
		return r.Update(ctx, controller)
	}
	return nil
}

func TestAReconcilerOfControllerRuntimeKeepsPods(t *testing.T) {
	t.Parallel()
	again := true // go test -count=2 has two controllers of one name
	manager, err := ctrl.NewManager(inMemory(t).config(), ctrl.Options{
		Scheme: scheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Controller: config.Controller{SkipNameValidation: &again},
	})
	require.NoError(t, err)
	require.NoError(t, manager.GetFieldIndexer().IndexField(t.Context(), &corev1.Pod{}, ownerField, func(pod client.Object) []string {
		if owner := metav1.GetControllerOf(pod); owner != nil {
			return []string{owner.Name}
		}
		return nil
	}))
	require.NoError(t, ctrl.NewControllerManagedBy(manager).
		For(&corev1.ReplicationController{}).Owns(&corev1.Pod{}).Complete(reconciler{manager.GetClient()}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- manager.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})

	api := manager.GetAPIReader()
	writer := manager.GetClient()
	three := int32(3)
	web := &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web"},
		Spec: corev1.ReplicationControllerSpec{Replicas: &three, Selector: map[string]string{"app": "web"}, Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}, Spec: pod("", nil).Spec,
		}},
	}
	require.NoError(t, writer.Create(t.Context(), web))
	pods := func() []corev1.Pod {
		var list corev1.PodList
		require.NoError(t, api.List(t.Context(), &list, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{"app": "web"}))
		return list.Items
	}
	hasThree := func() bool {
		require.NoError(t, api.Get(t.Context(), client.ObjectKeyFromObject(web), web))
		return len(pods()) == 3 && web.Status.Replicas == 3
	}
	eventually(t, hasThree, "it has three pods, and a status")

	gone := pods()[0]
	require.NoError(t, writer.Delete(t.Context(), &gone))
	eventually(t, func() bool {
		for _, pod := range pods() {
			if pod.UID == gone.UID {
				return false
			}
		}
		return hasThree()
	}, "the pod that was deleted is replaced")

	require.NoError(t, writer.Delete(t.Context(), web, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	eventually(t, func() bool {
		err := api.Get(t.Context(), client.ObjectKeyFromObject(web), web)
		require.NoError(t, client.IgnoreNotFound(err))
		return apierrors.IsNotFound(err)
	}, "the controller goes when its pods have gone")
	assert.Empty(t, pods())
}
