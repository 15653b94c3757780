package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/client"
	"kube2014/pkg/etcd"
	"kube2014/pkg/registry"
	"kube2014/pkg/util"
)

// version is set by the linker.
var version = "devel"

const usage = `apiserver serves the same objects in two versions of the API: that of June 2014, with
tasks, replication controllers and services, and below /api/v1 today's, for kubectl.

usage: apiserver [flags]

  -port N              the port to listen on; 0 takes a free one (default 8080)
  -address ADDRESS     the address to listen on (default 127.0.0.1)
  -api_prefix PATH     where June 2014's API is served (default /api/v1beta1); if
                       paths of today's API begin so, that is off
  -machines A,B,...    the machines that tasks and pods are placed on; may be repeated
                       (default 127.0.0.1)
  -scheduler NAME      what places them: first_fit, random or round_robin
                       (default first_fit); or none: pods wait for another program,
                       which posts bindings, and first_fit places tasks
  -runtime_config LIST the versions of the API to serve, such as
                       api/v1beta1=true,api/v1=false (default: both); may be repeated
  -etcd_servers A,B    the members of the etcd to keep objects in, as URLs like
                       http://127.0.0.1:4001 (default: keep them in memory)
  -storage_backend NAME  which API of etcd: etcd2, as in June 2014, or etcd3 (default:
                       the one that etcd serves and that holds objects)
  -etcd_prefix PATH    what the keys of etcd3 begin with (default /registry)
  -etcd_cafile FILE    who signs the certificates of an etcd at https:// URLs
                       (default: whom the system trusts)
  -etcd_certfile FILE  our certificate for etcd, with
  -etcd_keyfile FILE   its key
  -etcd_username NAME  our user in etcd, with
  -etcd_password_file FILE  the file that holds the password
  -trace               print a trace of each request, layer by layer, to standard
                       error; requests are then served one at a time
  -version             print the version and exit

example:
  apiserver -machines 127.0.0.1,127.0.0.2 -etcd_servers http://127.0.0.1:4001
  curl http://127.0.0.1:8080/api/v1beta1/tasks
  kubectl -s http://127.0.0.1:8080 get pods

There is no authentication: keep the address on loopback.
The exit code is 2 when a flag is wrong, 1 when the server cannot serve.
`

const (
	defaultMachine   = "127.0.0.1"
	defaultScheduler = "first_fit"
	noScheduler      = "none"
	maxPort          = 65535
)

