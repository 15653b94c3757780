package options

import (
	"flag"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authenticator/oidc"
	"kube2014/pkg/client/kubeletclient"
	"kube2014/pkg/etcd"
	"kube2014/pkg/server"
	"kube2014/pkg/server/flags"
	genericoptions "kube2014/pkg/server/options"
	"kube2014/pkg/util"
)

func TestTheFlagsHaveTheOriginalsDefaults(t *testing.T) {
	t.Parallel()
	o, err := Parse(nil)
	require.NoError(t, err)
	assert.Equal(t, &ServerRunOptions{
		Generic: GenericOptions{Prefix: "/api/v1beta1", Machines: util.StringList{"127.0.0.1"}, Scheduler: "first_fit",
			RequestTimeout: time.Minute, MinRequestTimeout: 30 * time.Minute, MaxReads: 400, MaxChanges: 200},
		Etcd:            genericoptions.EtcdOptions{Prefix: "/registry", EventTTL: time.Hour},
		InsecureServing: genericoptions.InsecureServingOptions{Port: 8080, Address: "127.0.0.1", Insecure: true},
		SecureServing:   genericoptions.SecureServingOptions{Address: "0.0.0.0", CertDir: "/var/run/kubernetes"},
		Authentication: genericoptions.AuthenticationOptions{Anonymous: true, WebhookCacheTTL: 2 * time.Minute, ServiceAccountLookup: true,
			OIDC: genericoptions.OIDCOptions{Config: oidc.Config{UsernameClaim: "sub", RequiredClaims: map[string]string{}}}},
		Authorization: genericoptions.AuthorizationOptions{Modes: util.StringList{"AlwaysAllow"}},
		Kubelet:       KubeletOptions{kubeletclient.Config{Port: 10250, Timeout: time.Second}},
		Controllers:   ControllerOptions{list: list{"*"}, EnableGarbageCollector: true},
		Services:      ServiceOptions{nodePorts: "30000-32767"},
		Parts: PartsOptions{Parts: []string{"apiserver"}, NodeStatusUpdateFrequency: 10 * time.Second, NodeMonitorPeriod: 5 * time.Second,
			NodeMonitorGracePeriod: 40 * time.Second, ClusterCIDR: netip.MustParsePrefix("127.1.0.0/16"), clusterCIDR: "127.1.0.0/16",
			LeaderElect: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second},
	}, o)
	assert.Equal(t, "127.0.0.1:8080", o.InsecureServing.ListenAddress())
	assert.Equal(t, "127.0.0.1 (the default: -machines was not given)", o.Generic.MachinesInWords(), "D26")
}

func TestK45ThePortWithTLSIsOpenedByItsFlagAndKubeletsHaveNone(t *testing.T) {
	t.Parallel()
	o, err := Parse(nil)
	require.NoError(t, err)
	assert.False(t, o.SecureServing.Secure)
	assert.False(t, o.Kubelet.HTTPS)
	o, err = Parse([]string{"-secure_port", "0"})
	require.NoError(t, err)
	assert.True(t, o.SecureServing.Secure, "0 takes a free one")
}

func TestFlagsAreRead(t *testing.T) {
	t.Parallel()
	o, err := Parse(strings.Fields("-port 0 --address ::1 -api_prefix=/x/ -machines=a,10.0.0.1 -machines ::1 -scheduler random -trace -version -etcd_servers http://a:1,http://b:1 -storage_backend etcd3 -etcd_prefix /x/y -etcd_cafile ca -etcd_certfile cert -etcd_keyfile key -etcd_username u -event_ttl 1m30s"))
	require.NoError(t, err)
	assert.Equal(t, GenericOptions{Prefix: "/x", Machines: util.StringList{"a", "10.0.0.1", "::1"}, MachinesByUser: true, Scheduler: "random", Trace: true,
		RequestTimeout: time.Minute, MinRequestTimeout: 30 * time.Minute, MaxReads: 400, MaxChanges: 200}, o.Generic)
	assert.Equal(t, genericoptions.EtcdOptions{Backend: "etcd3", Prefix: "/x/y", EventTTL: 90 * time.Second,
		Config: etcd.Config{Servers: []string{"http://a:1", "http://b:1"}, CAFile: "ca", CertFile: "cert", KeyFile: "key", Username: "u"}}, o.Etcd)
	assert.True(t, o.Version)
	assert.Equal(t, "[::1]:0", o.InsecureServing.ListenAddress())
	assert.Equal(t, "a,10.0.0.1,::1", o.Generic.MachinesInWords())
}

