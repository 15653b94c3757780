// Package flowcontrol has which requests are served first. The server follows it where priority and fairness is on.
package flowcontrol

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/server/flowcontrol"
)

var group = flowcontrolv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b rest.Base) []rest.Resource {
	return slices.Concat(flows.Rows(b), levels.Rows(b))
}

// Their rules compare objects with the built-in ones, which are stored as these kinds.
var (
	flows = generic.Resource[*flowcontrolv1.FlowSchema]{
		Row:           rest.ClusterScoped(group, "FlowSchema", "flowschemas", printers.FlowSchemas),
		HasGeneration: true,
		Default: func(o *flowcontrolv1.FlowSchema) {
			o.Spec.MatchingPrecedence = cmp.Or(o.Spec.MatchingPrecedence, 1000)
		},
		Validate:   flowRules,
		StatusOnly: true,
	}

	levels = generic.Resource[*flowcontrolv1.PriorityLevelConfiguration]{
		Row:           rest.ClusterScoped(group, "PriorityLevelConfiguration", "prioritylevelconfigurations", printers.PriorityLevels),
		HasGeneration: true,
		Default:       defaultLevel,
		Validate:      levelRules,
		StatusOnly:    true,
	}
)

func defaultLevel(o *flowcontrolv1.PriorityLevelConfiguration) {
	if exempt := o.Spec.Exempt; exempt != nil {
		exempt.NominalConcurrencyShares = cmp.Or(exempt.NominalConcurrencyShares, new(int32(0)))
		exempt.LendablePercent = cmp.Or(exempt.LendablePercent, new(int32(0)))
	}
	if limited := o.Spec.Limited; limited != nil {
		limited.NominalConcurrencyShares = cmp.Or(limited.NominalConcurrencyShares, new(int32(flowcontrol.DefaultShares)))
		limited.LendablePercent = cmp.Or(limited.LendablePercent, new(int32(0)))
		if q := limited.LimitResponse.Queuing; q != nil {
			q.Queues, q.HandSize, q.QueueLengthLimit = cmp.Or(q.Queues, 64), cmp.Or(q.HandSize, 8), cmp.Or(q.QueueLengthLimit, 50)
		}
	}
}

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
			onlyStar(c, at.Child("apiGroups"), of.APIGroups, "api groups")
			onlyStar(c, at.Child("resources"), of.Resources, "resources")
			if !onlyStar(c, at.Child("namespaces"), of.Namespaces, "namespaces") {
				for k, namespace := range of.Namespaces {
					for _, why := range validation.IsDNS1123Label(namespace) {
						c.Add(field.Invalid(at.Child("namespaces").Index(k), namespace, "each member of this list must be '*' or a DNS-1123 label; "+why))
					}
				}
			}
		}
		for j, of := range rule.NonResourceRules {
			at := at.Child("nonResourceRules").Index(j)
			verbsOf(c, of.Verbs, at)
			at = at.Child("nonResourceURLs")
			c.Some(at, len(of.NonResourceURLs), "nonResourceURLs must contain at least one value")
			if !onlyStar(c, at, of.NonResourceURLs, "non-resource URLs") {
				for k, path := range of.NonResourceURLs {
					c.InvalidIf(whyNoPath(path) != "", at.Index(k), path, whyNoPath(path))
				}
			}
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
	switch {
	case who.Kind == kinds[0] && who.Group != nil:
		c.RequiredIf(who.Group.Name == "", at.Child("group", "name"), "")
	case who.Kind == kinds[2] && who.User != nil:
		c.RequiredIf(who.User.Name == "", at.Child("user", "name"), "")
	case who.Kind == kinds[1] && who.ServiceAccount != nil:
		name, namespace, at := who.ServiceAccount.Name, who.ServiceAccount.Namespace, at.Child("serviceAccount")
		c.RequiredIf(name == "", at.Child("name"), "")
		if name != "" && name != "*" {
			c.Each(at.Child("name"), name, validation.IsDNS1123Subdomain(name))
		}
		c.RequiredIf(namespace == "", at.Child("namespace"), "must specify namespace for service account")
		if namespace != "" {
			c.Each(at.Child("namespace"), namespace, validation.IsDNS1123Label(namespace))
		}
	}
}

// onlyStar reports whether a list has a star, which must be alone then. What are the others.
func onlyStar(c *check.Errors, at *field.Path, list []string, what string) bool {
	has := slices.Contains(list, "*")
	c.InvalidIf(has && len(list) > 1, at, list, "if '*' is present, must not specify other "+what)
	return has
}

func whyNoPath(path string) string {
	switch {
	case path == "":
		return "must not be empty"
	case !strings.HasPrefix(path, "/"):
		return "must start with slash"
	case strings.Contains(path, " "):
		return "must not contain white-space"
	case strings.Contains(path, "//"):
		return "must not contain double slash"
	case strings.Contains(strings.TrimSuffix(path, "/*"), "*"):
		return "wildcard can only do suffix matching"
	}
	return ""
}

func verbsOf(c *check.Errors, list []string, at *field.Path) {
	c.Some(at.Child("verbs"), len(list), "verbs must contain at least one value")
	if onlyStar(c, at.Child("verbs"), list, "verbs") {
		return
	}
	if slices.ContainsFunc(list, func(verb string) bool { return !slices.Contains(verbs, verb) }) {
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
		if spec.Exempt != nil {
			seats(c, specPath.Child("exempt"), spec.Exempt.NominalConcurrencyShares, spec.Exempt.LendablePercent, nil)
		}
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

// seats checks the shares of a level, how much of it it lends, and how much it borrows.
func seats(c *check.Errors, at *field.Path, shares, lendable, borrowable *int32) {
	c.InvalidIf(shares != nil && *shares < 0, at.Child("nominalConcurrencyShares"), shares, "must be a non-negative integer")
	c.InvalidIf(lendable != nil && (*lendable < 0 || *lendable > 100), at.Child("lendablePercent"), lendable, "must be between 0 and 100, inclusive")
	c.InvalidIf(borrowable != nil && *borrowable < 0, at.Child("borrowingLimitPercent"), borrowable, "if specified, must be a non-negative integer")
}

// mostQueues bounds the number of queues of a level.
const mostQueues = 10_000_000

func limit(c *check.Errors, limited *flowcontrolv1.LimitedPriorityLevelConfiguration, at *field.Path) {
	seats(c, at, limited.NominalConcurrencyShares, limited.LendablePercent, limited.BorrowingLimitPercent)
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
		c.InvalidIf(q.Queues > mostQueues, at.Child("queues"), q.Queues, fmt.Sprintf("must not be greater than %d", mostQueues))
		c.InvalidIf(q.HandSize <= 0, at.Child("handSize"), q.HandSize, "must be positive")
		c.InvalidIf(q.HandSize > q.Queues, at.Child("handSize"), q.HandSize, fmt.Sprintf("should not be greater than queues (%d)", q.Queues))
		c.InvalidIf(flowcontrol.Entropy(q.Queues, q.HandSize) > flowcontrol.MaxEntropy, at.Child("handSize"), q.HandSize,
			fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d", q.Queues, q.HandSize, flowcontrol.MaxEntropy))
	}
}
