package core

import (
	"context"
	"strconv"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

func controllerRows(b generic.Base) []rest.Resource {
	row := coreRow("ReplicationController", "replicationcontrollers", "replicationcontroller", api.ControllerKind, printers.ReplicationControllers, "rc")
	row.Categories = inAll
	controllers := generic.NewStore(b, row, controllerStrategy())
	scales := row.Subresource("scale", scale{controllers})
	scales.Kind, scales.Printer = autoscalingv1.SchemeGroupVersion.WithKind("Scale"), printers.Scales
	return []rest.Resource{row.With(controllers), scales, row.Subresource("status", partOf(controllers, generic.Strategy[*corev1.ReplicationController]{
		PrepareForUpdate: func(rc, old *corev1.ReplicationController) { rc.Spec = old.Spec },
		ValidateUpdate:   validation.ValidateReplicationControllerStatusUpdate,
	}))}
}

func controllerStrategy() generic.Strategy[*corev1.ReplicationController] {
	return generic.Strategy[*corev1.ReplicationController]{
		PrepareForCreate: func(rc *corev1.ReplicationController) {
			rc.Status = corev1.ReplicationControllerStatus{}
			rc.Generation = 1
		},
		Default:  defaults.ReplicationController,
		Validate: validation.ValidateReplicationController,
		PrepareForUpdate: func(rc, old *corev1.ReplicationController) {
			rc.Status = old.Status
			countGeneration(rc, rc.Spec, old.Spec)
		},
		ValidateUpdate: validation.ValidateReplicationControllerUpdate,
		Dependents:     generic.Orphaned,
		Fields:         controllerFields,
	}
}

func controllerFields(rc *corev1.ReplicationController) fields.Set {
	return fields.Set{"status.replicas": strconv.Itoa(int(rc.Status.Replicas))}
}

// scale implements GET and PUT of replicationcontrollers/NAME/scale, through which clients scale any kind.
type scale struct {
	controllers *generic.Store[*corev1.ReplicationController]
}

func (s scale) Get(ctx context.Context, key rest.Key) (rest.Answer, error) {
	return scaleAnswer(s.controllers.Get(ctx, key))
}

func (scale) New() rest.Object { return &autoscalingv1.Scale{} }

func (s scale) Update(ctx context.Context, key rest.Key, change rest.Change, options rest.WriteOptions) (rest.Answer, bool, error) {
	answer, _, err := s.controllers.Update(ctx, key, func(current rest.Object) (rest.Object, error) {
		rc := current.(*corev1.ReplicationController)
		changed, err := change(scaleOf(rc))
		if err != nil {
			return nil, err
		}
		if changed, err = options.Mutate(changed, scaleOf(rc)); err != nil {
			return nil, err
		}
		after := changed.(*autoscalingv1.Scale)
		if errs := validation.ValidateScaleUpdate(after, scaleOf(rc)); len(errs) > 0 {
			return nil, rest.Invalid(autoscalingv1.SchemeGroupVersion.WithKind("Scale").GroupKind(), key.Name, errs)
		}
		if err := options.Validate(after, scaleOf(rc)); err != nil {
			return nil, err
		}
		rc.ResourceVersion, rc.UID = after.ResourceVersion, after.UID
		rc.Spec.Replicas = &after.Spec.Replicas
		return rc, nil
	}, rest.WriteOptions{DryRun: options.DryRun})
	answer, err = scaleAnswer(answer, err)
	return answer, false, err
}

// scaleAnswer returns the scale of the controller in an answer.
func scaleAnswer(answer rest.Answer, err error) (rest.Answer, error) {
	rc, err := objectIn[*corev1.ReplicationController](answer, err)
	if err != nil {
		return nil, err
	}
	return rest.MakeAnswer(scaleOf(rc)), nil
}

func scaleOf(rc *corev1.ReplicationController) *autoscalingv1.Scale {
	s := &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{Kind: "Scale", APIVersion: autoscalingv1.SchemeGroupVersion.String()},
		ObjectMeta: metav1.ObjectMeta{Name: rc.Name, Namespace: rc.Namespace, UID: rc.UID, ResourceVersion: rc.ResourceVersion,
			CreationTimestamp: rc.CreationTimestamp},
		Status: autoscalingv1.ScaleStatus{Replicas: rc.Status.Replicas, Selector: labels.SelectorFromSet(rc.Spec.Selector).String()},
	}
	if rc.Spec.Replicas != nil {
		s.Spec.Replicas = *rc.Spec.Replicas
	}
	return s
}
