package v1

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/conversion"
)

// What v1 says of a part of an object may refine what June 2014 says of it: the probes of
// a container, the list behind its command. A refinement is kept in the remainder. It
// holds as long as it means the same to June 2014 as what the internal object says; if
// the first door has changed that, the refinement is dropped.

// refinements returns those of the items that say more than June 2014 can, and those
// that mean the same as one of them, so that their order stays.
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

// refine converts items to v1: to a refinement that means the same, if there is one.
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
