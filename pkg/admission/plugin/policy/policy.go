package policy

import (
	"errors"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"kube2014/pkg/admission/plugin/expressions"
	"kube2014/pkg/admission/plugin/matching"
	"kube2014/pkg/api/v1/validation/policies"
)

// expression is a compiled expression.
type expression = plugincel.CompilationResult

// policy is a compiled policy. It is immutable.
type policy struct {
	name       string
	broken     error // it cannot be compiled, or what it matches is wrong
	criteria   matching.Criteria
	failOpen   bool
	paramKind  *admissionregistrationv1.ParamKind // nil for none
	variables  *plugincel.CompositedCompiler
	conditions expressions.Conditions

	validations []validation // of a policy that checks
	annotations []annotation

	mutations []mutation // of one that changes
	ifNeeded  bool       // it changes again after later changes by others
}

type validation struct {
	expression
	message *expression // nil for none
	of      admissionregistrationv1.Validation
}

type annotation struct {
	expression
	key string
}

type mutation struct {
	expression
	isJSONPatch bool
}

// binding lets a policy decide. It is immutable.
type binding struct {
	name, policy string
	broken       error
	criteria     *matching.Criteria // nil for all that the policy matches
	params       *admissionregistrationv1.ParamRef
	actions      []admissionregistrationv1.ValidationAction
}

// newPolicy compiles a stored policy, one at a time: the compiler that they share is not safe for concurrent use. What is wrong is told when it is
// to decide.
func newPolicy(stored runtime.Object) []*policy {
	compiling.Lock()
	defer compiling.Unlock()
	switch of := stored.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		policies.DefaultValidating(of)
		p, compile := begin(of.Name, policies.Common(&of.Spec))
		for _, v := range of.Spec.Validations {
			one := validation{expression: compile(policies.Validation(v.Expression)), of: v}
			if v.MessageExpression != "" {
				one.message = new(compile(policies.Message(v.MessageExpression)))
			}
			p.validations = append(p.validations, one)
		}
		for _, a := range of.Spec.AuditAnnotations {
			p.annotations = append(p.annotations, annotation{compile(policies.AuditAnnotation(a.ValueExpression)), a.Key})
		}
		return []*policy{p.compiled()}
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		policies.DefaultMutating(of)
		p, compile := begin(of.Name, &of.Spec)
		p.ifNeeded = of.Spec.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy
		for _, m := range of.Spec.Mutations {
			switch {
			case m.JSONPatch != nil:
				p.mutations = append(p.mutations, mutation{compile(policies.JSONPatch(m.JSONPatch.Expression)), true})
			case m.ApplyConfiguration != nil:
				p.mutations = append(p.mutations, mutation{compile(policies.ApplyConfiguration(m.ApplyConfiguration.Expression)), false})
			}
		}
		return []*policy{p.compiled()}
	}
	return nil
}

var compiling sync.Mutex

// compiled returns a policy whose expressions are compiled, without the compilers, which take more memory than all else.
func (p *policy) compiled() *policy {
	if common, err := shared(); err == nil && p.variables != nil && p.variables != common {
		p.variables.Compiler, p.variables.ConditionCompiler, p.variables.MutatingCompiler = nil, nil, nil
	}
	return p
}

// begin returns what policies of both kinds have, and a function that compiles their other expressions. If a policy is broken, that does nothing.
func begin(name string, spec *admissionregistrationv1.MutatingAdmissionPolicySpec) (*policy, func(policies.Expression) expression) {
	p := &policy{name: name, paramKind: spec.ParamKind, failOpen: *spec.FailurePolicy == admissionregistrationv1.Ignore}
	if p.criteria, p.broken = newCriteria(spec.MatchConstraints); p.broken == nil {
		p.variables, p.broken = compilerFor(spec.Variables)
	}
	if p.broken != nil {
		return p, func(policies.Expression) expression { return expression{} }
	}
	hasParams := spec.ParamKind != nil
	compile := func(of policies.Expression) expression {
		return p.variables.CompileCELExpression(of, of.Variables(hasParams), environment.StoredExpressions)
	}
	for _, v := range spec.Variables {
		named := policies.Variable(v.Name, v.Expression)
		p.variables.CompileAndStoreVariable(named, named.Variables(hasParams), environment.StoredExpressions)
	}
	for _, c := range spec.MatchConditions {
		p.conditions = append(p.conditions, compile(policies.Validation(c.Expression)))
	}
	return p, compile
}

// compilerFor returns a compiler of a policy with variables. Those without share one, which saves most of their memory.
func compilerFor(variables []admissionregistrationv1.Variable) (*plugincel.CompositedCompiler, error) {
	if len(variables) == 0 {
		return shared()
	}
	return policies.NewCompiler()
}

var shared = sync.OnceValues(policies.NewCompiler)

func newCriteria(of *admissionregistrationv1.MatchResources) (c matching.Criteria, err error) {
	if of == nil {
		return c, errors.New("policy contained no match constraints, a required field")
	}
	c.Rules, c.Excluded, c.Equivalent = of.ResourceRules, of.ExcludeResourceRules, *of.MatchPolicy == admissionregistrationv1.Equivalent
	if c.Namespaces, err = metav1.LabelSelectorAsSelector(of.NamespaceSelector); err == nil {
		c.Objects, err = metav1.LabelSelectorAsSelector(of.ObjectSelector)
	}
	if len(c.Rules) == 0 { // of a binding
		c.Rules = everything
	}
	return c, err
}

// everything is the rule of a binding without rules.
var everything = []matching.Rule{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
	Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
	Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}}}}}

// newBinding returns a stored binding.
func newBinding(stored runtime.Object) []*binding {
	b, matches := &binding{}, (*admissionregistrationv1.MatchResources)(nil)
	switch of := stored.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		b.name, b.policy, b.params, b.actions, matches = of.Name, of.Spec.PolicyName, of.Spec.ParamRef, of.Spec.ValidationActions, of.Spec.MatchResources
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		b.name, b.policy, b.params, matches = of.Name, of.Spec.PolicyName, of.Spec.ParamRef, of.Spec.MatchResources
	}
	if policies.DefaultMatch(matches); matches != nil {
		criteria, err := newCriteria(matches)
		b.criteria, b.broken = &criteria, err
	}
	return []*binding{b}
}
