package options

import (
	"flag"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"kube2014/pkg/admission/plugin/serviceaccount"
	"kube2014/pkg/api"
	"kube2014/pkg/etcd"
	"kube2014/pkg/server/flags"
	genericoptions "kube2014/pkg/server/options"
)

// KubeAPIServerUsage returns what kube-apiserver --help prints: Usage with the flags as today's server spells them.
func KubeAPIServerUsage() string {
	listed := Usage[strings.Index(Usage, "A - in the name"):strings.Index(Usage, "\nexample:")]
	return `kube-apiserver is kube2014 under the name of today's server. It takes that server's command
line, of today and of 2018, and warns of flags that it does not have. Unlike apiserver, whose
defaults are listed below, it

- opens --secure-port 6443, and the insecure port only if a flag of that one is given;
  --insecure-port 0 is closed, and so is --secure-port 0 beside an insecure port
- has --scheduler none, and no machines unless they are named
- gives addresses of 10.0.0.0/24 to services unless --service-cluster-ip-range is given
- uses the API etcd3 of --etcd-servers; if nothing is behind that etcd, or if there is
  none, objects are kept in memory

` + regexp.MustCompile(`(?m)(^  |[ (])-[a-z][a-z_]+`).ReplaceAllStringFunc(listed, func(name string) string {
		return strings.Replace(strings.ReplaceAll(name, "_", "-"), "-", "--", 1)
	})
}

// ParseKubeAPIServer parses the command line of a kube-apiserver of today, or of 2018. Its defaults are those of today's. It
// ignores flags, plugins and versions that only that server has, each with a warning.
func ParseKubeAPIServer(args []string) (*ServerRunOptions, error) {
	o := &ServerRunOptions{}
	fs := o.flagSet()
	warn := func(what string) {
		warning := what + " is ignored: this server does not have it"
		if etcd.MayHoldPassword(what) {
			warning = "a flag that this server does not have is ignored (not shown here)"
		}
		if warning = api.Printable(flags.Cut(warning), '?'); !slices.Contains(o.Warnings, warning) {
			o.Warnings = append(o.Warnings, warning)
		}
	}
	ignore := func(name string, isForeign func(string) bool) {
		known := fs.Lookup(name)
		known.Value = selected{known.Value, isForeign, func(value string) { warn("--" + strings.ReplaceAll(name, "_", "-") + ": " + value) }}
	}
	ignore("runtime_config", func(pair string) bool { return !isSwitch(pair) })
	for _, name := range []string{"admission_control", "enable_admission_plugins", "disable_admission_plugins"} {
		ignore(name, func(plugin string) bool { return isGone(plugin) || pluginsOfKubeAPIServer.Has(plugin) })
	}
	given, errs := flags.Parse(fs, withoutEmpty(fs, args), func(spelled, _ string) error {
		warn("--" + spelled)
		return nil
	})
	o.likeKubeAPIServer(given)
	return o.complete(given, errs)
}

// withoutEmpty leaves out texts and plugins that are empty, as scripts write them: that server takes those for not given. To have
// no authorizer is an error there, too.
func withoutEmpty(fs *flag.FlagSet, args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		name, isEmpty := strings.CutSuffix(arg, "=")
		known := fs.Lookup(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_"))
		if !isEmpty || known == nil || known.Name == "authorization_mode" {
			return false
		}
		_, isList := known.Value.(selected)
		getter, isText := known.Value.(flag.Getter)
		if isText {
			_, isText = getter.Get().(string)
		}
		return isList || isText
	})
}

// namespaceGrace is short, so that tests of controllers do not wait, but long enough for those that finalize namespaces
// themselves, because beside kube-apiserver alone nobody else does.
const namespaceGrace = time.Second / 2

// controllersDelay lets a suite begin before the controllers, which take twice the time of the server to start. Beside
// kube-apiserver, too, its controller manager comes later.
const controllersDelay = time.Second

