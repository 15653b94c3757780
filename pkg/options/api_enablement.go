package options

import (
	"errors"
	"flag"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1beta1"
)

// APIEnablementOptions are which versions of the API are served.
type APIEnablementOptions struct {
	runtimeConfig runtimeConfig
}

func (o *APIEnablementOptions) addFlags(flags *flag.FlagSet) {
	flags.Var(&o.runtimeConfig, "runtime_config", "")
}

func (o *APIEnablementOptions) validate(map[string]bool) problems { return nil }

// Serves reports whether a version is served.
func (o *APIEnablementOptions) Serves(version string) bool {
	return !o.runtimeConfig.off["api/"+version]
}

// runtimeConfig is which versions of the API are turned off.
type runtimeConfig struct{ off map[string]bool }

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
