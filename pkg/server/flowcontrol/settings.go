package flowcontrol

import (
	"errors"
	"fmt"
	"math"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"kube2014/pkg/util/fairqueuing"
)

// DefaultShares are those of a level that has none of its own.
const DefaultShares = 30

// MaxEntropy is how many bits of a hash may be used to deal a hand of queues.
const MaxEntropy = 60

// Entropy returns how many bits of a hash are needed to deal a hand of queues.
func Entropy(queues, hand int32) float64 {
	return math.Ceil(math.Log2(float64(queues)) * float64(hand))
}

// settingsOf returns what a priority level asks for. The error says why it cannot be used.
func settingsOf(level *flowcontrolv1.PriorityLevelConfiguration) (fairqueuing.Settings, error) {
	exempt, limited := level.Spec.Exempt, level.Spec.Limited
	s := fairqueuing.Settings{Name: level.Name, Exempt: exempt != nil}
	switch {
	case (level.Spec.Type == flowcontrolv1.PriorityLevelEnablementExempt) != (exempt != nil), (exempt != nil) == (limited != nil):
		return s, errors.New("it must be either limited or exempt, as its type says")
	case (exempt != nil) != (level.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt):
		return s, errors.New("only the level exempt is exempt")
	case exempt != nil:
		s.Shares, s.Lendable = number(exempt.NominalConcurrencyShares, 0), number(exempt.LendablePercent, 0)
		return s, nil
	}
	s.Shares, s.Lendable = number(limited.NominalConcurrencyShares, DefaultShares), number(limited.LendablePercent, 0)
	if limited.BorrowingLimitPercent != nil {
		s.Borrowable = new(int(*limited.BorrowingLimitPercent))
	}
	if s.Shares < 0 || s.Lendable < 0 || s.Lendable > 100 || s.Borrowable != nil && *s.Borrowable < 0 {
		return s, errors.New("its shares, or what it lends and borrows, are not possible")
	}
	queuing := limited.LimitResponse.Queuing
	if (limited.LimitResponse.Type == flowcontrolv1.LimitResponseTypeQueue) != (queuing != nil) {
		return s, errors.New("it has queues if its type is Queue, and else none")
	}
	if queuing == nil {
		return s, nil
	}
	s.Queues, s.Hand, s.QueueLength = int(queuing.Queues), int(queuing.HandSize), int(queuing.QueueLengthLimit)
	if s.Hand < 1 || s.Hand > s.Queues || Entropy(queuing.Queues, queuing.HandSize) > MaxEntropy {
		return s, fmt.Errorf("a hand of %d out of %d queues is not possible", s.Hand, s.Queues)
	}
	return s, nil
}

func number(n *int32, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return int(*n)
}