// likeKubeAPIServer sets the defaults that differ from those of the name apiserver. Without the plugin ServiceAccount no pod needs
// an account, and namespaces stay empty, as beside kube-apiserver alone.
func (o *ServerRunOptions) likeKubeAPIServer(given map[string]bool) {
	for _, name := range []string{"port", "insecure_port", "address", "insecure_bind_address"} {
		given["insecure"] = given["insecure"] || given[name]
	}
	o.InsecureServing.Insecure = given["insecure"] && o.InsecureServing.Insecure && o.InsecureServing.Port > 0
	if !given["secure_port"] {
		o.SecureServing.Port = 6443
	}
	given["secure_port"] = o.SecureServing.Port > 0 || !o.InsecureServing.Insecure
	if !given["scheduler"] {
		o.Generic.Scheduler = NoScheduler
	}
	if !given["service_cluster_ip_range"] {
		o.Services.clusterIPs = "10.0.0.0/24"
		given["service_cluster_ip_range"] = true
	}
	for _, name := range []string{"kubelet_certificate_authority", "kubelet_client_certificate", "kubelet_client_key"} {
		if given[name] && !given["kubelet_https"] { // that server has no other kubelets
			o.Kubelet.HTTPS = true
		}
	}
	if !given["storage_backend"] {
		o.Etcd.Backend = genericoptions.Etcd3
	}
	if slices.Contains(o.Admission.Disable, serviceaccount.Name) && !given["controllers"] {
		o.Controllers.list = append(o.Controllers.list, "-"+ServiceAccountController, "-"+RootCAPublisher)
	}
	o.Controllers.Delay, o.Controllers.NamespaceGrace = controllersDelay, namespaceGrace
}

// selected is the value of a flag with a list, of which some values are ignored.
type selected struct {
	flag.Value
	isIgnored func(value string) bool
	warn      func(value string)
}

// Set sets the values that are not ignored.
func (v selected) Set(text string) error {
	var rest []string
	for value := range strings.SplitSeq(text, ",") {
		if v.isIgnored(value) {
			v.warn(value)
			continue
		}
		rest = append(rest, value)
	}
	if len(rest) == 0 {
		return nil
	}
	return v.Value.Set(strings.Join(rest, ","))
}

// pluginsOfKubeAPIServer has the plugins of admission of kube-apiserver 1.36 that this server does not have.
var pluginsOfKubeAPIServer = sets.New(strings.Fields(`
	ClusterTrustBundleAttest DenyServiceExternalIPs EventRateLimit ExtendedResourceToleration ImagePolicyWebhook
	JobValidation LimitPodHardAntiAffinityTopology NamespaceAutoProvision
	NodeDeclaredFeatureValidator OwnerReferencesPermissionEnforcement PodGroupProtection
	PodGroupWorkloadExists PodNodeSelector PodResizeValidator PodSecurity PodTolerationRestriction PodTopologyLabels`)...)

// ofKubeAPIServer has the flags of kube-apiserver of 2015 to 2018 that this server does not have.
var ofKubeAPIServer = sets.New(strings.Fields(`
	allow_privileged alsologtostderr apiserver_count audit_log_batch_buffer_size audit_log_format
	audit_log_mode audit_webhook_config_file audit_webhook_mode authorization_rbac_super_user
	authorization_webhook_cache_authorized_ttl authorization_webhook_cache_unauthorized_ttl basic_auth_file cloud_config
	cloud_provider cluster_name default_not_ready_toleration_seconds default_unreachable_toleration_seconds
	default_watch_cache_size delete_collection_workers
	enable_logs_handler enable_swagger_ui
	encryption_provider_config endpoint_reconciler_type etcd_compaction_interval etcd_config etcd_count_metric_poll_period
	etcd_quorum_read etcd_servers_overrides experimental_bootstrap_token_auth experimental_encryption_provider_config
	experimental_keystone_ca_file experimental_keystone_url external_hostname feature_gates http2_max_streams_per_connection
	kubelet_preferred_address_types kubelet_read_only_port kubernetes_service_node_port log_backtrace_at log_dir
	log_flush_frequency logtostderr long_running_request_regexp master_service_namespace max_connection_bytes_per_sec
	portal_net public_address_override
	read_only_port repair_malformed_updates service_account_api_audiences
	service_account_max_token_expiration
	ssh_keyfile ssh_user stderrthreshold storage_media_type storage_version
	storage_versions target_ram_mb tls_ca_file tls_cipher_suites tls_min_version tls_sni_cert_key v verify_only vmodule
	watch_cache watch_cache_sizes authentication_token_webhook_version api_audiences`)...)
