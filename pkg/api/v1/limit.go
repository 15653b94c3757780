package v1

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// limited is a resource that June 2014 limits by a number: bytes, or thousandths of a CPU.
type limited struct {
	name  corev1.ResourceName
	scale resource.Scale
}

var (
	memory = limited{corev1.ResourceMemory, 0}
	cpu    = limited{corev1.ResourceCPU, resource.Milli}
)

// quantity returns a number in the form in which clients re-encode it: 64Mi, 1k, 100m.
func (l limited) quantity(number int) resource.Quantity {
	quantity := resource.NewScaledQuantity(int64(number), l.scale)
	if l == memory && number%1024 == 0 {
		quantity.Format = resource.BinarySI
	}
	return *quantity
}

// inLimit returns the limit of a resource, 0 for none.
func inLimit(limits corev1.ResourceList, of limited) int {
	return int(inQuantity(limits[of.name], of.scale))
}

// outLimit sets the limit of a resource, and leaves an equal one as it is written. A request
// equal to the old limit follows it: usually the limit was its default.
func outLimit(resources *corev1.ResourceRequirements, of limited, number int) {
	if inLimit(resources.Limits, of) == number {
		return
	}
	before, limited := resources.Limits[of.name]
	request, requested := resources.Requests[of.name]
	follows := limited && requested && request.Cmp(before) == 0
	setQuantity(&resources.Limits, of, number)
	if follows {
		setQuantity(&resources.Requests, of, number)
	}
}

func setQuantity(list *corev1.ResourceList, of limited, number int) {
	switch {
	case number == 0:
		delete(*list, of.name)
	case *list == nil:
		*list = corev1.ResourceList{of.name: of.quantity(number)}
	default:
		(*list)[of.name] = of.quantity(number)
	}
}

// inQuantity returns a quantity in units of a scale, rounded away from zero and clamped to int64.
func inQuantity(quantity resource.Quantity, scale resource.Scale) int64 {
	if quantity.Sign() < 0 {
		opposite := quantity.DeepCopy()
		opposite.Neg()
		if number, fits := scaled(opposite, scale); fits {
			return -number
		}
		return math.MinInt64
	}
	if number, fits := scaled(quantity, scale); fits {
		return number
	}
	return math.MaxInt64
}

// scaled returns the ScaledValue of a non-negative quantity, and whether it fits into an int64.
func scaled(quantity resource.Quantity, scale resource.Scale) (number int64, fits bool) {
	number = quantity.ScaledValue(scale)
	about := quantity.AsApproximateFloat64() / math.Pow10(int(scale))
	return number, about <= 1<<63 && (number > 0 || quantity.IsZero())
}
