// Package policies has the defaults and the rules of the policies of admission and of their bindings, and the expressions of policies.
package policies

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/util/jsonpath"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/webhooks"
)

const (
	maxAnnotations     = 20
	maxValueExpression = 5 << 10

	// Compiled, an expression takes 50 KB and more. Today's server has no bound.
	maxExpressions = 256
	maxText        = 100_000 // of all expressions of a policy, in bytes
)

// DefaultValidating sets the missing fields of a policy.
func DefaultValidating(p *admissionregistrationv1.ValidatingAdmissionPolicy) {
	p.Spec.FailurePolicy = cmp.Or(p.Spec.FailurePolicy, new(admissionregistrationv1.Fail))
	DefaultMatch(p.Spec.MatchConstraints)
}

// DefaultMutating sets the missing fields of a policy.
func DefaultMutating(p *admissionregistrationv1.MutatingAdmissionPolicy) {
	p.Spec.FailurePolicy = cmp.Or(p.Spec.FailurePolicy, new(admissionregistrationv1.Fail))
	DefaultMatch(p.Spec.MatchConstraints)
}

// DefaultMatch sets the missing fields of the requests of a policy or of a binding. They may be nil.
func DefaultMatch(m *admissionregistrationv1.MatchResources) {
	if m == nil {
		return
	}
	m.MatchPolicy = cmp.Or(m.MatchPolicy, new(admissionregistrationv1.Equivalent))
	m.NamespaceSelector = cmp.Or(m.NamespaceSelector, &metav1.LabelSelector{})
	m.ObjectSelector = cmp.Or(m.ObjectSelector, &metav1.LabelSelector{})
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			rules[i].Scope = cmp.Or(rules[i].Scope, new(admissionregistrationv1.AllScopes))
		}
	}
}

// CheckValidating checks a policy that has its defaults. Old is nil for a new one.
func CheckValidating(c *check.Errors, now, old *admissionregistrationv1.ValidatingAdmissionPolicy) {
	at, spec := field.NewPath("spec"), &now.Spec
	var before *admissionregistrationv1.MutatingAdmissionPolicySpec
	if old != nil {
		before = Common(&old.Spec)
	}
	var texts []string
	for _, v := range spec.Validations {
		texts = append(texts, v.Expression, v.MessageExpression)
	}
	for _, a := range spec.AuditAnnotations {
		texts = append(texts, a.ValueExpression)
	}
	if !checkSize(c, Common(spec), texts) {
		return
	}
	e := checkCommon(c, Common(spec), before, len(spec.Variables) > 0, nil)
	if len(spec.Validations)+len(spec.AuditAnnotations) == 0 {
		const needed = "validations or auditAnnotations must contain at least one item"
		c.Add(field.Required(at.Child("validations"), needed), field.Required(at.Child("auditAnnotations"), needed))
	}
	for i := range spec.Validations {
		e.checkValidation(at.Child("validations").Index(i), &spec.Validations[i])
	}
	annotations, keys := at.Child("auditAnnotations"), check.Unique{}
	c.InvalidIf(len(spec.AuditAnnotations) > maxAnnotations, annotations, spec.AuditAnnotations, fmt.Sprintf("must not have more than %d auditAnnotations", maxAnnotations))
	for i, a := range spec.AuditAnnotations {
		e.checkAnnotation(annotations.Index(i), now.Name, a)
		keys.Check(c, annotations.Index(i).Child("key"), a.Key)
	}
}

// mutable are the operations of requests that a policy can change.
var mutable = []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create, admissionregistrationv1.Update}

