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
	ownPaths      = []string{"index.html", "healthz", "livez", "readyz", "metrics", "version", "openapi", "debug", "ui"}
	validPrefix   = regexp.MustCompile(`^(/|(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+/?)$`)
	looksLikeAnIP = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+$`)
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

func (o *GenericOptions) addFlags(flags *flag.FlagSet) {
	flags.StringVar(&o.Prefix, "api_prefix", client.DefaultPrefix, "")
	flags.Var(&o.Machines, "machines", "")
	flags.StringVar(&o.Scheduler, "scheduler", FirstFit, "")
	add(flags, &o.Trace, "trace", asBool, false)
	add(flags, &o.RequestTimeout, "request_timeout", asDuration, time.Minute)
	add(flags, &o.MinRequestTimeout, "min_request_timeout", asSeconds, 1800*time.Second)
	add(flags, &o.ShutdownDelay, "shutdown_delay_duration", asDuration, 0)
	add(flags, &o.MaxReads, "max_requests_inflight", asCount, 400)
	add(flags, &o.MaxChanges, "max_mutating_requests_inflight", asCount, 200)
	add(flags, &o.PriorityAndFairness, "enable_priority_and_fairness", asBool, false)
	flags.Var(&o.origins, "cors_allowed_origins", "")
}

func (o *GenericOptions) validate(given map[string]bool) (errs problems) {
	switch {
	case !strings.HasPrefix(o.Prefix, "/"):
		errs = append(errs, fmt.Errorf("-api_prefix: %s must begin with a slash", shown(o.Prefix)))
	case !validPrefix.MatchString(o.Prefix):
		errs = append(errs, fmt.Errorf("-api_prefix: %s must be segments of letters, digits, '.', '_', '~' and '-'", shown(o.Prefix)))
	case slices.Contains(ownPaths, strings.Split(o.Prefix, "/")[1]):
		errs = append(errs, fmt.Errorf("-api_prefix: %s belongs to the server itself", shown(o.Prefix)))
	}
	o.Prefix = strings.TrimRight(o.Prefix, "/")
	errs.addIf(!slices.Contains([]string{FirstFit, Random, RoundRobin, NoScheduler}, o.Scheduler),
		"-scheduler: %s is not first_fit, random, round_robin or none", shown(o.Scheduler))
	errs.addIf(o.RequestTimeout <= 0, "-request_timeout: %s is not more than 0", o.RequestTimeout)
	errs.addIf(o.MinRequestTimeout < 0, "-min_request_timeout: %s is negative", o.MinRequestTimeout)
	errs.addIf(o.ShutdownDelay < 0, "-shutdown_delay_duration: %s is negative", o.ShutdownDelay)
	errs.addIf(o.MaxReads < 0, "-max_requests_inflight: %d is negative", o.MaxReads)
	errs.addIf(o.MaxChanges < 0, "-max_mutating_requests_inflight: %d is negative", o.MaxChanges)
	isLimited := o.MaxReads > 0 || o.MaxChanges > 0
	if !given["enable_priority_and_fairness"] {
		o.PriorityAndFairness = given["secure_port"] && isLimited // at the insecure port all are exempt
	}
	errs.addIf(o.PriorityAndFairness && !isLimited, "-enable_priority_and_fairness: -max_requests_inflight and -max_mutating_requests_inflight are both 0: there is nothing to share")
	for _, origin := range o.origins {
		expression, err := regexp.Compile(origin)
		if err != nil {
			errs = append(errs, fmt.Errorf("-cors_allowed_origins: %s is not a regular expression", shown(origin)))
			continue
		}
		o.CORSAllowedOrigins = append(o.CORSAllowedOrigins, expression)
	}
	o.MachinesByUser = len(o.Machines) > 0
	if !o.MachinesByUser { // D26
		o.Machines = util.StringList{DefaultMachine}
	}
	err := checkMachines(o.Machines)
	errs.addIf(err != nil, "%w", err)
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
		if !isHost(machine) {
			return fmt.Errorf("-machines: %s is neither a host name nor an IP address", shown(machine, machines...))
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

// isHost reports whether a text is an IP address or a host name. Host names must be valid ids, since
// both are parts of keys and URLs.
func isHost(text string) bool {
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.Zone() == ""
	}
	return api.ValidateID(text) == nil && !looksLikeAnIP.MatchString(text)
}
