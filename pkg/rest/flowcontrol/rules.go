package flowcontrol

import (
	"fmt"
	"math"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
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
	if by := spec.DistinguisherMethod; by != nil {
		check.Supported(c, specPath.Child("distinguisherMethod", "type"), by.Type, flowcontrolv1.FlowDistinguisherMethodByNamespaceType, flowcontrolv1.FlowDistinguisherMethodByUserType)
	}
	name := specPath.Child("priorityLevelConfiguration", "name")
	c.RequiredIf(spec.PriorityLevelConfiguration.Name == "", name, "must reference a priority level")
	c.OptionalName(name, spec.PriorityLevelConfiguration.Name)
	for i := range spec.Rules {
		rule, at := &spec.Rules[i], specPath.Child("rules").Index(i)
		c.Some(at.Child("subjects"), len(rule.Subjects), "subjects must contain at least one value")
		for j := range rule.Subjects {
			subject(c, &rule.Subjects[j], at.Child("subjects").Index(j))
		}
		c.Some(at, len(rule.ResourceRules)+len(rule.NonResourceRules), "at least one of resourceRules and nonResourceRules has to be non-empty")
		for j := range rule.ResourceRules {
			resourceRule(c, &rule.ResourceRules[j], at.Child("resourceRules").Index(j))
		}
		for j := range rule.NonResourceRules {
			pathRule(c, &rule.NonResourceRules[j], at.Child("nonResourceRules").Index(j))
		}
	}
	for _, flow := range builtInFlows() {
		same := flow.Name != now.Name || !flow.mandatory || check.Same(*spec, flow.Spec)
		c.InvalidIf(!same, specPath, *spec, fmt.Sprintf("spec of '%s' must equal the fixed value", now.Name))
	}
}

// subject checks one who makes requests: the part of its kind is set, and no other.
func subject(c *check.Errors, s *flowcontrolv1.Subject, at *field.Path) {
	kinds := []flowcontrolv1.SubjectKind{flowcontrolv1.SubjectKindGroup, flowcontrolv1.SubjectKindServiceAccount, flowcontrolv1.SubjectKindUser}
	if !check.Supported(c, at.Child("kind"), s.Kind, kinds...) {
		return
	}
	for _, part := range []struct {
		kind flowcontrolv1.SubjectKind
		name string
		set  bool
	}{{kinds[1], "serviceAccount", s.ServiceAccount != nil}, {kinds[2], "user", s.User != nil}, {kinds[0], "group", s.Group != nil}} {
		is := part.kind == s.Kind
		c.RequiredIf(is && !part.set, at.Child(part.name), fmt.Sprintf("%s is required when subject kind is '%s'", part.name, part.kind))
		c.Forbid(!is && part.set, at.Child(part.name), fmt.Sprintf("%s is forbidden when subject kind is not '%s'", part.name, part.kind))
	}
	switch {
	case s.Kind == flowcontrolv1.SubjectKindUser && s.User != nil:
		c.Needs(at, "user.name", s.User.Name)
	case s.Kind == flowcontrolv1.SubjectKindGroup && s.Group != nil:
		c.Needs(at, "group.name", s.Group.Name)
	case s.Kind == flowcontrolv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
		name, namespace, at := s.ServiceAccount.Name, s.ServiceAccount.Namespace, at.Child("serviceAccount")
		if c.Require(at.Child("name"), name) && name != "*" {
			c.Each(at.Child("name"), name, apivalidation.ValidateServiceAccountName(name, false))
		}
		c.RequiredIf(namespace == "", at.Child("namespace"), "must specify namespace for service account")
		if namespace != "" {
			c.Each(at.Child("namespace"), namespace, apivalidation.ValidateNamespaceName(namespace, false))
		}
	}
}

// all checks a list of which "*" must be the only member, and reports whether it is.
func all(c *check.Errors, at *field.Path, list []string, others string) bool {
	star := slices.Contains(list, "*")
	c.InvalidIf(star && len(list) > 1, at, list, "if '*' is present, must not specify other "+others)
	return star
}

func verbsOf(c *check.Errors, list []string, at *field.Path) {
	c.Some(at, len(list), "verbs must contain at least one value")
	known := !slices.ContainsFunc(list, func(verb string) bool { return !slices.Contains(verbs, verb) })
	if !all(c, at, list, "verbs") && !known {
		c.Add(field.NotSupported(at, list, verbs))
	}
}

func resourceRule(c *check.Errors, rule *flowcontrolv1.ResourcePolicyRule, at *field.Path) {
	verbsOf(c, rule.Verbs, at.Child("verbs"))
	c.Some(at.Child("apiGroups"), len(rule.APIGroups), "resource rules must supply at least one api group")
	all(c, at.Child("apiGroups"), rule.APIGroups, "api groups")
	c.Some(at.Child("resources"), len(rule.Resources), "resource rules must supply at least one resource")
	all(c, at.Child("resources"), rule.Resources, "resources")
	at = at.Child("namespaces")
	c.RequiredIf(len(rule.Namespaces) == 0 && !rule.ClusterScope, at, "resource rules that are not cluster scoped must supply at least one namespace")
	if all(c, at, rule.Namespaces, "namespaces") {
		return
	}
	for i, namespace := range rule.Namespaces {
		for _, message := range apivalidation.ValidateNamespaceName(namespace, false) {
			c.Add(field.Invalid(at.Index(i), namespace, "each member of this list must be '*' or a DNS-1123 label; "+message))
		}
	}
}