func TestTheWordsOfAFlagAreSeparatedByEither(t *testing.T) {
	t.Parallel()
	for _, spelled := range []string{"-insecure_bind_address", "--insecure-bind-address", "-insecure_bind-address", "--insecure-bind_address"} {
		for _, args := range [][]string{{spelled, "h-1"}, {spelled + "=h-1"}} {
			o, err := Parse(args)
			require.NoError(t, err, "%v", args)
			assert.Equal(t, "h-1", o.InsecureServing.Address, "a value keeps its dashes")
		}
	}
}

func TestAllThatIsWrongIsToldAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse(strings.Fields("-port x -prot 1 --kubelet-port=y -etcd_prefix /z -scheduler best -port z --feature-gates A=b --feature-gates=c -machines a,a"))
	require.Error(t, err)
	assert.Equal(t, []string{
		`-port: "x" is not a number between 0 and 65535`,
		"flag provided but not defined: -prot",
		`-kubelet_port: "y" is not a number between 0 and 65535`,
		"-feature_gates: kube-apiserver has this flag, but this server does not",
		`-scheduler: "best" is not first_fit, random, round_robin or none`,
		`-machines: "a" is named twice`,
		"-etcd_prefix: it needs -etcd_servers",
	}, strings.Split(err.Error(), "\n"))
}

func TestNoTimeIsNegative(t *testing.T) {
	t.Parallel()
	_, err := Parse([]string{"-request_timeout=0s", "-min_request_timeout=-1s", "-shutdown_delay_duration=-1s", "-kubelet_timeout=-1s", "-event_ttl=-1s"})
	assert.EqualError(t, err, "-request_timeout: 0s is not more than 0\n-min_request_timeout: -1s is negative\n"+
		"-shutdown_delay_duration: -1s is negative\n-event_ttl: -1s is negative\n-kubelet_timeout: -1s is not more than 0")
}

func TestAFrontProxyIsConfiguredWholly(t *testing.T) {
	t.Parallel()
	o, err := Parse(strings.Fields("-secure_port 0 -requestheader_client_ca_file ca -requestheader_uid_headers=x-uid,x-remote-uid -requestheader_extra_headers_prefix=X-Remote-Extra-,X-More- -requestheader_extra_headers_prefix X-"))
	require.NoError(t, err)
	assert.Equal(t, genericoptions.RequestHeaderOptions{ClientCAFile: "ca", FrontProxy: authenticator.FrontProxy{UIDHeaders: []string{"x-uid", "x-remote-uid"}, ExtraPrefixes: []string{"X-Remote-Extra-", "X-More-", "X-"}}},
		o.Authentication.RequestHeader)
	_, err = Parse(strings.Fields("-secure_port 0 -requestheader_client_ca_file ca -requestheader_uid_headers x-uid"))
	assert.EqualError(t, err, "-requestheader_uid_headers: X-Remote-Uid is not among them: the aggregator needs it")
	_, err = Parse(strings.Fields("-secure_port 0 -requestheader_uid_headers X-Remote-Uid -requestheader_extra_headers_prefix X-"))
	assert.EqualError(t, err, "-requestheader_uid_headers: it needs -requestheader_client_ca_file\n-requestheader_extra_headers_prefix: it needs -requestheader_client_ca_file")
	_, err = Parse(strings.Fields("-requestheader_uid_headers X-Remote-Uid -requestheader_extra_headers_prefix X-"))
	assert.EqualError(t, err, "-requestheader_uid_headers: it needs -secure_port\n-requestheader_extra_headers_prefix: it needs -secure_port")
	_, err = Parse([]string{"-secure_port", "0", "-requestheader_client_ca_file", "ca", "-requestheader_username_headers", "X-A, X-B", "-requestheader_uid_headers", "a:b",
		"-requestheader_extra_headers_prefix", "X-,,"})
	assert.EqualError(t, err, `-requestheader_username_headers: "X-A, X-B" has a character that no name of a header has`+"\n"+
		`-requestheader_uid_headers: "a:b" has a character that no name of a header has`+"\n"+`-requestheader_extra_headers_prefix: "X-,," has an empty value between its commas`)
}

func TestNoFlagIsKnownAndNot(t *testing.T) {
	t.Parallel()
	(&ServerRunOptions{}).flagSet().VisitAll(func(f *flag.Flag) {
		assert.False(t, ofKubeAPIServer.Has(f.Name), f.Name)
	})
}

func TestHelpNamesEveryFlagWithItsDefault(t *testing.T) {
	t.Parallel()
	var names []string
	(&ServerRunOptions{}).flagSet().VisitAll(func(f *flag.Flag) {
		names = append(names, f.Name)
		entry := entryOf(f.Name)
		require.NotEmpty(t, entry, f.Name)
		if f.DefValue != "" && f.DefValue != "false" && !strings.Contains(entry, "another word") && !strings.Contains(entry, "(default: closed)") {
			assert.Contains(t, entry, "(default "+f.DefValue, f.Name)
		}
	})
	assert.ElementsMatch(t, names, namesIn(Usage), "it names no others")
}

