package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/etcd"
)

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

// valueInWords keeps the error of a flag's value for parseFlags to tell: the flag
// package would tell it in its own words, with a value that may hold a password.
type valueInWords struct {
	flag.Value
	err error
}

// IsBoolFlag lets the flag package take -trace for -trace=true.
func (v *valueInWords) IsBoolFlag() bool {
	_, ok := v.Value.(*boolValue)
	return ok
}

func (v *valueInWords) Set(text string) error {
	if err := v.Value.Set(text); err != nil && v.err == nil {
		v.err = fmt.Errorf("%s %w", shown(text), err)
	}
	return nil
}

// badValue returns the error of the first flag whose value is bad, by name.
func badValue(flags *flag.FlagSet) (err error) {
	flags.Visit(func(f *flag.Flag) {
		if value, ok := f.Value.(*valueInWords); ok && value.err != nil && err == nil {
			err = fmt.Errorf("-%s: %w", f.Name, value.err)
		}
	})
	return err
}

// shown returns a value as an error may tell it: without a password, which may have
// been split among the values beside it.
func shown(value string, beside ...string) string {
	if etcd.MayHoldPassword(value) || slices.ContainsFunc(beside, etcd.MayHoldPassword) {
		return "the value (not shown here)"
	}
	return api.Quote(value)
}

// runtimeConfig is which versions of the API are turned off.
type runtimeConfig struct{ off map[string]bool }

// serves reports whether a version is served.
func (c *runtimeConfig) serves(version string) bool { return !c.off["api/"+version] }

func (c *runtimeConfig) String() string { return strings.Join(slices.Sorted(maps.Keys(c.off)), ",") }

func (c *runtimeConfig) Set(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		served, err := strconv.ParseBool(value)
		if err != nil || (name != "api/"+v1.Version && name != "api/"+v1beta1.Version) {
			return errors.New("is not a list like api/v1beta1=true,api/v1=false")
		}
		if c.off == nil {
			c.off = map[string]bool{}
		}
		c.off[name] = !served
	}
	return nil
}