func pathRule(c *check.Errors, rule *flowcontrolv1.NonResourcePolicyRule, at *field.Path) {
	verbsOf(c, rule.Verbs, at.Child("verbs"))
	at = at.Child("nonResourceURLs")
	c.Some(at, len(rule.NonResourceURLs), "nonResourceURLs must contain at least one value")
	if all(c, at, rule.NonResourceURLs, "non-resource URLs") {
		return
	}
	for i, path := range rule.NonResourceURLs {
		wrong := ""
		switch {
		case path == "":
			wrong = "must not be empty"
		case path[0] != '/':
			wrong = "must start with slash"
		case strings.Contains(path, " "):
			wrong = "must not contain white-space"
		case strings.Contains(path, "//"):
			wrong = "must not contain double slash"
		case strings.Contains(strings.TrimSuffix(path, "/*"), "*"):
			wrong = "wildcard can only do suffix matching"
		}
		c.InvalidIf(wrong != "", at.Index(i), path, wrong)
	}
}

// condition checks the type of a condition of a status. The types of those before are known.
func condition(c *check.Errors, i int, of string, known check.Unique) {
	at := field.NewPath("status", "conditions").Index(i).Child("type")
	known.Check(c, at, of)
	c.Require(at, of)
}

func levelRules(c *check.Errors, now, _ *flowcontrolv1.PriorityLevelConfiguration) {
	spec, at := &now.Spec, specPath.Child("type")
	isExempt := spec.Type == flowcontrolv1.PriorityLevelEnablementExempt
	c.InvalidIf(isExempt != (now.Name == exempt), at, spec.Type, "must be 'Exempt' if and only if `name` is 'exempt'")
	check.RequireSupported(c, at, spec.Type, flowcontrolv1.PriorityLevelEnablementExempt, flowcontrolv1.PriorityLevelEnablementLimited)
	switch spec.Type {
	case flowcontrolv1.PriorityLevelEnablementExempt:
		c.Forbid(spec.Limited != nil, specPath.Child("limited"), "must be nil if the type is not Limited")
		if free := spec.Exempt; free != nil {
			shares(c, free.NominalConcurrencyShares, free.LendablePercent, specPath.Child("exempt"))
		}
	case flowcontrolv1.PriorityLevelEnablementLimited:
		c.Forbid(spec.Exempt != nil, specPath.Child("exempt"), "must be nil if the type is Limited")
		if spec.Limited == nil {
			c.Add(field.Required(specPath.Child("limited"), "must not be empty when type is Limited"))
		} else {
			limit(c, spec.Limited, specPath.Child("limited"))
		}
	}
	for _, level := range builtInLevels() {
		if level.Name != now.Name || !level.mandatory {
			continue
		}
		detail, wanted := fmt.Sprintf("spec of '%s' must equal the fixed value", now.Name), level.Spec
		if now.Name == exempt {
			detail, wanted.Exempt = "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value", spec.Exempt
		}
		c.InvalidIf(!check.Same(*spec, wanted), specPath, *spec, detail)
	}
}

func shares(c *check.Errors, nominal, lendable *int32, at *field.Path) {
	if nominal != nil {
		c.InvalidIf(*nominal < 0, at.Child("nominalConcurrencyShares"), *nominal, "must be a non-negative integer")
	}
	if lendable != nil {
		c.InvalidIf(*lendable < 0 || *lendable > 100, at.Child("lendablePercent"), *lendable, "must be between 0 and 100, inclusive")
	}
}

const (
	mostQueues = 10_000_000
	// mostEntropy is the number of bits of a hash that may be used to deal a hand of queues.
	mostEntropy = 60
)

func limit(c *check.Errors, limited *flowcontrolv1.LimitedPriorityLevelConfiguration, at *field.Path) {
	shares(c, limited.NominalConcurrencyShares, limited.LendablePercent, at)
	if borrowed := limited.BorrowingLimitPercent; borrowed != nil {
		c.InvalidIf(*borrowed < 0, at.Child("borrowingLimitPercent"), *borrowed, "if specified, must be a non-negative integer")
	}
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
		wrong, entropy := "", math.Ceil(math.Log2(float64(q.Queues))*float64(q.HandSize))
		switch {
		case q.HandSize <= 0:
			wrong = "must be positive"
		case q.HandSize > q.Queues:
			wrong = fmt.Sprintf("should not be greater than queues (%d)", q.Queues)
		case entropy > mostEntropy:
			wrong = fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d", q.Queues, q.HandSize, mostEntropy)
		}
		c.InvalidIf(wrong != "", at.Child("handSize"), q.HandSize, wrong)
	}
}
