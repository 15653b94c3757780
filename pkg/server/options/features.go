package options

import (
	"flag"
	"runtime"

	"kube2014/pkg/server"
	"kube2014/pkg/server/flags"
)

// FeatureOptions configure profiling.
type FeatureOptions struct {
	Profiling           bool
	ContentionProfiling bool
}

func (o *FeatureOptions) AddFlags(fs *flag.FlagSet) {
	flags.Add(fs, &o.Profiling, "profiling", flags.AsBool, false)
	flags.Add(fs, &o.ContentionProfiling, "contention_profiling", flags.AsBool, false)
}

func (o *FeatureOptions) Validate(map[string]bool) (errs flags.Problems) {
	errs.AddIf(o.ContentionProfiling && !o.Profiling, "%w", flags.Needs("contention_profiling", "profiling"))
	return errs
}

// ApplyTo enables profiling of the server.
func (o *FeatureOptions) ApplyTo(c *server.Config) {
	c.Profiling = o.Profiling
	if o.ContentionProfiling {
		runtime.SetBlockProfileRate(1)
	}
}
