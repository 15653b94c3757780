package aggregation

import (
	"slices"
	"strings"

	"kube2014/compare/today"
)

// Known has what is answered here otherwise than on the recorded server, on purpose.
var Known []today.Edit

// KnownIn returns those of a chapter, which the names of steps begin with, and those of all.
func KnownIn(c Chapter) []today.Edit {
	return slices.DeleteFunc(slices.Clone(Known), func(e today.Edit) bool { return e.Step != "" && !strings.HasPrefix(e.Step, c.Name+" ") })
}
