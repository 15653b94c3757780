package policies

import (
	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/webhooks"
)

// Expression is one of a policy.
type Expression struct {
	Text  string
	Types []*cel.Type                            // of its value
	Knows plugincel.OptionalVariableDeclarations // beside the objects, the request and, if the policy has a kind of them, the parameters
}

// Named is the expression of a variable, which the later ones of the policy know.
type Named struct {
	Name string
	Expression
}

var (
	_ plugincel.ExpressionAccessor      = Expression{}
	_ plugincel.NamedExpressionAccessor = Named{}

	patching = plugincel.OptionalVariableDeclarations{HasAuthorizer: true, HasPatchTypes: true}
)

// GetExpression implements plugincel.ExpressionAccessor.
func (e Expression) GetExpression() string { return e.Text }

// ReturnTypes implements plugincel.ExpressionAccessor.
func (e Expression) ReturnTypes() []*cel.Type { return e.Types }

// GetName implements plugincel.NamedExpressionAccessor.
func (n Named) GetName() string { return n.Name }

// The expressions of policies by their texts.
var (
	Validation         = returning(webhooks.Variables, cel.BoolType)                         // whether a request is valid
	Message            = returning(plugincel.OptionalVariableDeclarations{}, cel.StringType) // about a request that is not valid
	AuditAnnotation    = returning(webhooks.Variables, cel.StringType, cel.NullType)         // the value of an annotation; null for none
	ApplyConfiguration = returning(patching, cel.ObjectType("Object"))                       // fields that a request gets
	JSONPatch          = returning(patching, cel.ListType(cel.ObjectType("JSONPatch")))      // operations that change a request
)

func returning(knows plugincel.OptionalVariableDeclarations, types ...*cel.Type) func(text string) Expression {
	return func(text string) Expression { return Expression{text, types, knows} }
}

// Variable returns the expression of a variable.
func Variable(name, text string) Named {
	return Named{name, Expression{text, []*cel.Type{cel.AnyType, cel.DynType}, webhooks.Variables}}
}

// Variables returns those that an expression knows in a policy that has a kind of parameters, or has none.
func (e Expression) Variables(hasParams bool) plugincel.OptionalVariableDeclarations {
	knows := e.Knows
	knows.HasParams = hasParams
	return knows
}

// NewCompiler returns a compiler for one policy, whose variables it keeps. Making it takes milliseconds.
func NewCompiler() (*plugincel.CompositedCompiler, error) {
	return plugincel.NewCompositedCompiler(webhooks.Environment())
}

// expressions checks those of one policy.
type expressions struct {
	*check.Errors
	compiler  plugincel.Compiler
	hasParams bool
	mode      environment.Type
}

// check compiles an expression. Its error shows it as the client has sent it.
func (e *expressions) check(at *field.Path, sent string, expression Expression) {
	compiled := e.compiler.CompileCELExpression(expression, expression.Variables(e.hasParams), e.mode)
	webhooks.CheckCompiled(e.Errors, at, sent, compiled)
}

// keep compiles a variable, which the later expressions know even if it is wrong.
func (e *expressions) keep(at *field.Path, variable Named) {
	compiled := e.compiler.(*plugincel.CompositedCompiler).CompileAndStoreVariable(variable, variable.Variables(e.hasParams), e.mode)
	webhooks.CheckCompiled(e.Errors, at, variable.Text, compiled)
}
