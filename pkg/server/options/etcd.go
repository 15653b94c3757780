package options

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"kube2014/pkg/etcd"
	"kube2014/pkg/server/flags"
	"kube2014/pkg/util"
)

// The values of -storage_backend.
const (
	Etcd2 = "etcd2"
	Etcd3 = "etcd3"
)

// DefaultEtcdPrefix is the default prefix of all keys.
const DefaultEtcdPrefix = "/registry"

var validEtcdPrefix = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// EtcdOptions configure the store of objects.
type EtcdOptions struct {
	etcd.Config        // without servers, the store is in memory
	Backend     string // "" for the one that etcd serves
	Prefix      string
	EventTTL    time.Duration // the lifetime of events after their last change; 0 for no limit

	passwordFile string
}

func (o *EtcdOptions) AddFlags(fs *flag.FlagSet) {
	fs.Var((*util.StringList)(&o.Servers), "etcd_servers", "")
	fs.StringVar(&o.Backend, "storage_backend", "", "")
	fs.StringVar(&o.Prefix, "etcd_prefix", DefaultEtcdPrefix, "")
	flags.Add(fs, &o.EventTTL, "event_ttl", flags.AsDuration, time.Hour)
	fs.StringVar(&o.CAFile, "etcd_cafile", "", "")
	fs.StringVar(&o.CertFile, "etcd_certfile", "", "")
	fs.StringVar(&o.KeyFile, "etcd_keyfile", "", "")
	fs.StringVar(&o.Username, "etcd_username", "", "")
	fs.StringVar(&o.passwordFile, "etcd_password_file", "", "")
}

func (o *EtcdOptions) Validate(given map[string]bool) (errs flags.Problems) {
	errs.AddIf(o.EventTTL < 0, "-event_ttl: %s is negative", o.EventTTL)
	_, err := etcd.ParseServers(o.Servers)
	errs.AddIf(err != nil, "-etcd_servers: %w", err)
	if !given["etcd_servers"] {
		for _, name := range slices.Sorted(maps.Keys(given)) {
			errs.AddIf(name == "storage_backend" || strings.HasPrefix(name, "etcd_"), "%w", flags.Needs(name, "etcd_servers"))
		}
		return errs
	}
	errs.AddIf(o.Backend != "" && o.Backend != Etcd2 && o.Backend != Etcd3, "-storage_backend: %s is neither etcd2 nor etcd3", flags.Shown(o.Backend))
	isValid := validEtcdPrefix.MatchString(o.Prefix)
	errs.AddIf(!isValid, "-etcd_prefix: %s must be segments of letters, digits, '.', '_', '~' and '-', each after a slash", flags.Shown(o.Prefix))
	errs.AddIf(isValid && o.Backend == Etcd2 && o.Prefix != DefaultEtcdPrefix,
		"-etcd_prefix: the keys of etcd2 begin with %s, where June 2014's programs look for them", DefaultEtcdPrefix)
	if o.passwordFile != "" {
		err := o.readPassword()
		errs.AddIf(err != nil, "-etcd_password_file: %w", err)
	}
	return errs
}

func (o *EtcdOptions) readPassword() error {
	password, err := os.ReadFile(o.passwordFile)
	if err != nil {
		if read, ok := errors.AsType[*fs.PathError](err); ok { // the path may be a password, given by mistake
			err = read.Err
		}
		return fmt.Errorf("the file cannot be read: %w", err)
	}
	o.Password = strings.TrimRight(string(password), "\r\n")
	if o.Password == "" {
		return errors.New("the file is empty")
	}
	return nil
}
