package flags

import (
	"fmt"
	"slices"
)

// Problems are errors, one for each wrong flag.
type Problems []error

// AddIf adds an error if a flag is wrong. The format begins with the flag.
func (p *Problems) AddIf(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// AddNames adds an error for each name of a list that is unknown, or listed twice.
func (p *Problems) AddNames(flag string, names, known []string, list string) {
	for i, name := range names {
		isKnown := slices.Contains(known, name)
		p.AddIf(!isKnown, "-%s: %s is not %s", flag, Shown(name), list)
		p.AddIf(isKnown && slices.Contains(names[:i], name), "-%s: %s is named twice", flag, name)
	}
}

// Needs returns the error of a flag that needs another one.
func Needs(name, other string) error { return fmt.Errorf("-%s: it needs -%s", name, other) }

// AllNeed returns such an error for each given flag.
func AllNeed(given map[string]bool, other string, names ...string) (errs Problems) {
	for _, name := range names {
		errs.AddIf(given[name], "%w", Needs(name, other))
	}
	return errs
}

// InFlag returns an error that begins with the flag, nil for none.
func InFlag(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("-%s: %w", name, err)
}
