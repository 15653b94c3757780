package v1

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/api/conversion"
)

// A part of a v1 object may refine the internal part to which it is converted: with the
// probes of a container, or the list form of its command. The remainder stores refinements.
// A refinement applies as long as it still converts to the internal part; if the first
// door has changed that part, the refinement is dropped.

// refinements returns the items that June 2014 cannot fully express, and those that convert
// to the same part as one of them, so that their order is preserved.
func refinements[V any, In comparable](items []V, in func(V) In, out func(In) V) (refined []V) {
	isRefined := map[In]bool{}
	for _, item := range items {
		if meaning := in(item); !isRefined[meaning] {
			isRefined[meaning] = !equality.Semantic.DeepEqual(out(meaning), item)
		}
	}
	for _, item := range items {
		if isRefined[in(item)] {
			refined = append(refined, item)
		}
	}
	return refined
}

// refine converts items to v1. It prefers a refinement that converts back to the item.
func refine[V any, In comparable](items []In, refined []V, in func(V) In, out func(In) V) []V {
	byMeaning := map[In][]V{}
	for _, one := range refined {
		byMeaning[in(one)] = append(byMeaning[in(one)], one)
	}
	return conversion.Each(items, func(item In) V {
		if same := byMeaning[item]; len(same) > 0 {
			byMeaning[item] = same[1:]
			return same[0]
		}
		return out(item)
	})
}
