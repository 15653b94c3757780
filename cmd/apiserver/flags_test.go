package main

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/options"
)

func runWith(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = apiserverCommand.run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestD46ABadCommandLineIsRefusedOnOneLine(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"serve":                          `"serve" is not a flag: arguments are not taken`,
		"-port 0 8080":                   `"8080" is not a flag: arguments are not taken`,
		"-a\x07b":                        "flag provided but not defined: -a?b",
		"-prot 80":                       "flag provided but not defined: -prot",
		"-port x":                        `-port: "x" is not a number between 0 and 65535`,
		"-port -1":                       `-port: "-1" is not a number between 0 and 65535`,
		"-port 65536":                    `-port: "65536" is not a number between 0 and 65535`,
		"-port=":                         `-port: "" is not a number between 0 and 65535`,
		"-port 80 -port":                 "flag needs an argument: -port",
		"-trace=maybe":                   `-trace: "maybe" is neither true nor false`,
		"-etcd_servers 127.0.0.1:4001":   `-etcd_servers: "127.0.0.1:4001" is not a URL like http://127.0.0.1:4001`,
		"-etcd_servers http://u:p@x:1":   "-etcd_servers: a user or a password in a URL is not supported (it is not shown here); give http://HOST:PORT",
		"-etcd_servers http://u:p@x:1,,": "-etcd_servers: the value (not shown here) has an empty value between its commas",
		"-machines http://u:p@x":         "-machines: the value (not shown here) is neither a host name nor an IP address",
		"http://u:p@x:1":                 "the value (not shown here) is not a flag: arguments are not taken",
		"http://u:p w@x:1":               "the value (not shown here) is not a flag: arguments are not taken",
		"-http://u:p@x:1":                "a flag is not known (not shown here)",
		"---http://u:p@x:1":              "a flag is not known (not shown here)",
		"-machines http://u:p,w@x":       "-machines: the value (not shown here) is neither a host name nor an IP address",
		"-etcd_servers http://u:p%40x:1": "-etcd_servers: a user or a password in a URL is not supported (it is not shown here); give http://HOST:PORT",
		"-scheduler best":                `-scheduler: "best" is not first_fit, random, round_robin or none`,
		"-runtime_config=":               `-runtime_config: "" is not a list like api/v1beta1=true,api/v1=false`,
		"-runtime_config api/v1":         `-runtime_config: "api/v1" is not a list like api/v1beta1=true,api/v1=false`,
		"-runtime_config api/v1=":        `-runtime_config: "api/v1=" is not a list like api/v1beta1=true,api/v1=false`,
		"-runtime_config api/v1=no":      `-runtime_config: "api/v1=no" is not a list like api/v1beta1=true,api/v1=false`,
		"-runtime_config v1=true":        `-runtime_config: "v1=true" is not a list like api/v1beta1=true,api/v1=false`,
		"-runtime_config api/v2=true":    `-runtime_config: "api/v2=true" is not a list like api/v1beta1=true,api/v1=false`,
		"-runtime_config api/v1=true,":   `-runtime_config: "api/v1=true," is not a list like api/v1beta1=true,api/v1=false`,
		"-api_prefix api":                `-api_prefix: "api" must begin with a slash`,
		"-api_prefix=":                   `-api_prefix: "" must begin with a slash`,
		"-api_prefix /a?b":               `-api_prefix: "/a?b" must be segments of letters, digits, '.', '_', '~' and '-'`,
		"-api_prefix /a/../b":            `-api_prefix: "/a/../b" must be segments of letters, digits, '.', '_', '~' and '-'`,
		"-api_prefix //":                 `-api_prefix: "//" must be segments of letters, digits, '.', '_', '~' and '-'`,
		"-api_prefix /metrics":           `-api_prefix: "/metrics" belongs to the server itself`,
		"-api_prefix /ui/x":              `-api_prefix: "/ui/x" belongs to the server itself`,
		"-address [::1]":                 `-address: "[::1]" is neither a host name nor an IP address`,
		"-address=":                      `-address: "" is neither a host name nor an IP address`,
		"-machines=":                     `-machines: "" has an empty value between its commas`,
		"-machines ::1,0:0::1":           `-machines: "0:0::1" is named twice`,
		"-machines A,a":                  `-machines: "a" is named twice`,
		"-machines 999.1.1.1":            `-machines: "999.1.1.1" is neither a host name nor an IP address`,
		"-machines a,b,a":                `-machines: "a" is named twice`,
		"-machines a -machines a":        `-machines: "a" is named twice`,
		"-machines a,,b":                 `-machines: "a,,b" has an empty value between its commas`,
		"-machines a/b":                  `-machines: "a/b" is neither a host name nor an IP address`,
		"-machines a:80":                 `-machines: "a:80" is neither a host name nor an IP address`,
		"-machines fe80::1%eth0":         `-machines: "fe80::1%eth0" is neither a host name nor an IP address`,

		"-service_cluster_ip_range 10.0.0.0":                                 `-service_cluster_ip_range: "10.0.0.0" is not one block of 8 to 1048576 addresses, like 10.0.0.0/16`,
		"-service_cluster_ip_range 10.0.0.0/30":                              `-service_cluster_ip_range: "10.0.0.0/30" is not one block of 8 to 1048576 addresses, like 10.0.0.0/16`,
		"-service_cluster_ip_range 10.0.0.0/8":                               `-service_cluster_ip_range: "10.0.0.0/8" is not one block of 8 to 1048576 addresses, like 10.0.0.0/16`,
		"-service_cluster_ip_range 10.0.0.0/16,fd00::/112":                   `-service_cluster_ip_range: "10.0.0.0/16,fd00::/112" is not one block of 8 to 1048576 addresses, like 10.0.0.0/16`,
		"-service_node_port_range 1-2":                                       "-service_node_port_range: it needs -service_cluster_ip_range",
		"-service_cluster_ip_range 10.0.0.0/16 -service_node_port_range 9-":  `-service_node_port_range: "9-" is not a range of ports like 30000-32767`,
		"-service_cluster_ip_range 10.0.0.0/16 -service_node_port_range 9-8": `-service_node_port_range: "9-8" is not a range of ports like 30000-32767`,
		"-advertise_address 10.0.0.1":                                        "-advertise_address: it needs -secure_port",
		"-secure_port 0 -advertise_address x":                                `-advertise_address: "x" is not an address that others reach`,
		"-secure_port 0 -advertise_address 0.0.0.0":                          `-advertise_address: "0.0.0.0" is not an address that others reach`,

		"-storage_backend etcd -etcd_servers http://x:1":                  `-storage_backend: "etcd" is neither etcd2 nor etcd3`,
		"-storage_backend ETCD3 -etcd_servers http://x:1":                 `-storage_backend: "ETCD3" is neither etcd2 nor etcd3`,
		"-storage_backend http://u:p@x -etcd_servers http://x:1":          "-storage_backend: the value (not shown here) is neither etcd2 nor etcd3",
		"-storage_backend etcd3":                                          "-storage_backend: it needs -etcd_servers",
		"-etcd_prefix /x":                                                 "-etcd_prefix: it needs -etcd_servers",
		"-etcd_cafile ca.pem":                                             "-etcd_cafile: it needs -etcd_servers",
		"-etcd_certfile c.pem -etcd_keyfile k.pem":                        "-etcd_certfile: it needs -etcd_servers\napiserver: -etcd_keyfile: it needs -etcd_servers",
		"-etcd_keyfile k.pem":                                             "-etcd_keyfile: it needs -etcd_servers",
		"-etcd_username u":                                                "-etcd_username: it needs -etcd_servers",
		"-etcd_password_file p":                                           "-etcd_password_file: it needs -etcd_servers",
		"-etcd_servers http://x:1 -etcd_prefix=":                          `-etcd_prefix: "" must be segments of letters, digits, '.', '_', '~' and '-', each after a slash`,
		"-etcd_servers http://x:1 -etcd_prefix x":                         `-etcd_prefix: "x" must be segments of letters, digits, '.', '_', '~' and '-', each after a slash`,
		"-etcd_servers http://x:1 -etcd_prefix /":                         `-etcd_prefix: "/" must be segments of letters, digits, '.', '_', '~' and '-', each after a slash`,
		"-etcd_servers http://x:1 -etcd_prefix /x/":                       `-etcd_prefix: "/x/" must be segments of letters, digits, '.', '_', '~' and '-', each after a slash`,
		"-etcd_servers http://x:1 -etcd_prefix /../x":                     `-etcd_prefix: "/../x" must be segments of letters, digits, '.', '_', '~' and '-', each after a slash`,
		"-etcd_servers http://x:1 -etcd_prefix /u:p@x":                    "-etcd_prefix: the value (not shown here) must be segments of letters, digits, '.', '_', '~' and '-', each after a slash",
		"-etcd_servers http://x:1 -etcd_prefix /x -storage_backend etcd2": "-etcd_prefix: the keys of etcd2 begin with /registry, where June 2014's programs look for them",
		"-etcd_servers http://x:1 -etcd_password_file /none":              "-etcd_password_file: the file cannot be read: no such file or directory",
		"-etcd_servers http://x:1 -etcd_password_file /":                  "-etcd_password_file: the file cannot be read: is a directory",
		"-etcd_servers http://x:1 -etcd_password_file /dev/null":          "-etcd_password_file: the file is empty",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := runWith(strings.Fields(args)...)
			assert.Equal(t, 2, code)
			assert.Empty(t, stdout)
			assert.Equal(t, "apiserver: "+says+" (apiserver -h lists the flags)\n", stderr)
		})
	}
}

