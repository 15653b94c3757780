package v1

import (
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
)

func inController(rc corev1.ReplicationController) (controller api.ReplicationController, err error) {
	controller = api.ReplicationController{JSONBase: api.JSONBase{ID: rc.Name}}
	controller.ObjectMeta, rc.ObjectMeta = inMeta(rc.ObjectMeta)
	controller.Labels, rc.Labels = rc.Labels, nil
	state := &controller.DesiredState
	if rc.Spec.Replicas != nil {
		state.Replicas = int(*rc.Spec.Replicas)
	}
	state.ReplicasInSet = rc.Spec.Selector
	rc.Spec.Replicas, rc.Spec.Selector = nil, nil
	if rc.Spec.Template != nil {
		template := *rc.Spec.Template
		state.TaskTemplate.Labels, template.Labels = template.Labels, nil
		state.TaskTemplate.DesiredState.Manifest, template.Spec = inPodSpec(template.Spec)
		rc.Spec.Template = &template
	}
	controller.Remainder, err = encodeRest(&corev1.ReplicationController{ObjectMeta: rc.ObjectMeta, Spec: rc.Spec, Status: rc.Status})
	return controller, err
}

func outController(controller api.ReplicationController) (corev1.ReplicationController, error) {
	rc, err := decodeRest[corev1.ReplicationController](&controller)
	if err != nil {
		return corev1.ReplicationController{}, err
	}
	outMeta(&rc.ObjectMeta, &controller)
	rc.Labels = controller.Labels
	state := controller.DesiredState
	replicas := api.Int32(state.Replicas)
	rc.Spec.Replicas, rc.Spec.Selector = &replicas, state.ReplicasInSet
	if rc.Spec.Template == nil {
		rc.Spec.Template = &corev1.PodTemplateSpec{}
	}
	rc.Spec.Template.Labels = state.TaskTemplate.Labels
	rc.Spec.Template.Spec = outPodSpec(state.TaskTemplate.DesiredState.Manifest, rc.Spec.Template.Spec)
	defaults.ReplicationController(&rc)
	return rc, nil
}
