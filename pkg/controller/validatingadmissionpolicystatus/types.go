package validatingadmissionpolicystatus

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// maxTypes bounds the types of one rule that the expressions of a policy are checked with.
const maxTypes = 10

// check returns the warnings of today's server about the expressions of a policy. A kind whose type is unknown is passed over; parameters of an
// unknown type are of any type. The error is that of the server.
func (c *StatusController) check(ctx context.Context, policy *admissionregistrationv1.ValidatingAdmissionPolicy) (warnings []admissionregistrationv1.ExpressionWarning, err error) {
	s := schemas{client: c.Client, documents: map[schema.GroupVersion]components{}}
	var params *apiservercel.DeclType
	if kind := policy.Spec.ParamKind; kind != nil {
		if params, err = s.typeOf(ctx, schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)); err != nil {
			return nil, err
		}
	}
	var checkers []*checker
	for _, kind := range c.kinds(policy.Spec.MatchConstraints) {
		object, err := s.typeOf(ctx, kind)
		if err != nil {
			return nil, err
		} else if object == nil {
			continue
		}
		checker, err := newChecker(kind, object, params, policy)
		if err != nil {
			log.Printf("the types of %v cannot be checked: %v", kind, err)
			continue
		}
		checkers = append(checkers, checker)
	}
	warn := func(at *field.Path, expression string) {
		var texts []string
		for _, checker := range checkers {
			if wrong := checker.check(expression); wrong != "" {
				texts = append(texts, fmt.Sprintf("%v: %s\n", checker.kind, wrong))
			}
		}
		if len(texts) > 0 {
			warnings = append(warnings, admissionregistrationv1.ExpressionWarning{FieldRef: at.String(), Warning: strings.Join(texts, "\n")})
		}
	}
	for i, validation := range policy.Spec.Validations {
		at := field.NewPath("spec", "validations").Index(i)
		warn(at.Child("expression"), validation.Expression)
		if validation.MessageExpression != "" {
			warn(at.Child("messageExpression"), validation.MessageExpression)
		}
	}
	return warnings, nil
}

// kinds returns the first kinds that each rule of a policy names, sorted. A wildcard or a subresource names none.
func (c *StatusController) kinds(of *admissionregistrationv1.MatchResources) (kinds []schema.GroupVersionKind) {
	if of == nil {
		return nil
	}
	for _, rule := range of.ResourceRules {
		if slices.ContainsFunc(slices.Concat(rule.APIGroups, rule.APIVersions), func(name string) bool { return strings.Contains(name, "*") }) {
			continue
		}
		var own []schema.GroupVersionKind
		for _, resource := range c.Resources() {
			kind := schema.GroupVersionKind{Group: resource.Group, Version: resource.Version, Kind: resource.Kind}
			if slices.Contains(rule.APIGroups, kind.Group) && slices.Contains(rule.APIVersions, kind.Version) && slices.Contains(rule.Resources, resource.Name) &&
				!strings.Contains(resource.Name, "/") {
				own = append(own, kind)
			}
		}
		slices.SortFunc(own, compareKinds)
		kinds = append(kinds, own[:min(len(own), maxTypes)]...)
	}
	slices.SortFunc(kinds, compareKinds)
	return slices.Compact(kinds)
}

func compareKinds(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) }

// checker checks expressions about objects of one kind. It is for one goroutine.
type checker struct {
	kind      schema.GroupVersionKind
	compiler  *plugincel.CompositedCompiler
	hasParams bool
}

func newChecker(kind schema.GroupVersionKind, object, params *apiservercel.DeclType, policy *admissionregistrationv1.ValidatingAdmissionPolicy) (*checker, error) {
	c := &checker{kind: kind, hasParams: policy.Spec.ParamKind != nil}
	request, namespace := plugincel.BuildRequestType(), plugincel.BuildNamespaceType()
	types := []*apiservercel.DeclType{namespace, request, object}
	variables := []cel.EnvOption{cel.Variable(plugincel.NamespaceVarName, namespace.CelType()), cel.Variable(plugincel.RequestVarName, request.CelType()),
		cel.Variable(plugincel.ObjectVarName, object.CelType()), cel.Variable(plugincel.OldObjectVarName, object.CelType()),
		cel.Variable(plugincel.AuthorizerVarName, library.AuthorizerType)}
	switch {
	case params != nil:
		types, variables = append(types, params), append(variables, cel.Variable(plugincel.ParamsVarName, params.CelType()))
	case c.hasParams:
		variables = append(variables, cel.Variable(plugincel.ParamsVarName, cel.DynType))
	}
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(
		environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: variables, DeclTypes: types})
	if err != nil {
		return nil, err
	}
	if c.compiler, err = plugincel.NewCompositedCompilerForTypeChecking(set); err != nil {
		return nil, err
	}
	c.compiler.Compiler = compiler{c.compiler}
	for _, variable := range policy.Spec.Variables {
		c.compiler.CompileAndStoreVariable(named{variable.Name, expression(variable.Expression)}, plugincel.OptionalVariableDeclarations{}, environment.StoredExpressions)
	}
	return c, nil
}

// check returns what is wrong with an expression, "" if nothing is.
func (c *checker) check(text string) string {
	if err := c.compiler.CompileCELExpression(expression(text), plugincel.OptionalVariableDeclarations{}, environment.StoredExpressions).Error; err != nil {
		return err.Error()
	}
	return ""
}

// expression is one of any type.
type expression string

// GetExpression implements plugincel.ExpressionAccessor.
func (e expression) GetExpression() string { return string(e) }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (expression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType} }

// named is the expression of a variable.
type named struct {
	name string
	expression
}

// GetName implements plugincel.NamedExpressionAccessor.
func (n named) GetName() string { return n.name }

// compiler only checks types, in the environment of a checker.
type compiler struct{ of *plugincel.CompositedCompiler }

// CompileCELExpression implements plugincel.Compiler.
func (c compiler) CompileCELExpression(expression plugincel.ExpressionAccessor, _ plugincel.OptionalVariableDeclarations, mode environment.Type) plugincel.CompilationResult {
	wrong := func(of apiservercel.ErrorType, why string) plugincel.CompilationResult {
		return plugincel.CompilationResult{Error: &apiservercel.Error{Type: of, Detail: why}, ExpressionAccessor: expression}
	}
	env, err := c.of.Env(mode)
	if err != nil {
		return wrong(apiservercel.ErrorTypeInternal, err.Error())
	}
	checked, issues := env.Compile(expression.GetExpression())
	if issues != nil {
		return wrong(apiservercel.ErrorTypeInvalid, issues.String())
	}
	return plugincel.CompilationResult{OutputType: checked.OutputType()}
}
