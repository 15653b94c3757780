package flowcontrol

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
)

// Bootstrap creates the built-in objects that are missing, and restores those that have changed: the mandatory ones, and
// those whose annotation asks for it. All flow schemas then tell whether their level exists. It is safe to run on several
// servers at once, and is repeated to keep the objects.
func Bootstrap(ctx context.Context, b rest.Base) error {
	flowStore, _ := flows.Build(b)
	levelStore, _ := levels.Build(b)
	for _, built := range builtInLevels() {
		err := keep(ctx, levelStore, built, func(into, from *flowcontrolv1.PriorityLevelConfiguration) {
			own := into.Spec.Exempt // clients may change the shares of the exempt level
			into.Spec = from.Spec
			if into.Name == exempt && own != nil {
				into.Spec.Exempt = own
			}
		})
		if err != nil {
			return err
		}
	}
	for _, built := range builtInFlows() {
		err := keep(ctx, flowStore, built, func(into, from *flowcontrolv1.FlowSchema) { into.Spec = from.Spec })
		if err != nil {
			return err
		}
	}
	return tellDangling(ctx, flowStore)
}

// keep creates a built-in object, or restores the spec of the one that is there.
func keep[T rest.Object](ctx context.Context, store *genericregistry.Store[T], built T, restore func(into, from T)) error {
	key := rest.Key{Name: built.GetName()}
	_, _, err := store.Update(ctx, key, func(current rest.Object) (rest.Object, error) {
		update, err := strconv.ParseBool(current.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey])
		if err != nil { // nobody has decided
			update = current.GetGeneration() == 1
		}
		if update = update || isMandatory(key.Name); update {
			restore(current.(T), built.DeepCopyObject().(T))
		}
		annotations := current.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[flowcontrolv1.AutoUpdateAnnotationKey] = strconv.FormatBool(update)
		current.SetAnnotations(annotations)
		return current, nil
	}, rest.AsServer())
	if !apierrors.IsNotFound(err) {
		return err
	}
	return store.Ensure(ctx, built)
}

// tellDangling sets the condition of each flow schema that tells whether its level exists.
func tellDangling(ctx context.Context, store *genericregistry.Store[*flowcontrolv1.FlowSchema]) error {
	names := map[string]bool{}
	known, err := store.Objects.List(storage.Selection{Kind: levels.Row.StoredKind})
	if err != nil {
		return err
	}
	for _, level := range known.Items {
		names[level.Key().ID] = true
	}
	all, err := store.Objects.List(storage.Selection{Kind: flows.Row.StoredKind})
	if err != nil {
		return err
	}
	unchecked := store.With(genericregistry.Strategy[*flowcontrolv1.FlowSchema]{}) // only the status changes
	now := metav1.Time{Time: store.Now().UTC()}.Rfc3339Copy()
	for _, flow := range all.Items {
		_, _, err := unchecked.Update(ctx, rest.Key{Name: flow.Key().ID}, func(current rest.Object) (rest.Object, error) {
			object := current.(*flowcontrolv1.FlowSchema)
			setDangling(object, names[object.Spec.PriorityLevelConfiguration.Name], now)
			return object, nil
		}, rest.AsServer())
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func setDangling(flow *flowcontrolv1.FlowSchema, exists bool, now metav1.Time) {
	text := fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q", flow.Spec.PriorityLevelConfiguration.Name)
	told := flowcontrolv1.FlowSchemaCondition{Type: flowcontrolv1.FlowSchemaConditionDangling, Status: flowcontrolv1.ConditionTrue, LastTransitionTime: now,
		Reason: "NotFound", Message: text + " but there is no such object"}
	if exists {
		told.Status, told.Reason, told.Message = flowcontrolv1.ConditionFalse, "Found", text+" and it exists"
	}
	conditions := &flow.Status.Conditions
	for i, before := range *conditions {
		if before.Type == told.Type {
			if before.Status == told.Status {
				told.LastTransitionTime = before.LastTransitionTime
			}
			(*conditions)[i] = told
			return
		}
	}
	*conditions = append(*conditions, told)
}

// exempt and catchAll name the mandatory objects of both kinds.
const exempt, catchAll = "exempt", "catch-all"

// isMandatory reports whether clients may not change a built-in object.
func isMandatory(name string) bool { return name == exempt || name == catchAll }

// builtInLevels returns new objects: those of kube-apiserver, the exempt one first.
func builtInLevels() []*flowcontrolv1.PriorityLevelConfiguration {
	levels := slices.Concat([]*flowcontrolv1.PriorityLevelConfiguration{bootstrap.MandatoryPriorityLevelConfigurationExempt,
		bootstrap.MandatoryPriorityLevelConfigurationCatchAll}, bootstrap.SuggestedPriorityLevelConfigurations)
	for i, level := range levels {
		levels[i] = updated(level.DeepCopy())
		defaultLevel(levels[i])
	}
	return levels
}

// builtInFlows returns new objects: those of kube-apiserver.
func builtInFlows() []*flowcontrolv1.FlowSchema {
	flows := slices.Concat(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas)
	for i, flow := range flows {
		flows[i] = updated(flow.DeepCopy())
	}
	return flows
}

// updated annotates an object that is to be restored when it has changed.
func updated[T rest.Object](object T) T {
	object.SetAnnotations(map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"})
	return object
}
