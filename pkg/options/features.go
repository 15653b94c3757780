package options

import (
	"flag"
	"runtime"

	"kube2014/pkg/server"
)

// FeatureOptions configure profiling.
type FeatureOptions struct {
	Profiling           bool
	ContentionProfiling bool
}

func (o *FeatureOptions) addFlags(flags *flag.FlagSet) {
	add(flags, &o.Profiling, "profiling", asBool, false)
	add(flags, &o.ContentionProfiling, "contention_profiling", asBool, false)
}

func (o *FeatureOptions) validate(map[string]bool) (errs problems) {
	errs.addIf(o.ContentionProfiling && !o.Profiling, "%w", needs("contention_profiling", "profiling"))
	return errs
}

// ApplyTo enables profiling of the server.
func (o *FeatureOptions) ApplyTo(c *server.Config) {
	c.Profiling = o.Profiling
	if o.ContentionProfiling {
		runtime.SetBlockProfileRate(1)
	}
}
