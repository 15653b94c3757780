// Package v1beta1 controls the changes of June 2014's API by admission. The plugins know only today's
// objects: for them a task is a pod.
package v1beta1

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
	"kube2014/pkg/storage"
)

// decisionTime bounds admission, from the start of a request. The rest of the first door's 10 seconds is for
// the store.
const decisionTime = 8 * time.Second

// Admission implements apiserver.Admission. It is safe for concurrent use.
type Admission struct {
	Chain   *admission.Chain
	Objects storage.Reader // has the stored objects
}

var operations = map[string]admission.Operation{"create": admission.Create, "update": admission.Update, "delete": admission.Delete}

// Admit implements apiserver.Admission.
func (a *Admission) Admit(ctx context.Context, change apiserver.Change) (interface{}, func(error), error) {
	kind, known := kinds[change.Resource]
	if !known || a.Chain.Idle(v1.Namespace) {
		return change.Object, func(error) {}, nil
	}
	received := time.Now()
	if record := request.RecordOf(ctx); record != nil {
		received = record.Received
	}
	ctx, cancel := context.WithDeadline(ctx, received.Add(decisionTime))
	defer cancel()
	begun := a.Chain.Begin(ctx, admission.Attributes{
		Operation: operations[change.Verb], Kind: corev1.SchemeGroupVersion.WithKind(kind.name), Resource: corev1.SchemeGroupVersion.WithResource(kind.resource),
		Namespace: v1.Namespace, Name: change.ID, User: request.UserFrom(ctx), MayCreate: change.Verb == "update" && kind.mayCreate,
	})
	begun.Annotate = request.ObserverFrom(ctx).Annotate
	end := func(outcome error) {
		begun.End(rest.StatusError(outcome, schema.GroupResource{Resource: kind.resource}, change.ID))
	}
	object, err := a.admit(ctx, begun, kind, change)
	if err != nil {
		end(err)
		return nil, nil, inWords(err)
	}
	return object, end, nil
}

// admit returns the object that the change stores or deletes. It has the metadata of the stored object, or is
// marked as new, so that the change cannot replace or delete another one.
func (a *Admission) admit(ctx context.Context, begun *admission.Request, kind kind, change apiserver.Change) (interface{}, error) {
	if err := rest.CheckTime(ctx); err != nil {
		return nil, err
	}
	stored, err := a.stored(kind, change)
	if err != nil {
		return nil, err
	}
	old, err := kind.out(stored)
	if err != nil {
		return nil, err
	}
	if change.Verb == "delete" {
		if _, err := begun.Mutate(nil, old); err != nil {
			return nil, err
		}
		return stored, begun.Validate(nil, old)
	}
	object, admitted := kind.pointer(change.Object), kind.pointer(change.Object) // the latter stays as the client sent it
	if stored != nil {
		*object.Meta(), *admitted.Meta() = *stored.Meta(), *stored.Meta()
		if task, ok := object.(*api.Task); ok { // it stays on its machine
			before := stored.(*api.Task)
			task.CurrentState, task.IsPod, task.Held = before.CurrentState, before.IsPod, before.Held
		}
	}
	before, err := kind.out(object)
	if err != nil {
		return nil, err
	}
	after, err := begun.Mutate(before.DeepCopyObject().(admission.Object), old)
	if err != nil {
		return nil, err
	}
	keep(after, before)
	if !equality.Semantic.DeepEqual(before, after) {
		if err := kind.complete(after, before); err != nil {
			return nil, err
		}
		if object, err = kind.changed(object, after); err != nil {
			return nil, err
		}
		admitted = object
	}
	if err := kind.validate(object); err != nil {
		return nil, err
	}
	if stored == nil && change.Verb == "update" {
		admitted.Meta().ResourceVersion = api.ToBeCreated
	}
	return kind.value(admitted), begun.Validate(after, old)
}

// stored returns the object that a change replaces or deletes, nil if there is none or it cannot be decoded.
func (a *Admission) stored(kind kind, change apiserver.Change) (api.Object, error) {
	if change.Verb == "create" || api.ValidateID(change.ID) != nil { // the storage reports that
		return nil, nil
	}
	stored, err := a.Objects.Get(api.DefaultKey(kind.internal, change.ID))
	var undecodable *storage.Undecodable
	switch {
	case err == nil:
		return stored.Object, nil
	case errors.As(err, &undecodable):
		return nil, nil
	case api.KindOf(err) != api.NotFound || change.Verb == "delete":
		return nil, err
	case kind.mayCreate:
		return nil, nil
	}
	if wrong := kind.validate(kind.pointer(change.Object)); wrong != nil {
		return nil, wrong
	}
	return nil, err
}

// out converts an object to the form of the plugins, nil to nil.
func (k kind) out(object api.Object) (admission.Object, error) {
	if object == nil {
		return nil, nil
	}
	converted, err := k.converter().ToVersioned(object)
	if err != nil {
		return nil, err
	}
	converted.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(k.name))
	return converted.(admission.Object), nil
}

// changed returns the internal object with the changes of plugins. Fields that only June 2014's API has stay
// as the client sent them.
func (k kind) changed(object api.Object, after admission.Object) (api.Object, error) {
	changed, err := k.converter().ToInternal(after)
	if err != nil {
		return nil, err
	}
	changed.Inherit(object)
	annotations, remainder := changed.Meta().Annotations, changed.Meta().Remainder
	*changed.Meta() = *object.Meta()
	changed.Meta().Annotations, changed.Meta().Remainder = annotations, remainder
	return changed, nil
}
