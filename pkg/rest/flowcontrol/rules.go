package flowcontrol

import (
	"fmt"
	"math"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

var (
	specPath = field.NewPath("spec")

	verbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}
)

func flowRules(c *check.Errors, now, _ *flowcontrolv1.FlowSchema) {
	spec, at := &now.Spec, specPath.Child("matchingPrecedence")
	precedence := spec.MatchingPrecedence
	c.InvalidIf(precedence <= 0, at, precedence, "must be a positive value")
	c.InvalidIf(precedence > flowcontrolv1.FlowSchemaMaxMatchingPrecedence, at, precedence, fmt.Sprintf("must not be greater than %d", flowcontrolv1.FlowSchemaMaxMatchingPrecedence))
	c.InvalidIf(precedence == 1 && now.Name != exempt, at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
	name := specPath.Child("priorityLevelConfiguration", "name")
	c.RequiredIf(spec.PriorityLevelConfiguration.Name == "", name, "must reference a priority level")
	c.OptionalName(name, spec.PriorityLevelConfiguration.Name)
	for i, rule := range spec.Rules {
		at := specPath.Child("rules").Index(i)
		c.Some(at.Child("subjects"), len(rule.Subjects), "subjects must contain at least one value")
		for j, who := range rule.Subjects {
			subject(c, who, at.Child("subjects").Index(j))
		}
		c.Some(at, len(rule.ResourceRules)+len(rule.NonResourceRules), "at least one of resourceRules and nonResourceRules has to be non-empty")
		for j, of := range rule.ResourceRules {
			at := at.Child("resourceRules").Index(j)
			verbsOf(c, of.Verbs, at)
			c.Some(at.Child("apiGroups"), len(of.APIGroups), "resource rules must supply at least one api group")
			c.Some(at.Child("resources"), len(of.Resources), "resource rules must supply at least one resource")
			c.RequiredIf(len(of.Namespaces) == 0 && !of.ClusterScope, at.Child("namespaces"), "resource rules that are not cluster scoped must supply at least one namespace")
		}
		for j, of := range rule.NonResourceRules {
			at := at.Child("nonResourceRules").Index(j)
			verbsOf(c, of.Verbs, at)
			c.Some(at.Child("nonResourceURLs"), len(of.NonResourceURLs), "nonResourceURLs must contain at least one value")
		}
	}
	if !isMandatory(now.Name) {
		return
	}
	for _, flow := range builtInFlows() {
		same := flow.Name != now.Name || check.Same(*spec, flow.Spec)
		c.InvalidIf(!same, specPath, *spec, fmt.Sprintf("spec of '%s' must equal the fixed value", now.Name))
	}
}

// subject checks that the part of a kind is set.
func subject(c *check.Errors, who flowcontrolv1.Subject, at *field.Path) {
	kinds := []flowcontrolv1.SubjectKind{flowcontrolv1.SubjectKindGroup, flowcontrolv1.SubjectKindServiceAccount, flowcontrolv1.SubjectKindUser}
	for kind, set := range map[flowcontrolv1.SubjectKind]bool{kinds[0]: who.Group != nil, kinds[1]: who.ServiceAccount != nil, kinds[2]: who.User != nil} {
		part := strings.ToLower(string(kind[:1])) + string(kind[1:])
		c.RequiredIf(kind == who.Kind && !set, at.Child(part), fmt.Sprintf("%s is required when subject kind is '%s'", part, kind))
	}
	check.Supported(c, at.Child("kind"), who.Kind, kinds...)
}

func verbsOf(c *check.Errors, list []string, at *field.Path) {
	c.Some(at.Child("verbs"), len(list), "verbs must contain at least one value")
	if slices.ContainsFunc(list, func(verb string) bool { return verb != "*" && !slices.Contains(verbs, verb) }) {
		c.Add(field.NotSupported(at.Child("verbs"), list, verbs))
	}
}

func levelRules(c *check.Errors, now, _ *flowcontrolv1.PriorityLevelConfiguration) {
	spec, at := &now.Spec, specPath.Child("type")
	isExempt := spec.Type == flowcontrolv1.PriorityLevelEnablementExempt
	c.InvalidIf(isExempt != (now.Name == exempt), at, spec.Type, "must be 'Exempt' if and only if `name` is 'exempt'")
	check.RequireSupported(c, at, spec.Type, flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited)
	switch spec.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		c.Forbid(spec.Limited != nil, specPath.Child("limited"), "must be nil if the type is not Limited")
	case flowcontrolv1.PriorityLevelEnablementLimited:
		c.Forbid(spec.Exempt != nil, specPath.Child("exempt"), "must be nil if the type is Limited")
		if spec.Limited == nil {
			c.Add(field.Required(specPath.Child("limited"), "must not be empty when type is Limited"))
		} else {
			limit(c, spec.Limited, specPath.Child("limited"))
		}
	}
	if !isMandatory(now.Name) {
		return
	}
	for _, level := range builtInLevels() {
		if level.Name != now.Name {
			continue
		}
		detail, wanted := fmt.Sprintf("spec of '%s' must equal the fixed value", now.Name), level.Spec
		if now.Name == exempt {
			detail, wanted.Exempt = "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value", spec.Exempt
		}
		c.InvalidIf(!check.Same(*spec, wanted), specPath, *spec, detail)
	}
}

// mostEntropy is the number of bits of a hash that may be used to deal a hand of queues.
const mostEntropy = 60

func limit(c *check.Errors, limited *flowcontrolv1.LimitedPriorityLevelConfiguration, at *field.Path) {
	at = at.Child("limitResponse")
	response := &limited.LimitResponse
	check.RequireSupported(c, at.Child("type"), response.Type, flowcontrolv1.LimitResponseTypeQueue, flowcontrolv1.LimitResponseTypeReject)
	q, at := response.Queuing, at.Child("queuing")
	switch {
	case response.Type == flowcontrolv1.LimitResponseTypeReject:
		c.Forbid(q != nil, at, "must be nil if limited.limitResponse.type is not Limited")
	case response.Type == flowcontrolv1.LimitResponseTypeQueue && q == nil:
		c.Add(field.Required(at, "must not be empty if limited.limitResponse.type is Limited"))
	case response.Type == flowcontrolv1.LimitResponseTypeQueue:
		c.InvalidIf(q.QueueLengthLimit <= 0, at.Child("queueLengthLimit"), q.QueueLengthLimit, "must be positive")
		c.InvalidIf(q.Queues <= 0, at.Child("queues"), q.Queues, "must be positive")
		c.InvalidIf(q.HandSize <= 0, at.Child("handSize"), q.HandSize, "must be positive")
		c.InvalidIf(q.HandSize > q.Queues, at.Child("handSize"), q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues))
		c.InvalidIf(math.Ceil(math.Log2(float64(q.Queues))*float64(q.HandSize)) > mostEntropy, at.Child("handSize"), q.HandSize,
			fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d", q.Queues, q.HandSize, mostEntropy))
	}
}
