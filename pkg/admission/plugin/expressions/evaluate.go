package expressions

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"kube2014/pkg/admission"
)

// Input is a change with the parameters and the variables of a policy. It is for one goroutine.
type Input struct {
	activation activation
	context    context.Context
	composed   plugincel.CompositionContext // nil without variables
}

// NewInput returns an input. Params are nil for none. The variables are those that a compiler has stored; they may be nil.
func NewInput(ctx context.Context, c *Change, params runtime.Object, variables *plugincel.CompositedCompiler) (*Input, error) {
	in := &Input{activation: activation{Change: c}, context: ctx}
	if params != nil {
		var err error
		if in.activation.params, err = members(params, params.GetObjectKind().GroupVersionKind()); err != nil {
			return nil, fmt.Errorf("failed to prepare params variable for evaluation: %w", err)
		}
	}
	if variables != nil {
		in.composed = variables.CreateContext(ctx)
		in.context = in.composed
	}
	in.forget()
	return in, nil
}

// forget lets variables be evaluated again.
func (in *Input) forget() {
	if in.composed != nil {
		in.activation.variables = in.composed.Variables(&in.activation)
	}
}

// SetObject replaces the object of the change.
func (in *Input) SetObject(object admission.Object) {
	in.activation.setObject(object)
	in.forget()
}

// IsFatal reports whether no further expression of the same budget can be evaluated after an error of Evaluate.
func IsFatal(err error) bool {
	return errors.Is(err, apiservercel.ErrOutOfBudget) || errors.Is(err, apiservercel.ErrInternal)
}

var errOutOfBudget = &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Cause: apiservercel.ErrOutOfBudget,
	Detail: "validation failed due to running out of cost budget, no further validation rules will be run"}

// Evaluate returns the value of a compiled expression. Its cost is taken from the budget. The error is in the words of today's server.
func (in *Input) Evaluate(expression *plugincel.CompilationResult, budget *int64) (ref.Val, error) {
	if err := expression.Error; err != nil {
		return nil, &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: fmt.Sprintf("compilation error: %v", err), Cause: err}
	}
	value, details, err := expression.Program.ContextEval(in.context, &in.activation)
	text := expression.ExpressionAccessor.GetExpression()
	if details == nil || details.ActualCost() == nil {
		return nil, &apiservercel.Error{Type: apiservercel.ErrorTypeInternal, Cause: apiservercel.ErrOutOfBudget,
			Detail: fmt.Sprintf("runtime cost could not be calculated for expression: %v, no further expression will be run", text)}
	}
	if in.composed != nil {
		*budget -= in.composed.GetAndResetCost()
	}
	if *budget -= int64(min(*details.ActualCost(), celconfig.RuntimeCELCostBudget+1)); *budget < 0 {
		return nil, errOutOfBudget
	}
	if err != nil {
		return nil, &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: fmt.Sprintf("expression '%v' resulted in error: %v", text, err)}
	}
	return value, nil
}

// Conditions are the compiled match conditions of a webhook or a policy.
type Conditions []plugincel.CompilationResult

// Meets reports whether all conditions are true. For them, the namespace is null. If one is false, the errors of the others do not count.
// The error joins those of the conditions that could not be evaluated, or is a fatal one; then the result is false.
func (in *Input) Meets(conditions Conditions) (bool, error) {
	if len(conditions) == 0 {
		return true, nil
	}
	in.activation.matches = true
	defer func() {
		in.activation.matches = false
		in.forget()
	}()
	var errs []error
	budget := int64(celconfig.RuntimeCELCostBudgetMatchConditions)
	for i := range conditions {
		value, err := in.Evaluate(&conditions[i], &budget)
		switch {
		case IsFatal(err):
			return false, err
		case err != nil:
			errs = append(errs, err)
		case value == types.False:
			return false, nil
		}
	}
	return len(errs) == 0, utilerrors.NewAggregate(errs)
}