// Nothing else documents the flags.
func TestHelpTellsOfEachFlagInAGroupWhatItIs(t *testing.T) {
	t.Parallel()
	_, groups, _ := strings.Cut(Usage, "\n\nwhat runs:\n")
	groups, _, _ = strings.Cut("what runs:\n"+groups, "\n\nexample:\n")
	var grouped []string
	for group := range strings.SplitSeq(groups, "\n\n") {
		assert.Regexp(t, `^[a-z, ]+:\n  -`, group, "it has a heading")
		grouped = append(grouped, namesIn(group)...)
	}
	assert.Equal(t, namesIn(Usage), grouped, "no flag is outside of the groups")
	(&ServerRunOptions{}).flagSet().VisitAll(func(f *flag.Flag) {
		says := entryOf(f.Name)
		assert.Equal(t, !flags.IsBool(f), placeholder.MatchString(says), "%s: it is told what a value is, if there is one: %s", f.Name, says)
		assert.Regexp(t, `^[^ (]+ [^ (]+`, placeholder.ReplaceAllString(says, ""), "%s: it is told what it does", f.Name)
	})
	for line := range strings.Lines(Usage) {
		assert.LessOrEqual(t, len(line), 91, "it fits on a terminal: %s", line)
	}
}

// placeholder is what stands for the value of a flag.
var placeholder = regexp.MustCompile(`^[A-Z]+ `)

var entry = regexp.MustCompile(`(?m)^  -(\w+) `)

func namesIn(text string) (names []string) {
	for _, match := range entry.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// entryOf returns what the help says about a flag, on one line.
func entryOf(name string) string {
	_, text, found := strings.Cut(Usage, "\n  -"+name+" ")
	if !found {
		return ""
	}
	if end := regexp.MustCompile(`\n(  -|\n)`).FindStringIndex(text); end != nil {
		text = text[:end[0]]
	}
	return strings.Join(strings.Fields(text), " ")
}

func TestTheNumbersOfRequestsAtOnceAreNumbersThatAreNotNegative(t *testing.T) {
	t.Parallel()
	o, err := Parse([]string{"--max-requests-inflight=0", "-max_mutating_requests_inflight", "7"})
	require.NoError(t, err)
	config := &server.Config{}
	o.Generic.ApplyTo(config)
	assert.Equal(t, 0, config.MaxReads)
	assert.Equal(t, 7, config.MaxChanges)
	_, err = Parse([]string{"-max_requests_inflight=-1", "-max_mutating_requests_inflight=-200"})
	assert.EqualError(t, err, "-max_requests_inflight: -1 is negative\n-max_mutating_requests_inflight: -200 is negative")
	for _, bad := range []string{"", "many", "1.5", "99999999999"} {
		_, err = Parse([]string{"-max_requests_inflight", bad})
		assert.ErrorContains(t, err, "-max_requests_inflight: ")
		assert.ErrorContains(t, err, "is not a number")
	}
}

func TestK124PriorityLevelsShareTheRequestsWhereUsersAreKnown(t *testing.T) {
	t.Parallel()
	secure := []string{"-secure_port", "0"}
	for name, row := range map[string]struct {
		args []string
		on   bool
	}{
		"at the insecure port":        {nil, false},
		"there, too, if it is asked":  {[]string{"-enable_priority_and_fairness"}, true},
		"at the secure port":          {secure, true},
		"not if it is refused":        {append(secure, "--enable-priority-and-fairness=false"), false},
		"not if nothing is limited":   {append(secure, "-max_requests_inflight=0", "-max_mutating_requests_inflight=0"), false},
		"if one of both is unlimited": {append(secure, "-max_requests_inflight=0"), true},
	} {
		o, err := Parse(row.args)
		require.NoError(t, err, name)
		assert.Equal(t, row.on, o.Generic.PriorityAndFairness, name)
	}
	_, err := Parse([]string{"-enable_priority_and_fairness", "-max_requests_inflight=0", "-max_mutating_requests_inflight=0"})
	assert.EqualError(t, err, "-enable_priority_and_fairness: -max_requests_inflight and -max_mutating_requests_inflight are both 0: there is nothing to share")
	o, err := ParseKubeAPIServer(nil)
	require.NoError(t, err)
	assert.True(t, o.Generic.PriorityAndFairness)
	o, err = ParseKubeAPIServer([]string{"--insecure-port=8080", "--secure-port=0"})
	require.NoError(t, err)
	assert.False(t, o.Generic.PriorityAndFairness)
}