// CheckMutating checks a policy that has its defaults. Old is nil for a new one.
func CheckMutating(c *check.Errors, now, old *admissionregistrationv1.MutatingAdmissionPolicy) {
	at, spec := field.NewPath("spec"), &now.Spec
	var before *admissionregistrationv1.MutatingAdmissionPolicySpec
	if old != nil {
		before = &old.Spec
	}
	var texts []string
	for i := range spec.Mutations {
		patch, configuration := expressionsOf(&spec.Mutations[i])
		texts = append(texts, *cmp.Or(patch, new("")), *cmp.Or(configuration, new("")))
	}
	if !checkSize(c, spec, texts) {
		return
	}
	e := checkCommon(c, spec, before, true, mutable)
	c.Some(at.Child("mutations"), len(spec.Mutations), "mutations must contain at least one item")
	for i := range spec.Mutations {
		e.checkMutation(at.Child("mutations").Index(i), &spec.Mutations[i])
	}
	check.RequireSupported(c, at.Child("reinvocationPolicy"), spec.ReinvocationPolicy, admissionregistrationv1.IfNeededReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
}

// checkSize reports whether a policy is small enough to be compiled: its texts and what policies of both kinds have.
func checkSize(c *check.Errors, spec *admissionregistrationv1.MutatingAdmissionPolicySpec, texts []string) bool {
	for _, v := range spec.Variables {
		texts = append(texts, v.Expression)
	}
	for _, condition := range spec.MatchConditions {
		texts = append(texts, condition.Expression)
	}
	number, size := 0, 0
	for _, text := range texts {
		if size += len(text); text != "" {
			number++
		}
	}
	if number > maxExpressions {
		c.Add(field.Forbidden(field.NewPath("spec"), fmt.Sprintf("must not have more than %d expressions", maxExpressions)))
	}
	if size > maxText {
		c.Add(field.Forbidden(field.NewPath("spec"), fmt.Sprintf("must not have expressions of more than %d bytes together", maxText)))
	}
	return number <= maxExpressions && size <= maxText
}

// Common returns what policies of both kinds have. It shares everything that pointers and slices lead to.
func Common(s *admissionregistrationv1.ValidatingAdmissionPolicySpec) *admissionregistrationv1.MutatingAdmissionPolicySpec {
	return &admissionregistrationv1.MutatingAdmissionPolicySpec{FailurePolicy: s.FailurePolicy, ParamKind: s.ParamKind, MatchConstraints: s.MatchConstraints,
		MatchConditions: s.MatchConditions, Variables: s.Variables}
}

// checkCommon checks what policies of both kinds have, and returns the check of the other expressions, which may know variables if
// they are composed. All expressions of an update may use what only stored ones may; today's server lets only those that the
// policy had before. In 1.36 both know the same.
func checkCommon(c *check.Errors, now, old *admissionregistrationv1.MutatingAdmissionPolicySpec, composed bool, operations []admissionregistrationv1.OperationType) *expressions {
	at, e := field.NewPath("spec"), &expressions{Errors: c, compiler: webhooks.Compiler(), hasParams: now.ParamKind != nil, mode: environment.NewExpressions}
	if old != nil {
		e.mode = environment.StoredExpressions
	}
	check.IfSupported(c, at.Child("failurePolicy"), now.FailurePolicy, admissionregistrationv1.Fail, admissionregistrationv1.Ignore)
	checkKind(c, at.Child("paramKind"), now.ParamKind)
	if match := now.MatchConstraints; match == nil {
		c.Add(field.Required(at.Child("matchConstraints"), ""))
	} else {
		checkMatch(c, at.Child("matchConstraints"), match, operations)
		c.Some(at.Child("matchConstraints", "resourceRules"), len(match.ResourceRules), "")
	}
	if old == nil || !check.Same(now.ParamKind, old.ParamKind) || !check.Same(now.MatchConditions, old.MatchConditions) {
		webhooks.CheckConditions(c, at.Child("matchConditions"), now.MatchConditions, func(expression string) plugincel.CompilationResult {
			knows := webhooks.Variables
			knows.HasParams = e.hasParams
			return webhooks.Compiler().CompileCELExpression(&matchconditions.MatchCondition{Expression: expression}, knows, e.mode)
		})
	}
	if composed {
		compiler, err := NewCompiler()
		if err != nil {
			c.Add(field.InternalError(at, err))
			return e
		}
		e.compiler = compiler
	}
	for i, v := range now.Variables {
		e.checkVariable(at.Child("variables").Index(i), v)
	}
	return e
}

func checkKind(c *check.Errors, at *field.Path, kind *admissionregistrationv1.ParamKind) {
	if kind == nil {
		return
	}
	if version := at.Child("apiVersion"); c.Require(version, kind.APIVersion) {
		checkVersion(c, version, kind.APIVersion)
	}
	if at := at.Child("kind"); c.Require(at, kind.Kind) {
		if wrong := utilvalidation.IsDNS1035Label(strings.ToLower(kind.Kind)); len(wrong) > 0 {
			c.Add(field.Invalid(at, kind.Kind, "may have mixed case, but should otherwise match: "+strings.Join(wrong, ",")))
		}
	}
}

func checkVersion(c *check.Errors, at *field.Path, text string) {
	version, err := schema.ParseGroupVersion(text)
	if err != nil {
		c.Add(field.Invalid(at, text, err.Error()))
		return
	}
	if wrong := utilvalidation.IsDNS1123Subdomain(version.Group); version.Group != "" && len(wrong) > 0 {
		c.Add(field.Invalid(at, version.Group, strings.Join(wrong, ",")))
	}
	if version.Version == "" {
		c.Add(field.Invalid(at, text, "version must be specified"))
	} else if wrong := utilvalidation.IsDNS1035Label(version.Version); len(wrong) > 0 {
		c.Add(field.Invalid(at, version.Version, strings.Join(wrong, ",")))
	}
}

// checkMatch checks requests, of which there may be only some operations, or all if there are none.
func checkMatch(c *check.Errors, at *field.Path, m *admissionregistrationv1.MatchResources, operations []admissionregistrationv1.OperationType) {
	check.IfSupported(c, at.Child("matchPolicy"), m.MatchPolicy, admissionregistrationv1.Equivalent, admissionregistrationv1.Exact)
	c.Selector(at.Child("namespaceSelector"), m.NamespaceSelector)
	c.Selector(at.Child("objectSelector"), m.ObjectSelector)
	checkRules(c, at.Child("resourceRules"), m.ResourceRules)
	checkRules(c, at.Child("excludeResourceRules"), m.ExcludeResourceRules)
	for i := range m.ResourceRules {
		for _, operation := range m.ResourceRules[i].Operations {
			if operations != nil { // as in today's server, the path has no index
				check.Supported(c, at.Child("resourceRules", "operations"), operation, operations...)
			}
		}
	}
}

func checkRules(c *check.Errors, at *field.Path, rules []admissionregistrationv1.NamedRuleWithOperations) {
	for i := range rules {
		rule, at, names := &rules[i], at.Index(i), check.Unique{}
		for i, name := range rule.ResourceNames {
			at := at.Child("resourceNames").Index(i)
			c.Each(at, name, content.IsPathSegmentName(name))
			names.Check(c, at, name)
		}
		webhooks.CheckRule(c, at, &rule.RuleWithOperations)
	}
}

var identifier = regexp.MustCompile("^[_a-zA-Z][_a-zA-Z0-9]*$")

func (e *expressions) checkVariable(at *field.Path, v admissionregistrationv1.Variable) {
	isNamed := e.given(at.Child("name"), v.Name, "name is not specified")
	escaped, _ := apiservercel.Escape(v.Name) // a reserved word is escaped like this
	e.InvalidIf(isNamed && (!identifier.MatchString(v.Name) || escaped == "__"+v.Name+"__"), at.Child("name"), v.Name, "must be a valid CEL identifier")
	if e.given(at.Child("expression"), v.Expression, "expression is not specified") {
		e.keep(at.Child("expression"), Variable(v.Name, v.Expression))
	}
}

// given requires a text with more than spaces, and reports whether it is one.
func (e *expressions) given(at *field.Path, text, detail string) bool {
	is := strings.TrimSpace(text) != ""
	e.RequiredIf(!is, at, detail)
	return is
}

func (e *expressions) checkValidation(at *field.Path, v *admissionregistrationv1.Validation) {
	if e.given(at.Child("expression"), v.Expression, "expression is not specified") {
		e.check(at.Child("expression"), v.Expression, Validation(v.Expression))
	}
	if e.givenIfSet(at.Child("messageExpression"), v.MessageExpression) {
		e.check(at.Child("messageExpression"), v.MessageExpression, Message(v.MessageExpression))
	}
	if e.givenIfSet(at.Child("message"), v.Message) {
		e.InvalidIf(strings.ContainsAny(strings.TrimSpace(v.Message), "\n\r"), at.Child("message"), v.Message, "must not contain line breaks")
	}
	check.IfSupported(e.Errors, at.Child("reason"), v.Reason, metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge)
}

// givenIfSet refuses spaces, and reports whether a text is set.
func (e *expressions) givenIfSet(at *field.Path, text string) bool {
	is := strings.TrimSpace(text) != ""
	e.InvalidIf(text != "" && !is, at, text, "must be non-empty if specified")
	return is
}

func (e *expressions) checkAnnotation(at *field.Path, policy string, a admissionregistrationv1.AuditAnnotation) {
	if policy != "" {
		e.Qualified(at.Child("key"), policy+"/"+a.Key)
	} else {
		e.Add(field.Invalid(at.Child("key"), a.Key, "requires metadata.name be non-empty"))
	}
	at, expression := at.Child("valueExpression"), strings.TrimSpace(a.ValueExpression)
	switch {
	case expression == "":
		e.Add(field.Required(at, "valueExpression is not specified"))
	case len(expression) > maxValueExpression:
		e.Add(field.Required(at, fmt.Sprintf("must not exceed %d bytes in length", maxValueExpression)))
	default:
		e.check(at, a.ValueExpression, AuditAnnotation(expression))
	}
}

// expressionsOf returns the expressions of a mutation, of which one should be nil.
func expressionsOf(m *admissionregistrationv1.Mutation) (patch, configuration *string) {
	if m.JSONPatch != nil {
		patch = &m.JSONPatch.Expression
	}
	if m.ApplyConfiguration != nil {
		configuration = &m.ApplyConfiguration.Expression
	}
	return patch, configuration
}

func (e *expressions) checkMutation(at *field.Path, m *admissionregistrationv1.Mutation) {
	patch, configuration := expressionsOf(m)
	switch check.RequireSupported(e.Errors, at.Child("patchType"), m.PatchType, admissionregistrationv1.PatchTypeApplyConfiguration, admissionregistrationv1.PatchTypeJSONPatch); m.PatchType {
	case admissionregistrationv1.PatchTypeJSONPatch:
		e.checkPatch(at, m.PatchType, "jsonPatch", patch, JSONPatch, "applyConfiguration", configuration)
	case admissionregistrationv1.PatchTypeApplyConfiguration:
		e.checkPatch(at, m.PatchType, "applyConfiguration", configuration, ApplyConfiguration, "jsonPatch", patch)
	}
}

// checkPatch checks the expression of a type of patches, and that there is none of the other type.
func (e *expressions) checkPatch(at *field.Path, of admissionregistrationv1.PatchType, name string, text *string, make func(text string) Expression, otherName string, other *string) {
	if text == nil {
		e.Add(field.Required(at.Child(name), "must be specified when patchType is "+string(of)))
	} else if expression := strings.TrimSpace(*text); e.Require(at.Child(name, "expression"), expression) {
		e.check(at.Child(name, "expression"), expression, make(expression))
	}
	e.InvalidIf(other != nil, at.Child(otherName), "{"+otherName+"}", "must not be specified when patchType is "+string(of))
}

// CheckValidatingBinding checks a binding that has its defaults.
func CheckValidatingBinding(c *check.Errors, b, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	checkBinding(c, b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources, nil)
	at, once, actions := field.NewPath("spec", "validationActions"), check.Unique{}, b.Spec.ValidationActions
	for i, action := range actions {
		check.Supported(c, at.Index(i), action, admissionregistrationv1.Audit, admissionregistrationv1.Deny, admissionregistrationv1.Warn)
		once.Check(c, at.Index(i), string(action))
	}
	c.InvalidIf(once[string(admissionregistrationv1.Deny)] && once[string(admissionregistrationv1.Warn)], at, actions,
		"must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)")
	c.Some(at, len(actions), "at least one validation action is required")
}

// CheckMutatingBinding checks a binding that has its defaults.
func CheckMutatingBinding(c *check.Errors, b, _ *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	checkBinding(c, b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources, mutable)
}

func checkBinding(c *check.Errors, policy string, ref *admissionregistrationv1.ParamRef, match *admissionregistrationv1.MatchResources, operations []admissionregistrationv1.OperationType) {
	at := field.NewPath("spec")
	c.RequireBy(at.Child("policyName"), policy, c.Name)
	if ref != nil {
		checkRef(c, at.Child("paramRef"), ref)
	}
	if match != nil {
		checkMatch(c, at.Child("matchResources"), match, operations)
	}
}

func checkRef(c *check.Errors, at *field.Path, ref *admissionregistrationv1.ParamRef) {
	isNamed, isSelected := ref.Name != "", ref.Selector != nil
	const exclusive = "name and selector are mutually exclusive"
	if isNamed {
		c.Each(at.Child("name"), ref.Name, content.IsPathSegmentName(ref.Name))
	}
	c.Forbid(isNamed && isSelected, at.Child("name"), exclusive)
	c.Selector(at.Child("selector"), ref.Selector)
	c.Forbid(isNamed && isSelected, at.Child("selector"), exclusive)
	c.RequiredIf(!isNamed && !isSelected, at, "one of name or selector must be specified")
	action := *cmp.Or(ref.ParameterNotFoundAction, new(admissionregistrationv1.ParameterNotFoundActionType("")))
	check.RequireSupported(c, at.Child("parameterNotFoundAction"), action, admissionregistrationv1.DenyAction, admissionregistrationv1.AllowAction)
}

// CheckStatus checks the status of a policy.
func CheckStatus(c *check.Errors, p, _ *admissionregistrationv1.ValidatingAdmissionPolicy) {
	at := field.NewPath("status")
	if checked := p.Status.TypeChecking; checked != nil {
		for i, warning := range checked.ExpressionWarnings {
			at := at.Child("typeChecking", "expressionWarnings").Index(i)
			c.Require(at.Child("warning"), warning.Warning)
			if ref := strings.TrimSpace(warning.FieldRef); c.Require(at.Child("fieldRef"), ref) {
				err := jsonpath.New("spec").Parse("{" + ref + "}")
				c.InvalidIf(err != nil, at.Child("fieldRef"), ref, fmt.Sprintf("invalid JSONPath: %v", err))
			}
		}
	}
	c.Add(metavalidation.ValidateConditions(p.Status.Conditions, at.Child("conditions"))...)
}
