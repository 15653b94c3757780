package options_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/options"
	genericoptions "kube2014/pkg/server/options"
	"kube2014/pkg/util/certtest"
)

// ofEnvtest is the command line that controller-runtime 0.24 gives kube-apiserver.
const ofEnvtest = `--allow-privileged=true --authorization-mode=RBAC --bind-address=127.0.0.1 --cert-dir=/tmp/certs
	--client-ca-file=/tmp/certs/ca.crt --disable-admission-plugins=ServiceAccount --etcd-servers=http://127.0.0.1:2379
	--secure-port=43210 --service-account-issuer=https://127.0.0.1:43210/ --service-account-key-file=/tmp/certs/sa.crt
	--service-account-signing-key-file=/tmp/certs/sa.key --service-cluster-ip-range=10.0.0.0/24`

// of2018 is that of a master of 2018, as kubeadm 1.10 wrote it.
const of2018 = `--admission-control=Initializers,NamespaceLifecycle,LimitRanger,ServiceAccount,DefaultStorageClass,DefaultTolerationSeconds,NodeRestriction,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ResourceQuota
	--advertise-address=10.0.0.5 --allow-privileged=true --authorization-mode=Node,RBAC --client-ca-file=/pki/ca.crt
	--enable-bootstrap-token-auth=true --etcd-servers=https://127.0.0.1:2379 --etcd-cafile=/pki/etcd/ca.crt
	--etcd-certfile=/pki/etcd.crt --etcd-keyfile=/pki/etcd.key --insecure-port=0 --kubelet-client-certificate=/pki/kubelet.crt
	--kubelet-client-key=/pki/kubelet.key --kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname
	--proxy-client-cert-file=/pki/proxy.crt --proxy-client-key-file=/pki/proxy.key --requestheader-allowed-names=front-proxy-client
	--requestheader-client-ca-file=/pki/proxy-ca.crt --requestheader-extra-headers-prefix=X-Remote-Extra-
	--requestheader-group-headers=X-Remote-Group --requestheader-username-headers=X-Remote-User --secure-port=6443
	--service-account-key-file=/pki/sa.pub --service-cluster-ip-range=10.96.0.0/12 --tls-cert-file=/pki/apiserver.crt
	--tls-private-key-file=/pki/apiserver.key --runtime-config=api/all=true,admissionregistration.k8s.io/v1beta1 --v=2 --logtostderr true`

func parseKubeAPIServer(t *testing.T, line string) *options.ServerRunOptions {
	o, err := options.ParseKubeAPIServer(strings.Fields(line))
	require.NoError(t, err)
	return o
}

func TestTheCommandLineOfEnvtestIsTaken(t *testing.T) {
	t.Parallel()
	o := parseKubeAPIServer(t, ofEnvtest)
	assert.Equal(t, []string{"--allow-privileged is ignored: this server does not have it"}, o.Warnings)
	assert.False(t, o.InsecureServing.Insecure)
	assert.True(t, o.SecureServing.Secure)
	assert.Equal(t, uint(43210), o.SecureServing.Port)
	assert.Equal(t, options.NoScheduler, o.Generic.Scheduler)
	assert.False(t, o.Generic.MachinesByUser)
	assert.Equal(t, genericoptions.Etcd3, o.Etcd.Backend)
	assert.False(t, o.Controllers.Runs(options.ServiceAccountController), "no pod needs an account")
	assert.False(t, o.Controllers.Runs(options.RootCAPublisher))
	assert.True(t, o.Controllers.Runs(options.GarbageCollector))
	assert.True(t, o.Controllers.Runs(options.NamespaceController))
	assert.False(t, parseKubeAPIServer(t, ofEnvtest+" --controllers=").Controllers.Any())
	assert.True(t, parseKubeAPIServer(t, ofEnvtest+" --controllers=*").Controllers.Runs(options.ServiceAccountController))
}

func TestTheCommandLineOfAMasterOf2018IsTakenWithWarnings(t *testing.T) {
	t.Parallel()
	certificate, key := certtest.Authority(t, "kubelets").Client(t, "apiserver", nil).Files(t)
	o := parseKubeAPIServer(t, strings.NewReplacer("/pki/kubelet.crt", certificate, "/pki/kubelet.key", key).Replace(of2018))
	ignored := func(name string) string { return name + " is ignored: this server does not have it" }
	assert.Equal(t, []string{
		ignored("--admission-control: Initializers"), ignored("--allow-privileged"), ignored("--kubelet-preferred-address-types"),
		ignored("--runtime-config: api/all=true"), ignored("--runtime-config: admissionregistration.k8s.io/v1beta1"), ignored("--v"), ignored("--logtostderr"),
	}, o.Warnings)
	assert.Equal(t, options.AggregatorOptions{ProxyClientCertFile: "/pki/proxy.crt", ProxyClientKeyFile: "/pki/proxy.key"}, o.Aggregator)
	assert.Equal(t, []string{"X-Remote-Extra-"}, []string(o.Authentication.RequestHeader.ExtraPrefixes))
	assert.Equal(t, []string{genericoptions.Node, genericoptions.RBAC}, []string(o.Authorization.Modes))
	assert.Equal(t, []string{"NamespaceLifecycle", "LimitRanger", "ServiceAccount", "DefaultStorageClass", "DefaultTolerationSeconds",
		"NodeRestriction", "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook", "ResourceQuota"}, []string(o.Admission.Plugins))
	assert.False(t, o.InsecureServing.Insecure)
	assert.Equal(t, uint(6443), o.SecureServing.Port)
}

