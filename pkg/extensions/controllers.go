package extensions

import (
	"context"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/webhook"

	"kube2014/pkg/rest"
	"kube2014/pkg/util/workqueue"
)

// Run runs the controllers, each with one worker, until the context ends.
func (s *Server) Run(ctx context.Context) {
	for _, c := range []struct {
		queue *workqueue.Queue
		sync  workqueue.Sync
	}{{s.names, s.syncNames}, {s.establishing, s.syncEstablished}, {s.finalizing, s.finalize}} {
		go c.queue.Run(ctx, 1, c.sync)
	}
	<-ctx.Done()
}

// syncEstablished establishes a definition whose names have been accepted, such as by a server that has ended since. This server
// serves it already.
func (s *Server) syncEstablished(ctx context.Context, name string) error {
	d := s.find(name)
	if d == nil || !d.named || !apihelpers.IsCRDConditionTrue(d.crd, apiextensionsv1.NamesAccepted) {
		return nil
	}
	if apihelpers.IsCRDConditionTrue(d.crd, apiextensionsv1.Established) {
		return s.approve(ctx, d.crd)
	}
	return s.update(ctx, name, establish)
}

// establish sets the condition Established of a definition whose names have been accepted.
func establish(crd *apiextensionsv1.CustomResourceDefinition) {
	if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
		return
	}
	condition := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
		Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"}
	if c := crd.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil &&
		len(webhook.ValidateCABundle(field.NewPath(""), c.Webhook.ClientConfig.CABundle)) > 0 {
		condition.Status, condition.Reason, condition.Message = apiextensionsv1.ConditionFalse, "InvalidCABundle", "The conversion webhook CABundle is invalid"
	}
	apihelpers.SetCRDCondition(crd, condition)
}

// approve sets the condition of a definition in a group of the Kubernetes community: whether its annotation says that it has been
// approved.
func (s *Server) approve(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	if !apihelpers.IsProtectedCommunityGroup(crd.Spec.Group) {
		return nil
	}
	condition := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.KubernetesAPIApprovalPolicyConformant, Status: apiextensionsv1.ConditionFalse}
	state, message := apihelpers.GetAPIApprovalState(crd.Annotations)
	if state == apihelpers.APIApproved {
		condition.Status = apiextensionsv1.ConditionTrue
	}
	condition.Reason, condition.Message = approvals[state], message
	if apihelpers.IsCRDConditionEquivalent(&condition, apihelpers.FindCRDCondition(crd, condition.Type)) {
		return nil
	}
	return s.update(ctx, crd.Name, set(condition))
}

var approvals = map[apihelpers.APIApprovalState]string{apihelpers.APIApprovalInvalid: "InvalidAnnotation", apihelpers.APIApprovalMissing: "MissingAnnotation",
	apihelpers.APIApproved: "ApprovedAnnotation", apihelpers.APIApprovalBypassed: "UnapprovedAnnotation"}

// remainingPeriod is the time between two looks at objects that finalizers hold.
const remainingPeriod = time.Second

// finalize deletes the objects of a deleted definition, and then lets it go.
func (s *Server) finalize(ctx context.Context, name string) error {
	d := s.find(name)
	if d == nil || d.crd.DeletionTimestamp == nil || !apihelpers.CRDHasFinalizer(d.crd, apiextensionsv1.CustomResourceCleanupFinalizer) {
		return nil
	}
	done := terminating(apiextensionsv1.ConditionFalse, "NeverEstablished", "resource was never established")
	if d.rows != nil {
		done = terminating(apiextensionsv1.ConditionFalse, "InstanceDeletionCompleted", "removed all instances")
		if err := s.update(ctx, name, startDeletion); err != nil {
			return err
		}
	}
	remaining, err := s.deleteObjects(ctx, d) // it may have served while its names were not written yet
	if err != nil {
		_ = s.update(ctx, name, set(terminating(apiextensionsv1.ConditionTrue, "InstanceDeletionFailed", "could not delete instances: "+err.Error())))
		return err
	}
	if remaining {
		s.finalizing.AddAfter(name, remainingPeriod)
		return nil
	}
	return s.update(ctx, name, func(crd *apiextensionsv1.CustomResourceDefinition) {
		apihelpers.SetCRDCondition(crd, done)
		apihelpers.CRDRemoveFinalizer(crd, apiextensionsv1.CustomResourceCleanupFinalizer)
	})
}

// startDeletion says that the deletion of the objects has begun, unless it has said more since: each change of a definition
// brings it back to finalize at once.
func startDeletion(crd *apiextensionsv1.CustomResourceDefinition) {
	if now := apihelpers.FindCRDCondition(crd, apiextensionsv1.Terminating); now == nil || now.Reason == "InstanceDeletionPending" {
		apihelpers.SetCRDCondition(crd, terminating(apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress", "CustomResource deletion is in progress"))
	}
}

func terminating(status apiextensionsv1.ConditionStatus, reason, message string) apiextensionsv1.CustomResourceDefinitionCondition {
	return apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Terminating, Status: status, Reason: reason, Message: message}
}

func set(condition apiextensionsv1.CustomResourceDefinitionCondition) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { apihelpers.SetCRDCondition(crd, condition) }
}

// deleteObjects deletes the objects of a definition, and reports whether some are still held.
func (s *Server) deleteObjects(ctx context.Context, d *definition) (remaining bool, err error) {
	objects := d.serving.Objects()
	everything := rest.ListOptions{Labels: labels.Everything(), Fields: fields.Everything()}
	all, err := objects.List(ctx, metav1.NamespaceAll, everything)
	if err != nil {
		return false, err
	}
	for _, item := range all.Items {
		_, err := objects.Delete(ctx, rest.Key{Namespace: item.Key().Namespace, Name: item.Key().ID}, rest.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return false, err
		}
	}
	all, err = objects.List(ctx, metav1.NamespaceAll, everything)
	if err != nil {
		return false, err
	}
	return all.Len() > 0, nil
}
