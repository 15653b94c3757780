package flowcontrol

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/server/flowcontrol"
)

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