func TestHelpIsPrinted(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-h", "-help", "--help"} {
		code, stdout, stderr := runWith("-prot", flag)
		assert.Equal(t, 0, code)
		assert.Empty(t, stderr)
		assert.Equal(t, options.Usage, stdout)
	}
}

func TestVersionIsPrinted(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runWith("-version")
	assert.Equal(t, 0, code)
	assert.Equal(t, "kube2014 apiserver devel\n", stdout)
	assert.Empty(t, stderr)
}

// It replaces the process's log, so it is not parallel.
func TestATakenPortIsRefused(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	code, stdout, stderr := runWith("-port", port)
	assert.Equal(t, 1, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "apiserver: cannot listen on "+taken.Addr().String()+": address already in use\n", stderr)

	code, _, stderr = runWith("-address", "192.0.2.1", "-port", "0") // an address of no machine
	assert.Equal(t, 1, code)
	assert.Equal(t, "apiserver: cannot listen on 192.0.2.1:0: cannot assign requested address: this system has no such address; add it "+
		"(macOS: sudo ifconfig lo0 alias 192.0.2.1), or choose others with -machines (make: MACHINES=127.0.0.1), -cluster_cidr or -address\n", stderr)
	assert.Equal(t, 1, strings.Count(stderr, "\n"))
}
