package options

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd"
)

const maxPort = 65535

// maxShown is where the name of a flag that is not known is cut, in bytes.
const maxShown = 200

// portValue is the number of a port, in any base that Go reads, as in the original.
type portValue uint

func (p *portValue) String() string { return strconv.FormatUint(uint64(*p), 10) }

func (p *portValue) Set(text string) error {
	port, err := strconv.ParseUint(text, 0, 16)
	if err != nil {
		return fmt.Errorf("is not a number between 0 and %d", maxPort)
	}
	*p = portValue(port)
	return nil
}

// countValue is a number of things.
type countValue int

func (c *countValue) String() string { return strconv.Itoa(int(*c)) }

func (c *countValue) Set(text string) error {
	count, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return errors.New("is not a number")
	}
	*c = countValue(count)
	return nil
}

// boolValue is a flag that is on or off.
type boolValue bool

func (b *boolValue) String() string { return strconv.FormatBool(bool(*b)) }

func (b *boolValue) Set(text string) error {
	value, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("is neither true nor false")
	}
	*b = boolValue(value)
	return nil
}

// isBool reports whether a flag needs no value: -trace is -trace=true.
func isBool(f *flag.Flag) bool {
	_, ok := f.Value.(*boolValue)
	return ok
}

// durationValue is a time.
type durationValue time.Duration

func (d *durationValue) String() string { return time.Duration(*d).String() }

func (d *durationValue) Set(text string) error {
	value, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("is not a time like 60s or 1m30s")
	}
	*d = durationValue(value)
	return nil
}

// secondsValue is a time that may also be given as a number of seconds.
type secondsValue time.Duration

func (s *secondsValue) String() string { return time.Duration(*s).String() }

func (s *secondsValue) Set(text string) error {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		*s = secondsValue(time.Duration(seconds) * time.Second)
		return nil
	}
	return (*durationValue)(s).Set(text)
}

// shown returns a value as an error may tell it: without a password, which may have
// been split among the values beside it.
func shown(value string, beside ...string) string {
	if etcd.MayHoldPassword(value) || slices.ContainsFunc(beside, etcd.MayHoldPassword) {
		return "the value (not shown here)"
	}
	return api.Quote(value)
}

// problems are what is wrong with flags.
type problems []error

// addIf adds an error if something is wrong. The format begins with the flag.
func (p *problems) addIf(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// addNames adds an error for each name of a list that is not known, or there twice.
func (p *problems) addNames(flag string, names, known []string, list string) {
	for i, name := range names {
		isKnown := slices.Contains(known, name)
		p.addIf(!isKnown, "-%s: %s is not %s", flag, shown(name), list)
		p.addIf(isKnown && slices.Contains(names[:i], name), "-%s: %s is named twice", flag, name)
	}
}

// needs tells that a flag says nothing without another one.
func needs(name, other string) error { return fmt.Errorf("-%s: it needs -%s", name, other) }

// allNeed tells so about each flag that was given.
func allNeed(given map[string]bool, other string, names ...string) (errs problems) {
	for _, name := range names {
		errs.addIf(given[name], "%w", needs(name, other))
	}
	return errs
}

// inFlag returns an error that begins with its flag, nil for none.
func inFlag(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("-%s: %w", name, err)
}
