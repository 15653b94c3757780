package main

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/certtest"
)

// flagsOf2018 are the flags of a master of 2018 that this server has, as they were written then.
func (w *who) flagsOf2018() []string {
	own, authority := w.secureFlags()
	kubeletCert, kubeletKey := w.pair("kubelet-client", authority.Client(w.t, "kube-apiserver", nil))
	authorityFile, _ := w.pair("authority", authority)
	return []string{"--secure-port=0", "--insecure-port=0", "--insecure-bind-address=127.0.0.1", "--bind-address=127.0.0.1",
		"--tls-cert-file=" + own[5], "--tls-private-key-file=" + own[7], "--client-ca-file=" + w.path("clients.crt"), "--token-auth-file=" + w.path("tokens"),
		"--authorization-mode=ABAC,RBAC", "--authorization-policy-file=" + w.write("policy", `{"user":"bob","resource":"pods","readonly":true}`+"\n"),
		"--runtime-config=api/v1=true", "--service-account-key-file=" + w.path("sa.pub"), "--anonymous-auth=false", "--kubelet-https=true",
		"--kubelet-client-certificate=" + kubeletCert, "--kubelet-client-key=" + kubeletKey, "--kubelet-certificate-authority=" + authorityFile,
		"--request-timeout=1m0s", "--min-request-timeout=1800", "--profiling=false", "--cors-allowed-origins=^https://example\\.com$"}
}

// underscored writes flags as this server's documents do.
func underscored(flags []string) (all []string) {
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		all = append(all, "-"+strings.ReplaceAll(strings.TrimPrefix(name, "--"), "-", "_"), value)
	}
	return slices.DeleteFunc(all, func(word string) bool { return word == "" })
}

func TestTheCommandLineOfAMasterOf2018Starts(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	w := everyWay(t)
	flags := append(w.flagsOf2018(), "--etcd-servers="+server.URL)
	for name, flags := range map[string][]string{"dashes": flags, "underscores": joined(underscored(flags))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, log := bareProgram(t, unhurried, flags...)
			at := log.find(`serves (http://127\.0\.0\.1:\d+)/api/v1beta1 and /api/v1 and /ui/, (https://127\.0\.0\.1:\d+)/api/v1beta1 and /api/v1 and /ui/: registry`)
			client := clientWith(t, nil, nil)
			insecureTLS(client)
			for token, want := range map[string]int{rightToken: http.StatusOK, "": http.StatusUnauthorized, "wrong": http.StatusUnauthorized} {
				shows := credentials{}
				if token != "" {
					shows = bearer(token)
				}
				status, _, _ := askWith(t, client, shows, "GET", at[2]+todaysPods, "")
				assert.Equal(t, want, status, token)
			}
			status, text := getText(t, at[1]+todaysPods)
			assert.Equal(t, http.StatusOK, status, text)
			require.NoError(t, cmd.Process.Kill())
		})
	}
}

// joined writes each flag and its value as one word.
func joined(flags []string) (all []string) {
	for pair := range slices.Chunk(flags, 2) {
		all = append(all, strings.Join(pair, "="))
	}
	return all
}

func TestEachFlagThatIsMissingHereIsNamedAsKubeAPIServers(t *testing.T) {
	t.Parallel()
	lines := refusedStart(t, "--service-cluster-ip-range=10.0.0.0/24", "--advertise-address", "10.0.0.1", "--admission-control=NamespaceLifecycle,LimitRanger,ServiceAccount,PodSecurity", "--allow-privileged", "--v=2", "--feature-gates", "A=true",
		"--etcd-servers=http://127.0.0.1:1", "--authorization-mode=Node,RBAC,Both", "--secure-port=6443")
	var said []string
	for _, name := range []string{"allow_privileged", "v", "feature_gates"} {
		said = append(said, "apiserver: -"+name+": kube-apiserver has this flag, but this server does not")
	}
	said = append(said, `apiserver: -authorization_mode: "Both" is not AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC or Node`,
		`apiserver: -admission_control: "PodSecurity" is not one of AlwaysAdmit, AlwaysDeny, AlwaysPullImages, CertificateApproval, CertificateSigning, CertificateSubjectRestriction, `+
			`DefaultIngressClass, DefaultStorageClass, DefaultTolerationSeconds, LimitRanger, MutatingAdmissionPolicy, MutatingAdmissionWebhook, NamespaceExists, NamespaceLifecycle, NodeRestriction, `+
			`PersistentVolumeClaimResize, Priority, ResourceQuota, RuntimeClass, ServiceAccount, StorageObjectInUseProtection, TaintNodesByCondition, ValidatingAdmissionPolicy, ValidatingAdmissionWebhook (apiserver -h lists the flags)`)
	assert.ElementsMatch(t, said, lines)
}

