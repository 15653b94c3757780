package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/expressions"
)

// validating is the plugin ValidatingAdmissionPolicy.
type validating struct{ *common }

// Handles implements admission.Interface.
func (*validating) Handles(admission.Operation) bool { return true }

// problem is what a policy has found in a change, or why it cannot decide.
type problem struct {
	index   int // of the validation, -1 for an annotation, whose failure no action of a binding softens
	message string
	reason  metav1.StatusReason
	failed  bool // the failure policy applies
}

// Validate implements admission.ValidationInterface. All policies decide; the first problem in their order is told.
func (p *validating) Validate(ctx context.Context, a *admission.Attributes) error {
	uses, err := p.uses(a)
	if err != nil {
		return err
	}
	var denied error
	found := annotations{}
	for _, u := range uses {
		problems := []problem{{message: fmt.Sprint(u.wrong), failed: true}}
		if u.wrong == nil {
			problems = p.decide(ctx, u, a, found)
		}
		if err := inTime(ctx); err != nil {
			return err
		}
		for _, one := range problems {
			if one.failed && u.failOpen {
				continue
			}
			if u.act(a, one) && denied == nil {
				denied = u.deny(a, one)
			}
		}
	}
	found.publish(a)
	return denied
}

// decide returns what a policy has found, and notes its annotations.
func (p *validating) decide(ctx context.Context, u use, a *admission.Attributes, found annotations) []problem {
	in, _, err := p.input(ctx, u, a)
	if err != nil {
		return []problem{{message: err.Error(), failed: true}}
	}
	meets, err := in.Meets(u.conditions)
	if err != nil {
		return []problem{{message: err.Error(), failed: true}}
	}
	if !meets {
		return nil
	}
	problems, fatal := u.validate(in)
	if fatal == nil {
		var others []problem
		others, fatal = u.annotate(in, found)
		problems = append(problems, others...)
	}
	if fatal != nil {
		return []problem{{message: fatal.Error(), failed: true}}
	}
	return problems
}

// validate evaluates the validations, and the messages of those that fail. A fatal error is the only one.
func (u use) validate(in *expressions.Input) (problems []problem, fatal error) {
	budget := int64(celconfig.RuntimeCELCostBudget)
	for i := range u.validations {
		v := &u.validations[i]
		value, err := in.Evaluate(&v.expression, &budget)
		switch {
		case expressions.IsFatal(err):
			return nil, err
		case err != nil:
			problems = append(problems, problem{index: i, message: err.Error(), failed: true})
		case value != types.True:
			problems = append(problems, problem{index: i, reason: metav1.StatusReasonInvalid})
			if v.of.Reason != nil {
				problems[len(problems)-1].reason = *v.of.Reason
			}
		}
	}
	for i := range problems {
		if one := &problems[i]; !one.failed {
			v := &u.validations[one.index]
			message, err := v.evaluated(in, &budget)
			if err != nil {
				*one = problem{index: one.index, message: fmt.Sprintf("failed messageExpression: %s", err), failed: true}
				continue
			}
			one.message = message
		}
	}
	return problems, nil
}

// evaluated returns the message of a validation that has failed: that of its expression, if it is one line and not too long.
func (v *validation) evaluated(in *expressions.Input, budget *int64) (string, error) {
	message := ""
	if v.message != nil {
		value, err := in.Evaluate(v.message, budget)
		if expressions.IsFatal(err) {
			return "", err
		}
		if text, ok := value.(types.String); ok {
			message = strings.TrimSpace(string(text))
		}
		if len(message) > celconfig.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(message, "\n") {
			message = ""
		}
	}
	if message == "" {
		message = strings.TrimSpace(v.of.Message)
	}
	if message == "" {
		message = "failed expression: " + strings.TrimSpace(v.of.Expression)
	}
	return message, nil
}

// act does what a binding says about a problem, and reports whether it denies the change. What is wrong with a policy always does.
func (u use) act(a *admission.Attributes, one problem) (denies bool) {
	if u.wrong != nil || one.index < 0 {
		return true
	}
	for _, action := range u.binding.actions {
		switch action {
		case admissionregistrationv1.Deny:
			denies = true
		case admissionregistrationv1.Warn:
			a.Warn(fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", u.name, u.binding.name, one.message))
		case admissionregistrationv1.Audit:
			text, _ := json.Marshal([]failure{{one.message, u.name, u.binding.name, one.index, u.binding.actions}}) // never fails
			a.Annotate("validation.policy.admission.k8s.io/validation_failure", string(text))
		}
	}
	return denies
}

// failure is a problem as the audit has it.
type failure struct {
	Message           string                                     `json:"message"`
	Policy            string                                     `json:"policy"`
	Binding           string                                     `json:"binding"`
	ExpressionIndex   int                                        `json:"expressionIndex"`
	ValidationActions []admissionregistrationv1.ValidationAction `json:"validationActions"`
}

// deny returns the error about a problem, in the form of today's server.
func (u use) deny(a *admission.Attributes, one problem) error {
	by := ""
	if u.binding != nil {
		by = fmt.Sprintf(" with binding '%s'", u.binding.name)
	}
	message := fmt.Sprintf("ValidatingAdmissionPolicy '%s'%s denied request: %s", u.name, by, one.message)
	err := admission.Forbidden(a, errors.New(message)).(*apierrors.StatusError)
	status := &err.ErrStatus
	if status.Reason = one.reason; status.Reason == "" {
		status.Reason = metav1.StatusReasonInvalid
	}
	status.Code = codeOf(status.Reason)
	status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Message: message})
	return err
}

// codeOf returns the HTTP status of a reason that a validation may have.
func codeOf(reason metav1.StatusReason) int32 {
	switch reason {
	case metav1.StatusReasonForbidden:
		return http.StatusForbidden
	case metav1.StatusReasonUnauthorized:
		return http.StatusUnauthorized
	case metav1.StatusReasonRequestEntityTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusUnprocessableEntity
}

// maxAnnotation bounds the value of an annotation of the audit, in bytes.
const maxAnnotation = 10 << 10

// annotations are the values of each key, without repetition.
type annotations map[string][]string

// annotate evaluates the annotations of a policy. A fatal error is the only one, and nothing is noted then.
func (u use) annotate(in *expressions.Input, found annotations) (problems []problem, fatal error) {
	budget, values := int64(celconfig.RuntimeCELCostBudget), make([]ref.Val, len(u.annotations))
	for i := range u.annotations {
		var err error
		if values[i], err = in.Evaluate(&u.annotations[i].expression, &budget); expressions.IsFatal(err) {
			return nil, err
		} else if err != nil {
			problems = append(problems, problem{index: -1, message: err.Error(), failed: true})
		}
	}
	for i, value := range values {
		found.add(u.name+"/"+u.annotations[i].key, value)
	}
	return problems, nil
}

func (f annotations) add(key string, value ref.Val) {
	text, _ := value.(types.String)
	trimmed := strings.TrimSpace(string(text))
	if trimmed = trimmed[:min(len(trimmed), maxAnnotation)]; trimmed != "" && !slices.Contains(f[key], trimmed) {
		f[key] = append(f[key], trimmed)
	}
}

func (f annotations) publish(a *admission.Attributes) {
	for key, values := range f {
		a.Annotate(key, strings.Join(values, ", "))
	}
}
