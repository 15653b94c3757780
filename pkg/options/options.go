// Package options is the command line of the server. It has groups of flags, one for each file, beside those of the
// generic server. A group defines its flags, validates them, and applies them to the configuration of the server.
package options

import (
	_ "embed" // for Usage
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd"
	"kube2014/pkg/server/flags"
	genericoptions "kube2014/pkg/server/options"
)

// Usage is what apiserver -h prints.
//
//go:embed usage.txt
var Usage string

// ServerRunOptions are all groups of flags.
type ServerRunOptions struct {
	Generic         GenericOptions
	Etcd            genericoptions.EtcdOptions
	SecureServing   genericoptions.SecureServingOptions
	InsecureServing genericoptions.InsecureServingOptions
	Audit           genericoptions.AuditOptions
	Features        genericoptions.FeatureOptions
	Authentication  genericoptions.AuthenticationOptions
	Authorization   genericoptions.AuthorizationOptions
	Admission       AdmissionOptions
	Kubelet         KubeletOptions
	APIEnablement   APIEnablementOptions
	Aggregator      AggregatorOptions
	Controllers     ControllerOptions
	Services        ServiceOptions
	Parts           PartsOptions

	Version  bool     // print the version and exit
	Warnings []string // what the server ignores of the command line
}

// group is a group of flags.
type group interface {
	AddFlags(fs *flag.FlagSet)
	// Validate returns errors, each with its flag. Given has the names of the flags in the command line.
	Validate(given map[string]bool) flags.Problems
}

func (o *ServerRunOptions) groups() []group {
	return []group{
		&o.Generic, &o.Etcd, &o.SecureServing, &o.InsecureServing, &o.Audit, &o.Features, &o.Authentication, &o.Authorization,
		&o.Admission, &o.Kubelet, &o.APIEnablement, &o.Aggregator, &o.Controllers, &o.Services, &o.Parts,
	}
}

// ErrHelp is the error of a command line with -h or -help.
var ErrHelp = flag.ErrHelp

// New returns the options of an empty command line.
func New() *ServerRunOptions {
	o := &ServerRunOptions{}
	o.flagSet()
	return o
}

// flagSet returns the flags and sets the options to their defaults.
func (o *ServerRunOptions) flagSet() *flag.FlagSet {
	fs := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	for _, g := range o.groups() {
		g.AddFlags(fs)
	}
	flags.Add(fs, &o.Version, "version", flags.AsBool, false)
	return fs
}

// Parse parses and validates a command line. The error joins one for each invalid flag, which it names.
func Parse(args []string) (*ServerRunOptions, error) {
	o := &ServerRunOptions{}
	given, errs := flags.Parse(o.flagSet(), args, unknownFlag)
	return o.complete(given, errs)
}

// complete validates the options. The error joins those of the given flags with its own.
func (o *ServerRunOptions) complete(given map[string]bool, errs flags.Problems) (*ServerRunOptions, error) {
	if slices.Contains(errs, ErrHelp) {
		return nil, ErrHelp
	}
	for _, g := range o.groups() {
		for _, err := range g.Validate(given) {
			// A flag with an invalid value has its default, about which an error would mislead.
			if name, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "-"), ":"); !flags.IsReported(errs, name) {
				errs = append(errs, err)
			}
		}
	}
	errs.AddIf(o.Parts.Has(PartAPIServer) && !o.InsecureServing.Insecure && !given["secure_port"], "-insecure: without it, the server needs -secure_port")
	errs.AddIf(o.Parts.Has(PartKubelet) && o.Kubelet.HTTPS, "-kubelet_https: the kubelets of this process speak HTTP")
	errs.AddIf(slices.Contains(o.Controllers.list, TokensController) && o.Authentication.SigningKeyFile == "",
		"-controllers: %s needs -service_account_signing_key_file", TokensController)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if o.Parts.Has(PartScheduler) && !given["scheduler"] { // otherwise it would have nothing to do
		o.Generic.Scheduler = NoScheduler
	}
	if o.Generic.Trace && !given["controllers"] { // the requests of clients are easier to follow
		o.Controllers.list, o.Controllers.EnableGarbageCollector = ofManager, given["enable_garbage_collector"] && o.Controllers.EnableGarbageCollector
	}
	o.Parts.LeaderElect = o.Parts.LeaderElect && (!o.Generic.Trace || given["leader_elect"])
	o.Admission.NoAccounts = !o.Controllers.Runs(ServiceAccountController)
	return o, nil
}

func unknownFlag(spelled, name string) error {
	switch {
	case etcd.MayHoldPassword(spelled):
		return errors.New("a flag is not known (not shown here)")
	case ofKubeAPIServer.Has(name):
		return fmt.Errorf("-%s: kube-apiserver has this flag, but this server does not", name)
	}
	return errors.New(api.Printable("flag provided but not defined: -"+flags.Cut(spelled), '?'))
}
