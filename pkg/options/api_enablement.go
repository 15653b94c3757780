package options

import (
	"errors"
	"flag"
	"slices"
	"strconv"
	"strings"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1beta1"
)

// APIEnablementOptions select the served versions of the API.
type APIEnablementOptions struct {
	served map[string]bool // the versions that are turned on or off, such as api/v1
}

func (o *APIEnablementOptions) addFlags(flags *flag.FlagSet) {
	flags.Func("runtime_config", "", o.setRuntimeConfig)
}

func (o *APIEnablementOptions) validate(map[string]bool) problems { return nil }

// The versions of CustomResourceDefinitions, of APIServices, and of what machines and pods use.
const (
	Extensions  = "apiextensions.k8s.io/v1"
	APIServices = "apiregistration.k8s.io/v1"
	Metrics     = "metrics.k8s.io/v1beta1"
)

// Serves reports whether a version is served.
func (o *APIEnablementOptions) Serves(version string) bool {
	return o.serves("api/" + version)
}

// ServesExtensions reports whether CustomResourceDefinitions are served.
func (o *APIEnablementOptions) ServesExtensions() bool { return o.serves(Extensions) }

// ServesAggregation reports whether APIServices are served, and obeyed.
func (o *APIEnablementOptions) ServesAggregation() bool { return o.serves(APIServices) }

// ServesMetrics reports whether the server tells itself what machines and pods use, and needs no metrics-server.
func (o *APIEnablementOptions) ServesMetrics() bool { return o.served[Metrics] }

// serves reports whether a version is served that can be turned off.
func (o *APIEnablementOptions) serves(name string) bool {
	served, given := o.served[name]
	return served || !given
}

// isSwitch reports whether a pair of -runtime_config is about a version that can be turned on or off.
func isSwitch(pair string) bool {
	name, _, _ := strings.Cut(pair, "=")
	return slices.Contains([]string{"api/" + v1.Version, "api/" + v1beta1.Version, Extensions, APIServices, Metrics}, name)
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
