package options

import (
	"encoding/pem"
	"flag"
	"slices"
	"strings"
	"time"

	"kube2014/pkg/server/flags"
	genericoptions "kube2014/pkg/server/options"
	"kube2014/pkg/util"
	"kube2014/pkg/util/pems"
)

// The names of the controllers that run in each apiserver, as in today's controller manager.
const (
	GarbageCollector         = "garbage-collector-controller"
	EndpointSliceMirroring   = "endpointslice-mirroring-controller"
	NamespaceController      = "namespace-controller"
	ServiceAccountController = "serviceaccount-controller"
	VolumeProtection         = "persistentvolume-protection-controller"
	ClaimProtection          = "persistentvolumeclaim-protection-controller"
	ClassProtection          = "volumeattributesclass-protection-controller"
	TokensController         = "serviceaccount-token-controller"
	QuotaController          = "resourcequota-controller"
	RootCAPublisher          = "root-ca-certificate-publisher-controller"
	ClusterRoleAggregation   = "clusterrole-aggregation-controller"
	PolicyStatus             = "validatingadmissionpolicy-status-controller"
)

var ofServer = list{ClusterRoleAggregation, EndpointSliceMirroring, GarbageCollector, NamespaceController, VolumeProtection, ClaimProtection, QuotaController, RootCAPublisher, ServiceAccountController, TokensController, PolicyStatus, ClassProtection}

// The names of the controllers of the controller manager, as in today's.
const (
	CronJobController       = "cronjob-controller"
	DeploymentController    = "deployment-controller"
	EndpointController      = "endpoints-controller"
	EndpointSliceController = "endpointslice-controller"
	JobController           = "job-controller"
	NodeController          = "node-lifecycle-controller"
	ReplicaSetController    = "replicaset-controller"
	ReplicationController   = "replicationcontroller-controller"
)

var ofManager = list{CronJobController, DeploymentController, EndpointController, EndpointSliceController, JobController, NodeController, ReplicaSetController, ReplicationController}

// ControllerOptions select the controllers that run in the apiserver, and in the controller manager.
type ControllerOptions struct {
	RootCAFile string
	// EnableGarbageCollector lets deleted objects wait for a garbage collector, here or elsewhere, if their dependents
	// need it.
	EnableGarbageCollector bool
	// Delay is the time from the start of the server until the controllers run.
	Delay time.Duration
	// NamespaceGrace is the time from the deletion of a namespace until what is in it is deleted.
	NamespaceGrace time.Duration

	list list
}

// list is a list of controllers, which may be empty.
type list []string

func (l list) String() string { return strings.Join(l, ",") }

func (o *ControllerOptions) AddFlags(fs *flag.FlagSet) {
	flags.Add(fs, &o.list, "controllers", asControllers, list{"*"})
	flags.Add(fs, &o.EnableGarbageCollector, "enable_garbage_collector", flags.AsBool, true)
	fs.StringVar(&o.RootCAFile, "root_ca_file", "", "")
}

func asControllers(text string) (list, error) {
	var names util.StringList
	if text == "" {
		return nil, nil
	}
	err := names.Set(text)
	return list(names), err
}

func (o *ControllerOptions) Validate(map[string]bool) (errs flags.Problems) {
	all := slices.Sorted(slices.Values(slices.Concat(ofServer, ofManager)))
	for _, name := range o.list {
		known := name == "*" || slices.Contains(all, strings.TrimPrefix(name, "-"))
		errs.AddIf(!known, "-controllers: %s is not *, and neither with nor without a - before it one of %s", flags.Shown(name, o.list...), strings.Join(all, ", "))
	}
	return errs
}

// Runs reports whether a controller runs. A list of nothing but -NAME means all others.
func (o *ControllerOptions) Runs(controller string) bool {
	isNamed := func(name string) bool { return !strings.HasPrefix(name, "-") }
	isOn := slices.Contains(o.list, controller) || slices.Contains(o.list, "*") || len(o.list) > 0 && !slices.ContainsFunc(o.list, isNamed)
	return isOn && !slices.Contains(o.list, "-"+controller)
}

// Any reports whether any controller of the server runs.
func (o *ControllerOptions) Any() bool { return slices.ContainsFunc(ofServer, o.Runs) }

// RootCA returns the certificates, in PEM, by which pods know the server: those of the flag, or the last one that the
// secure port shows, "" without both. The error names a flag.
func (o *ControllerOptions) RootCA(serving *genericoptions.SecureServingOptions) (string, error) {
	if o.RootCAFile != "" {
		text, err := pems.Read(o.RootCAFile)
		if err == nil {
			_, err = pems.Certificates(o.RootCAFile, text)
		}
		return string(text), flags.InFlag("root_ca_file", err)
	}
	if serving.Shown == "" {
		return "", nil
	}
	all, err := pems.ReadCertificates(serving.Shown)
	if err != nil {
		return "", flags.InFlag("tls_cert_file", err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: all[len(all)-1].Raw})), nil
}