func TestAllThatIsWrongIsToldAtOnceAndNothingListens(t *testing.T) {
	t.Parallel()
	w := everyWay(t)
	own, _ := w.secureFlags()
	w.pair("other", certtest.Authority(t, "other"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	defer listener.Close() // whoever listens on it too would be told so
	for name, row := range map[string]struct{ flags, says []string }{
		"values": {[]string{"-secure_port", "x", "-bind_address", "a b", "-request_timeout", "0", "-authorization_mode", "ABAC", "-anonymous_auth=perhaps", "-authentication_token_webhook_cache_ttl", "soon", "-contention_profiling"},
			[]string{"secure_port", "bind_address", "request_timeout", "authorization_mode", "anonymous_auth", "authentication_token_webhook_cache_ttl", "contention_profiling"}},
		"files": {[]string{"-port", port, "-secure_port", "0", "-bind_address", "127.0.0.1", "-tls_cert_file", own[5], "-tls_private_key_file", w.path("other.key"), "-token_auth_file", w.path("no-tokens"),
			"-authorization_mode", "ABAC,Webhook", "-authorization_policy_file", w.write("policy", "{\"user\":\"a\"}\n\n{\"user\":}\n"), "-authorization_webhook_config_file", w.write("hook", "{}"),
			"-client_ca_file", w.write("no-ca", "none"), "-requestheader_client_ca_file", w.path("sa.pub"), "-service_account_key_file", w.path("tokens"),
			"-authentication_token_webhook_config_file", w.path("no-hook"), "-proxy_client_cert_file", w.path("clients.crt"), "-proxy_client_key_file", w.path("other.key")},
			[]string{"tls_cert_file", "token_auth_file", "authorization_policy_file", "authorization_webhook_config_file", "client_ca_file", "requestheader_client_ca_file", "service_account_key_file", "authentication_token_webhook_config_file", "proxy_client_cert_file"}},
	} {
		t.Run(name, func(t *testing.T) {
			lines := refusedStart(t, row.flags...)
			all := strings.Join(lines, "\n")
			for _, flag := range row.says {
				assert.Equal(t, 1, countLines(lines, "-"+flag+":"), "-%s in\n%s", flag, all)
			}
			assert.Len(t, lines, len(row.says), all)
			assert.NotContains(t, all, "cannot listen")
			if name == "files" {
				assert.Contains(t, all, "line 3")
				assert.Contains(t, all, "do not belong together")
			}
		})
	}
}

// countLines counts the lines that begin with the name of the program and a text.
func countLines(lines []string, text string) (n int) {
	for _, line := range lines {
		if strings.HasPrefix(line, "apiserver: "+text) {
			n++
		}
	}
	return n
}

func TestAClosedInsecurePortIsNotServed(t *testing.T) {
	t.Parallel()
	f := filesOf(t)
	flags, authority := f.secureFlags()
	_, log := secureProcess(t, unhurried, append(flags, "-insecure=false", "-token_auth_file", f.write("tokens", tokensOf("ann")))...)
	url := log.find(`serves (https://127\.0\.0\.1:\d+)/api/v1beta1 and /api/v1 and /ui/: registry memory`)[1]
	status, _, _ := askWith(t, clientWith(t, authority.Pool(), nil), bearer("ann-token"), "GET", url+firstDoorsTasks, "")
	assert.Equal(t, http.StatusOK, status)
	status, text := getText(t, strings.Replace(url, "https", "http", 1)+firstDoorsTasks)
	assert.Equal(t, http.StatusBadRequest, status, "HTTP is not spoken where TLS is")
	assert.Equal(t, "Client sent an HTTP request to an HTTPS server.\n", text, fmt.Sprint(status))
}
