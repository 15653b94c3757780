package options

import (
	"errors"
	"flag"
	"slices"
	"strconv"
	"strings"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/server/flags"
)

// APIEnablementOptions select the served versions of the API.
type APIEnablementOptions struct {
	served map[string]bool // the versions that are turned on or off, such as api/v1
}

func (o *APIEnablementOptions) AddFlags(fs *flag.FlagSet) {
	fs.Func("runtime_config", "", o.setRuntimeConfig)
}

func (o *APIEnablementOptions) Validate(map[string]bool) flags.Problems { return nil }

// The versions that can be turned on or off.
const (
	Today       = "api/" + v1.Version
	June2014    = "api/" + v1beta1.Version
	Extensions  = "apiextensions.k8s.io/v1"   // of CustomResourceDefinitions
	APIServices = "apiregistration.k8s.io/v1" // which are also obeyed
	Metrics     = "metrics.k8s.io/v1beta1"    // the server reports the usage of machines and pods itself, and needs no metrics-server
)

// Serves reports whether one of the versions is served. Only Metrics is off by default.
func (o *APIEnablementOptions) Serves(version string) bool {
	served, given := o.served[version]
	return served || !given && version != Metrics
}

// isSwitch reports whether a pair of -runtime_config is about a version that can be turned on or off.
func isSwitch(pair string) bool {
	name, _, _ := strings.Cut(pair, "=")
	return slices.Contains([]string{Today, June2014, Extensions, APIServices, Metrics}, name)
}

func (o *APIEnablementOptions) setRuntimeConfig(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		served, err := strconv.ParseBool(value)
		if err != nil || !isSwitch(pair) {
			return errors.New("is not a list like api/v1beta1=true,api/v1=false")
		}
		if o.served == nil {
			o.served = map[string]bool{}
		}
		o.served[name] = served
	}
	return nil
}
