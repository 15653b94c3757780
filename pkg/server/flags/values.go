// Package flags parses a command line, as the original does: its flags have types, and errors that name them and show no
// passwords.
package flags

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

// Add adds a flag with its default.
func Add[T any](fs *flag.FlagSet, at *T, name string, parse func(text string) (T, error), otherwise T) {
	*at = otherwise
	fs.Var(value[T]{at, parse}, name, "")
}

func (v value[T]) String() string { return fmt.Sprint(*v.at) }

func (v value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err == nil {
		*v.at = parsed
	}
	return err
}

// IsBool reports whether a flag needs no value: -trace is -trace=true.
func IsBool(f *flag.Flag) bool {
	_, ok := f.Value.(value[bool])
	return ok
}

// AsPort parses the number of a port in any base of Go, as the original does.
func AsPort(text string) (uint, error) {
	port, err := strconv.ParseUint(text, 0, 16)
	if err != nil {
		return 0, fmt.Errorf("is not a number between 0 and %d", maxPort)
	}
	return uint(port), nil
}

// AsCount parses a number.
func AsCount(text string) (int, error) {
	count, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, errors.New("is not a number")
	}
	return int(count), nil
}

// AsBool parses a truth value.
func AsBool(text string) (bool, error) {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, errors.New("is neither true nor false")
	}
	return on, nil
}

// AsDuration parses a time.
func AsDuration(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("is not a time like 60s or 1m30s")
	}
	return duration, nil
}

// AsHTTPS parses the URL of a server with TLS.
func AsHTTPS(text string) (string, error) {
	if parsed, err := url.Parse(text); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return "", errors.New("is not an https URL")
	}
	return text, nil
}

// AsSeconds parses a duration, or a number of seconds.
func AsSeconds(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, nil
	}
	return AsDuration(text)
}

// Shown returns a value for an error, but not a password, which may be split among the values beside
// it.
func Shown(value string, beside ...string) string {
	if etcd.MayHoldPassword(value) || slices.ContainsFunc(beside, etcd.MayHoldPassword) {
		return "the value (not shown here)"
	}
	return api.Quote(value)
}

// Cut cuts a text that somebody gave.
func Cut(text string) string {
	if len(text) > maxShown {
		return text[:maxShown] + "..."
	}
	return text
}
