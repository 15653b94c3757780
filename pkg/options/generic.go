package options

import (
	"flag"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
	"kube2014/pkg/server"
	"kube2014/pkg/server/flags"
	genericoptions "kube2014/pkg/server/options"
	"kube2014/pkg/util"
)

// DefaultMachine is the machine of tasks without -machines (D26).
const DefaultMachine = "127.0.0.1"

// The values of -scheduler.
const (
	FirstFit    = "first_fit"
	Random      = "random"
	RoundRobin  = "round_robin"
	NoScheduler = "none"
)

var (
	// ownPaths are the first segments of the server's paths that are not APIs.
	ownPaths    = []string{"index.html", "healthz", "livez", "readyz", "metrics", "version", "openapi", "debug", "ui"}
	validPrefix = regexp.MustCompile(`^(/|(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+/?)$`)
)

// GenericOptions configure the server as a whole.
type GenericOptions struct {
	Prefix             string // of June 2014's API, without a trailing slash
	Machines           util.StringList
	MachinesByUser     bool // -machines was given
	Scheduler          string
	Trace              bool
	RequestTimeout     time.Duration
	MinRequestTimeout  time.Duration // of a watch
	ShutdownDelay      time.Duration
	MaxReads           int // bounds concurrent requests that only read; 0 for no limit
	MaxChanges         int // bounds concurrent requests that may change objects; 0 for no limit
	CORSAllowedOrigins []*regexp.Regexp
	// PriorityAndFairness lets requests wait by their priority level, of which all together have as many seats as both limits.
	PriorityAndFairness bool

	origins util.StringList
}

func (o *GenericOptions) AddFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.Prefix, "api_prefix", client.DefaultPrefix, "")
	fs.Var(&o.Machines, "machines", "")
	fs.StringVar(&o.Scheduler, "scheduler", FirstFit, "")
	flags.Add(fs, &o.Trace, "trace", flags.AsBool, false)
	flags.Add(fs, &o.RequestTimeout, "request_timeout", flags.AsDuration, time.Minute)
	flags.Add(fs, &o.MinRequestTimeout, "min_request_timeout", flags.AsSeconds, 1800*time.Second)
	flags.Add(fs, &o.ShutdownDelay, "shutdown_delay_duration", flags.AsDuration, 0)
	flags.Add(fs, &o.MaxReads, "max_requests_inflight", flags.AsCount, 400)
	flags.Add(fs, &o.MaxChanges, "max_mutating_requests_inflight", flags.AsCount, 200)
	flags.Add(fs, &o.PriorityAndFairness, "enable_priority_and_fairness", flags.AsBool, false)
	fs.Var(&o.origins, "cors_allowed_origins", "")
}

func (o *GenericOptions) Validate(given map[string]bool) (errs flags.Problems) {
	switch {
	case !strings.HasPrefix(o.Prefix, "/"):
		errs = append(errs, fmt.Errorf("-api_prefix: %s must begin with a slash", flags.Shown(o.Prefix)))
	case !validPrefix.MatchString(o.Prefix):
		errs = append(errs, fmt.Errorf("-api_prefix: %s must be segments of letters, digits, '.', '_', '~' and '-'", flags.Shown(o.Prefix)))
	case slices.Contains(ownPaths, strings.Split(o.Prefix, "/")[1]):
		errs = append(errs, fmt.Errorf("-api_prefix: %s belongs to the server itself", flags.Shown(o.Prefix)))
	}
	o.Prefix = strings.TrimRight(o.Prefix, "/")
	errs.AddIf(!slices.Contains([]string{FirstFit, Random, RoundRobin, NoScheduler}, o.Scheduler),
		"-scheduler: %s is not first_fit, random, round_robin or none", flags.Shown(o.Scheduler))
	errs.AddIf(o.RequestTimeout <= 0, "-request_timeout: %s is not more than 0", o.RequestTimeout)
	errs.AddIf(o.MinRequestTimeout < 0, "-min_request_timeout: %s is negative", o.MinRequestTimeout)
	errs.AddIf(o.ShutdownDelay < 0, "-shutdown_delay_duration: %s is negative", o.ShutdownDelay)
	errs.AddIf(o.MaxReads < 0, "-max_requests_inflight: %d is negative", o.MaxReads)
	errs.AddIf(o.MaxChanges < 0, "-max_mutating_requests_inflight: %d is negative", o.MaxChanges)
	isLimited := o.MaxReads > 0 || o.MaxChanges > 0
	if !given["enable_priority_and_fairness"] {
		o.PriorityAndFairness = given["secure_port"] && isLimited // at the insecure port all are exempt
	}
	errs.AddIf(o.PriorityAndFairness && !isLimited, "-enable_priority_and_fairness: -max_requests_inflight and -max_mutating_requests_inflight are both 0: there is nothing to share")
	for _, origin := range o.origins {
		expression, err := regexp.Compile(origin)
		if err != nil {
			errs = append(errs, fmt.Errorf("-cors_allowed_origins: %s is not a regular expression", flags.Shown(origin)))
			continue
		}
		o.CORSAllowedOrigins = append(o.CORSAllowedOrigins, expression)
	}
	o.MachinesByUser = len(o.Machines) > 0
	if !o.MachinesByUser { // D26
		o.Machines = util.StringList{DefaultMachine}
	}
	err := checkMachines(o.Machines)
	errs.AddIf(err != nil, "%w", err)
	return errs
}

// ApplyTo sets the server's limits.
func (o *GenericOptions) ApplyTo(c *server.Config) {
	c.RequestTimeout, c.ShutdownDelay, c.CORSAllowedOrigins = o.RequestTimeout, o.ShutdownDelay, o.CORSAllowedOrigins
	c.MaxReads, c.MaxChanges = o.MaxReads, o.MaxChanges
}

// MachinesInWords returns the machines for the log, and whether they are the default.
func (o *GenericOptions) MachinesInWords() string {
	if !o.MachinesByUser {
		return o.Machines.String() + " (the default: -machines was not given)"
	}
	return o.Machines.String()
}

func checkMachines(machines []string) error {
	seen := map[string]bool{}
	for _, machine := range machines {
		if !genericoptions.IsHost(machine) {
			return fmt.Errorf("-machines: %s is neither a host name nor an IP address", flags.Shown(machine, machines...))
		}
		same := strings.ToLower(machine)
		if ip, err := netip.ParseAddr(machine); err == nil {
			same = ip.Unmap().String()
		}
		if seen[same] {
			return fmt.Errorf("-machines: %s is named twice", api.Quote(machine))
		}
		seen[same] = true
	}
	return nil
}