func TestATextOrAListOfPluginsThatIsEmptyIsNotGiven(t *testing.T) {
	t.Parallel()
	o := parseKubeAPIServer(t, "--disable-admission-plugins= --admission-control= --audit-policy-file= --client-ca-file= --runtime-config= --kubelet-certificate-authority=")
	assert.Empty(t, o.Warnings)
	assert.False(t, o.Kubelet.HTTPS)
	_, err := options.ParseKubeAPIServer([]string{"--secure-port="})
	assert.ErrorContains(t, err, `-secure_port: "" is not a number`)
}

func TestTheInsecurePortOf2018OpensOnlyForOneOfItsFlags(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		insecure, secure bool
		port             uint
	}{
		"":                                         {false, true, 8080},
		"--insecure-port=0":                        {false, true, 0},
		"--insecure-bind-address=0.0.0.0":          {true, true, 8080},
		"--insecure-port 8001":                     {true, true, 8001},
		"--insecure-port 8001 --secure-port 0":     {true, false, 8001},
		"--insecure-port 8001 --insecure=false":    {false, true, 8001},
		"--secure-port 0":                          {false, true, 8080},
		"--address=127.0.0.1 --port=80 --v 4 -v=4": {true, true, 80},
	} {
		o := parseKubeAPIServer(t, line)
		assert.Equal(t, want.insecure, o.InsecureServing.Insecure, line)
		assert.Equal(t, want.secure, o.SecureServing.Secure, line)
		assert.Equal(t, want.port, o.InsecureServing.Port, line)
	}
}

func TestABadCommandLineOfKubeAPIServerIsAnError(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"--authorization-mode=":                           `-authorization_mode: "" has an empty value between its commas`,
		"--authorization-mode=RBAK":                       `-authorization_mode: "RBAK" is not AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC or Node`,
		"--secure-port=x":                                 `-secure_port: "x" is not a number between 0 and 65535`,
		"--service-cluster-ip-range=10.0.0.0":             `-service_cluster_ip_range: "10.0.0.0" is not one block of 8 to 1048576 addresses, like 10.0.0.0/16`,
		"--etcd-servers=localhost":                        `-etcd_servers: "localhost" is not a URL like http://127.0.0.1:4001`,
		"--disable-admission-plugins=ServiceAcount":       `-disable_admission_plugins: "ServiceAcount" is not one of`,
		"--client-ca-file":                                "flag needs an argument: -client_ca_file",
		"start":                                           `"start" is not a flag: arguments are not taken`,
		"--enable-admission-plugins=PodSecurity,LimitRan": `-enable_admission_plugins: "LimitRan" is not one of`,
	} {
		_, err := options.ParseKubeAPIServer(strings.Fields(line))
		assert.ErrorContains(t, err, says, line)
	}
}

func TestAFlagOfEtcdThatIsIgnoredNeedsNoEtcd(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"--etcd-compaction-interval is ignored: this server does not have it"}, parseKubeAPIServer(t, "--etcd-compaction-interval=5m").Warnings)
	_, err := options.Parse([]string{"--etcd-compaction-interval=5m"})
	assert.EqualError(t, err, "-etcd_compaction_interval: kube-apiserver has this flag, but this server does not")
}

func TestAWarningShowsNoPasswordAndNoControlCharacters(t *testing.T) {
	t.Parallel()
	o := parseKubeAPIServer(t, "--http://u:p@x:1 --a\x07b --c=secret --c=secret")
	assert.Equal(t, []string{"a flag that this server does not have is ignored (not shown here)", "--a?b is ignored: this server does not have it",
		"--c is ignored: this server does not have it"}, o.Warnings)
}

func TestTheUsageOfKubeAPIServerNamesEachFlagAsThatDoes(t *testing.T) {
	t.Parallel()
	usage := options.KubeAPIServerUsage()
	for _, flag := range []string{"\n  --secure-port N ", "\n  --service-account-signing-key-file FILE", "\n  --cert-dir DIR", " --etcd-servers; if nothing", "(default ", "\n  --insecure-port N"} {
		assert.Contains(t, usage, flag)
	}
	for line := range strings.Lines(usage) {
		assert.NotRegexp(t, `^  -[a-z]|_[a-z]+ [A-Z]+`, line)
	}
}
