package options

import (
	"errors"
	"flag"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd"
)

const maxPort = 65535

// maxShown is the length, in bytes, to which the name of an unknown flag is cut in an error.
const maxShown = 200

// value is a flag whose text is parsed by a function. Its error describes a valid text.
type value[T any] struct {
	at    *T
	parse func(text string) (T, error)
}

// add adds a flag with its default.
func add[T any](flags *flag.FlagSet, at *T, name string, parse func(text string) (T, error), otherwise T) {
	*at = otherwise
	flags.Var(value[T]{at, parse}, name, "")
}

func (v value[T]) String() string { return fmt.Sprint(*v.at) }

func (v value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err == nil {
		*v.at = parsed
	}
	return err
}

// isBool reports whether a flag needs no value: -trace is -trace=true.
func isBool(f *flag.Flag) bool {
	_, ok := f.Value.(value[bool])
	return ok
}

// asPort parses the number of a port in any base of Go, as the original does.
func asPort(text string) (uint, error) {
	port, err := strconv.ParseUint(text, 0, 16)
	if err != nil {
		return 0, fmt.Errorf("is not a number between 0 and %d", maxPort)
	}
	return uint(port), nil
}

func asCount(text string) (int, error) {
	count, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, errors.New("is not a number")
	}
	return int(count), nil
}

func asBool(text string) (bool, error) {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, errors.New("is neither true nor false")
	}
	return on, nil
}

func asDuration(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("is not a time like 60s or 1m30s")
	}
	return duration, nil
}

func asHTTPS(text string) (string, error) {
	if parsed, err := url.Parse(text); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return "", errors.New("is not an https URL")
	}
	return text, nil
}

// asSeconds parses a duration, or a number of seconds.
func asSeconds(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, nil
	}
	return asDuration(text)
}

// shown returns a value for an error, but not a password, which may be split among the values beside
// it.
func shown(value string, beside ...string) string {
	if etcd.MayHoldPassword(value) || slices.ContainsFunc(beside, etcd.MayHoldPassword) {
		return "the value (not shown here)"
	}
	return api.Quote(value)
}

type problems []error

// addIf adds an error if a flag is wrong. The format begins with the flag.
func (p *problems) addIf(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// addNames adds an error for each name of a list that is unknown, or listed twice.
func (p *problems) addNames(flag string, names, known []string, list string) {
	for i, name := range names {
		isKnown := slices.Contains(known, name)
		p.addIf(!isKnown, "-%s: %s is not %s", flag, shown(name), list)
		p.addIf(isKnown && slices.Contains(names[:i], name), "-%s: %s is named twice", flag, name)
	}
}

// needs returns the error of a flag that needs another one.
func needs(name, other string) error { return fmt.Errorf("-%s: it needs -%s", name, other) }

// allNeed returns such an error for each given flag.
func allNeed(given map[string]bool, other string, names ...string) (errs problems) {
	for _, name := range names {
		errs.addIf(given[name], "%w", needs(name, other))
	}
	return errs
}

// inFlag returns an error that begins with the flag, nil for none.
func inFlag(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("-%s: %w", name, err)
}
