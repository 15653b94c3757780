package flags

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// IsReported reports whether there is an error of a flag.
func IsReported(errs []error, name string) bool {
	return slices.ContainsFunc(errs, func(err error) bool { return strings.HasPrefix(err.Error(), "-"+name+":") })
}

// Parse sets the flags. It returns the names of the known flags that are given, and all errors: that of an unknown flag
// is what a function returns, nil to ignore the flag. Unlike the package flag, it continues after an error, and accepts
// - for _ in a name.
func Parse(fs *flag.FlagSet, args []string, unknown func(spelled, name string) error) (given map[string]bool, errs Problems) {
	given = map[string]bool{}
	unknownNames := sets.New[string]()
	for len(args) > 0 {
		arg := args[0]
		spelled := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
		if len(spelled) == len(arg) || spelled == "" {
			return given, append(errs, fmt.Errorf("%s is not a flag: arguments are not taken", Shown(arg, args...)))
		}
		args = args[1:]
		spelled, value, hasValue := strings.Cut(spelled, "=")
		name := strings.ReplaceAll(spelled, "-", "_")
		known := fs.Lookup(name)
		switch {
		case name == "h", name == "help":
			return given, []error{flag.ErrHelp}
		case known == nil:
			if err := unknown(spelled, name); err != nil && !unknownNames.Has(name) {
				errs = append(errs, err)
			}
			unknownNames.Insert(name)
			if !hasValue && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				args = args[1:] // probably the value of the flag
			}
			continue
		case hasValue:
		case IsBool(known):
			value = "true"
		case len(args) == 0:
			return given, append(errs, fmt.Errorf("flag needs an argument: -%s", name))
		default:
			value, args = args[0], args[1:]
		}
		given[name] = true
		if err := known.Value.Set(value); err != nil && !IsReported(errs, name) {
			errs = append(errs, fmt.Errorf("-%s: %s %w", name, Shown(value), err))
		}
	}
	return given, errs
}