var (
	errHelp         = flag.ErrHelp
	validPrefix     = regexp.MustCompile(`^(/|(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+/?)$`)
	validEtcdPrefix = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)
	looksLikeAnIP   = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+$`)
)

// schedulers by the name that -scheduler gives them.
var schedulers = map[string]func(machines []string, tasks registry.TaskRegistry) registry.Scheduler{
	defaultScheduler: registry.MakeFirstFitScheduler,
	"random": func(machines []string, tasks registry.TaskRegistry) registry.Scheduler {
		scheduler := registry.MakeRandomScheduler(machines, *rand.New(rand.NewSource(time.Now().UnixNano())))
		scheduler.(*registry.RandomScheduler).Registry = tasks
		return scheduler
	},
	"round_robin": func(machines []string, tasks registry.TaskRegistry) registry.Scheduler {
		scheduler := registry.MakeRoundRobinScheduler(machines)
		scheduler.(*registry.RoundRobinScheduler).Registry = tasks
		return scheduler
	},
}

// options are the flags, checked.
type options struct {
	port           uint
	address        string
	prefix         string
	etcd           etcd.Config
	passwordFile   string // of etcd
	storageBackend string // "" is to be found out
	etcdPrefix     string
	machines       util.StringList
	machinesByUser bool
	scheduler      string
	versions       runtimeConfig
	trace          bool
	version        bool
}

func newFlagSet(o *options) *flag.FlagSet {
	flags := flag.NewFlagSet("apiserver", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run tells what is wrong
	o.port = 8080
	flags.Var(&valueInWords{Value: (*portValue)(&o.port)}, "port", "")
	flags.StringVar(&o.address, "address", "127.0.0.1", "")
	flags.StringVar(&o.prefix, "api_prefix", client.DefaultPrefix, "")
	flags.Var(&valueInWords{Value: (*util.StringList)(&o.etcd.Servers)}, "etcd_servers", "")
	flags.StringVar(&o.storageBackend, "storage_backend", "", "")
	flags.StringVar(&o.etcdPrefix, "etcd_prefix", defaultEtcdPrefix, "")
	flags.StringVar(&o.etcd.CAFile, "etcd_cafile", "", "")
	flags.StringVar(&o.etcd.CertFile, "etcd_certfile", "", "")
	flags.StringVar(&o.etcd.KeyFile, "etcd_keyfile", "", "")
	flags.StringVar(&o.etcd.Username, "etcd_username", "", "")
	flags.StringVar(&o.passwordFile, "etcd_password_file", "", "")
	flags.Var(&valueInWords{Value: &o.machines}, "machines", "")
	flags.StringVar(&o.scheduler, "scheduler", defaultScheduler, "")
	flags.Var(&valueInWords{Value: &o.versions}, "runtime_config", "")
	flags.Var(&valueInWords{Value: (*boolValue)(&o.trace)}, "trace", "")
	flags.Var(&valueInWords{Value: (*boolValue)(&o.version)}, "version", "")
	return flags
}

// parseFlags reads and checks the flags. The error names the flag.
func parseFlags(args []string) (*options, error) {
	var o options
	flags := newFlagSet(&o)
	if err := flags.Parse(args); errors.Is(err, errHelp) {
		return nil, err
	} else if err != nil {
		return nil, errors.New(onOneLine(err.Error()))
	}
	if err := badValue(flags); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("%s is not a flag: arguments are not taken", shown(flags.Arg(0), flags.Args()...))
	case !strings.HasPrefix(o.prefix, "/"):
		return nil, fmt.Errorf("-api_prefix: %s must begin with a slash", shown(o.prefix))
	case !validPrefix.MatchString(o.prefix):
		return nil, fmt.Errorf("-api_prefix: %s must be segments of letters, digits, '.', '_', '~' and '-'", shown(o.prefix))
	case !isHost(o.address):
		return nil, fmt.Errorf("-address: %s is neither a host name nor an IP address", shown(o.address))
	case schedulers[o.scheduler] == nil && o.scheduler != noScheduler:
		return nil, fmt.Errorf("-scheduler: %s is not first_fit, random, round_robin or none", shown(o.scheduler))
	}
	if err := o.checkEtcd(flags); err != nil {
		return nil, err
	}
	o.prefix = strings.TrimRight(o.prefix, "/")
	o.machinesByUser = len(o.machines) > 0
	if !o.machinesByUser { // D26
		o.machines = util.StringList{defaultMachine}
	}
	return &o, checkMachines(o.machines)
}

// checkEtcd checks the flags about etcd, and reads the password.
func (o *options) checkEtcd(flags *flag.FlagSet) error {
	_, err := etcd.ParseServers(o.etcd.Servers)
	switch {
	case err != nil:
		return fmt.Errorf("-etcd_servers: %w", err)
	case len(o.etcd.Servers) == 0:
		return needsEtcd(flags)
	case o.storageBackend != "" && o.storageBackend != etcd2Backend && o.storageBackend != etcd3Backend:
		return fmt.Errorf("-storage_backend: %s is neither etcd2 nor etcd3", shown(o.storageBackend))
	case !validEtcdPrefix.MatchString(o.etcdPrefix):
		return fmt.Errorf("-etcd_prefix: %s must be segments of letters, digits, '.', '_', '~' and '-', each after a slash", shown(o.etcdPrefix))
	case o.storageBackend == etcd2Backend && o.etcdPrefix != defaultEtcdPrefix:
		return fmt.Errorf("-etcd_prefix: the keys of etcd2 begin with %s, where June 2014's programs look for them", defaultEtcdPrefix)
	case o.passwordFile == "":
		return nil
	}
	password, err := os.ReadFile(o.passwordFile)
	if err != nil {
		var read *fs.PathError // its path may be a password, given by mistake
		if errors.As(err, &read) {
			err = read.Err
		}
		return fmt.Errorf("-etcd_password_file: the file cannot be read: %w", err)
	}
	o.etcd.Password = strings.TrimRight(string(password), "\r\n")
	if o.etcd.Password == "" {
		return errors.New("-etcd_password_file: the file is empty")
	}
	return nil
}

// needsEtcd returns an error for the first flag, by name, that says nothing without an etcd.
func needsEtcd(flags *flag.FlagSet) (err error) {
	flags.Visit(func(f *flag.Flag) {
		if err == nil && (f.Name == "storage_backend" || strings.HasPrefix(f.Name, "etcd_")) {
			err = fmt.Errorf("-%s: it needs -etcd_servers", f.Name)
		}
	})
	return err
}

// onOneLine makes what the flag package says fit for one line: it repeats what
// it was given.
func onOneLine(text string) string {
	if etcd.MayHoldPassword(text) {
		return "a flag is not known (not shown here)"
	}
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return api.Printable(text, '?')
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

// isHost tells whether a text is an IP address or a host name. A host name and
// an id have the same letters, for the same reason: both stand in keys and URLs.
func isHost(text string) bool {
	if ip, err := netip.ParseAddr(text); err == nil {
		return ip.Zone() == ""
	}
	return api.ValidateID(text) == nil && !looksLikeAnIP.MatchString(text)
}

// makeScheduler returns the scheduler of the first door's tasks.
func (o *options) makeScheduler(tasks registry.TaskRegistry) registry.Scheduler {
	name := o.scheduler
	if name == noScheduler {
		name = defaultScheduler
	}
	return schedulers[name](o.machines, tasks)
}

func (o *options) listenAddress() string {
	return net.JoinHostPort(o.address, strconv.FormatUint(uint64(o.port), 10))
}

// servesToday reports whether today's API is served. It is not if paths of it belong to
// June 2014's, whose flag is older.
func (o *options) servesToday() bool {
	hidden := o.versions.serves(v1beta1.Version) && o.prefix != "" &&
		slices.ContainsFunc([]string{"/api/v1/", "/apis", "/openapi", "/version", "/livez", "/readyz"},
			func(path string) bool { return strings.HasPrefix(path, o.prefix) })
	return o.versions.serves(v1.Version) && !hidden
}

// pathsInWords returns where the versions of the API are served.
func (o *options) pathsInWords() string {
	var paths []string
	if o.versions.serves(v1beta1.Version) {
		paths = append(paths, cmp.Or(o.prefix, "/"))
	}
	if o.servesToday() {
		paths = append(paths, "/api/"+v1.Version)
	}
	return cmp.Or(strings.Join(paths, " and "), "/ without a version of the API")
}

func (o *options) machinesInWords() string {
	if !o.machinesByUser {
		return o.machines.String() + " (the default: -machines was not given)"
	}
	return o.machines.String()
}
