// Package options is the command line of the server. It has groups of flags, one for each file. A group
// defines its flags, validates them, and applies them to the configuration of the server.
package options

import (
	_ "embed" // for Usage
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd"
)

// Usage is what apiserver -h prints.
//
//go:embed usage.txt
var Usage string

// ServerRunOptions are all groups of flags.
type ServerRunOptions struct {
	Generic         GenericOptions
	Etcd            EtcdOptions
	SecureServing   SecureServingOptions
	InsecureServing InsecureServingOptions
	Audit           AuditOptions
	Features        FeatureOptions
	Authentication  AuthenticationOptions
	Authorization   AuthorizationOptions
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
	addFlags(flags *flag.FlagSet)
	// validate returns errors, each with its flag. Given has the names of the flags in the command line.
	validate(given map[string]bool) problems
}

func (o *ServerRunOptions) groups() []group {
	return []group{&o.Generic, &o.Etcd, &o.SecureServing, &o.InsecureServing, &o.Audit, &o.Features, &o.Authentication, &o.Authorization, &o.Admission, &o.Kubelet, &o.APIEnablement, &o.Aggregator, &o.Controllers, &o.Services, &o.Parts}
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
	flags := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for _, g := range o.groups() {
		g.addFlags(flags)
	}
	add(flags, &o.Version, "version", asBool, false)
	return flags
}

// Parse parses and validates a command line. The error joins one for each invalid flag, which it names.
func Parse(args []string) (*ServerRunOptions, error) {
	o := &ServerRunOptions{}
	given, errs := parse(o.flagSet(), args, unknownFlag)
	return o.complete(given, errs)
}

// complete validates the options. The error joins those of the given flags with its own.
func (o *ServerRunOptions) complete(given map[string]bool, errs problems) (*ServerRunOptions, error) {
	if slices.Contains(errs, ErrHelp) {
		return nil, ErrHelp
	}
	for _, g := range o.groups() {
		for _, err := range g.validate(given) {
			// A flag with an invalid value has its default, about which an error would mislead.
			if name, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "-"), ":"); !isReported(errs, name) {
				errs = append(errs, err)
			}
		}
	}
	errs.addIf(o.Parts.Has(PartAPIServer) && !o.InsecureServing.Insecure && !given["secure_port"], "-insecure: without it, the server needs -secure_port")
	errs.addIf(o.Parts.Has(PartKubelet) && o.Kubelet.HTTPS, "-kubelet_https: the kubelets of this process speak HTTP")
	errs.addIf(slices.Contains(o.Controllers.list, TokensController) && o.Authentication.SigningKeyFile == "", "-controllers: %s needs -service_account_signing_key_file", TokensController)
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

func isReported(errs []error, name string) bool {
	return slices.ContainsFunc(errs, func(err error) bool { return strings.HasPrefix(err.Error(), "-"+name+":") })
}

// parse sets the flags. It returns the names of the known flags that are given, and all errors: that of an unknown flag is
// what a function returns, nil to ignore the flag. Unlike the package flag, it continues after an error, and accepts - for _
// in a name.
func parse(flags *flag.FlagSet, args []string, unknown func(spelled, name string) error) (given map[string]bool, errs problems) {
	given = map[string]bool{}
	unknownNames := sets.New[string]()
	for len(args) > 0 {
		arg := args[0]
		spelled := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
		if len(spelled) == len(arg) || spelled == "" {
			return given, append(errs, fmt.Errorf("%s is not a flag: arguments are not taken", shown(arg, args...)))
		}
		args = args[1:]
		spelled, value, hasValue := strings.Cut(spelled, "=")
		name := strings.ReplaceAll(spelled, "-", "_")
		known := flags.Lookup(name)
		switch {
		case name == "h", name == "help":
			return given, []error{ErrHelp}
		case known == nil:
			if err := unknown(spelled, name); err != nil && !unknownNames.Has(name) {
				errs = append(errs, err)
			}
			unknownNames.Insert(name)
			if !hasValue && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
				args = args[1:] // probably the value of the flag
			}
			continue
		case hasValue:
		case isBool(known):
			value = "true"
		case len(args) == 0:
			return given, append(errs, fmt.Errorf("flag needs an argument: -%s", name))
		default:
			value, args = args[0], args[1:]
		}
		given[name] = true
		if err := known.Value.Set(value); err != nil && !isReported(errs, name) {
			errs = append(errs, fmt.Errorf("-%s: %s %w", name, shown(value), err))
		}
	}
	return given, errs
}

func unknownFlag(spelled, name string) error {
	switch {
	case etcd.MayHoldPassword(spelled):
		return errors.New("a flag is not known (not shown here)")
	case ofKubeAPIServer.Has(name):
		return fmt.Errorf("-%s: kube-apiserver has this flag, but this server does not", name)
	}
	return errors.New(api.Printable("flag provided but not defined: -"+cut(spelled), '?'))
}

// cut cuts a text that somebody gave.
func cut(text string) string {
	if len(text) > maxShown {
		return text[:maxShown] + "..."
	}
	return text
}
