package etcd

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/etcd/etcdtest"
)

func started(t *testing.T, setup etcdtest.Setup) *etcdtest.Server {
	members, err := setup.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, members[0].Kill()) })
	return members[0]
}

// bothClients are clients of both APIs.
func bothClients(t *testing.T, config Config) (*Client, *V3) {
	v2, err := NewClient(config)
	require.NoError(t, err)
	t.Cleanup(v2.Close)
	v2.SetTimeout(10 * time.Minute)
	return v2, newV3(t, config)
}

func TestBothSidesOfAConnectionOverTLSAreCertified(t *testing.T) {
	t.Parallel()
	ours, others := etcdtest.MakeTLS(t), etcdtest.MakeTLS(t)
	anyClient := started(t, etcdtest.Setup{TLS: ours}).URL
	certified := started(t, etcdtest.Setup{TLS: ours, ClientCerts: true}).URL
	for name, row := range map[string]struct {
		config Config
		says   string // nothing if it works
	}{
		"a trusted authority":                   {Config{Servers: []string{anyClient}, CAFile: ours.CAFile}, ""},
		"a certificate that nobody asks for":    {Config{Servers: []string{anyClient}, CAFile: ours.CAFile, CertFile: ours.CertFile, KeyFile: ours.KeyFile}, ""},
		"a certificate that is asked for":       {Config{Servers: []string{certified}, CAFile: ours.CAFile, CertFile: ours.CertFile, KeyFile: ours.KeyFile}, ""},
		"another authority":                     {Config{Servers: []string{anyClient}, CAFile: others.CAFile}, "has a certificate that is not trusted (x509: certificate signed by unknown authority"},
		"the authorities of the system":         {Config{Servers: []string{anyClient}}, "-etcd_cafile names who signs it"},
		"no certificate where one is asked for": {Config{Servers: []string{certified}, CAFile: ours.CAFile}, "does not accept us without a certificate that it trusts (tls: certificate required): -etcd_certfile and -etcd_keyfile name it"},
		"a certificate of another authority":    {Config{Servers: []string{certified}, CAFile: ours.CAFile, CertFile: others.CertFile, KeyFile: others.KeyFile}, "does not accept us without a certificate that it trusts"},
		"a certificate for another host":        {Config{Servers: []string{strings.Replace(anyClient, "127.0.0.1", "localhost", 1)}, CAFile: ours.CAFile}, "has a certificate for another host (x509: certificate is not valid for any names, but wanted to match localhost)"},
		"http where https is spoken":            {Config{Servers: []string{strings.Replace(anyClient, "https", "http", 1)}}, "serves https, not http"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v2, v3 := bothClients(t, row.config)
			hasV2, hasV3, err := Served(t.Context(), v2, v3, "/registry/")
			if row.says == "" {
				require.NoError(t, err)
				assert.True(t, hasV2.Served)
				assert.True(t, hasV3.Served)
				_, err := v2.Set("/x", "1", 0)
				assert.NoError(t, err)
				key := "/" + name
				revision := put(t, v3, key, "1")
				events, _ := v3.Watch(t.Context(), key, revision)
				assert.Equal(t, []string{key}, keysOf(t, events, 1))
				return
			}
			for _, err := range []error{err, v2.CheckKey("/"), v3.Check(t.Context(), "/registry/")} {
				var unusable *UnusableError
				require.ErrorAs(t, err, &unusable)
				assert.Contains(t, unusable.Why, row.says)
			}
		})
	}
}

func withUsers(t *testing.T) (url string) {
	// --bcrypt-cost: a password is cheap to check here.
	member := started(t, etcdtest.Setup{Flags: []string{"--bcrypt-cost", "4"}})
	require.NoError(t, member.AddUser("someone", "else", "/registry/"))
	require.NoError(t, member.EnableAuth("secret"))
	return member.URL
}

func TestAUserIsAskedForAndTold(t *testing.T) {
	t.Parallel()
	url := withUsers(t)
	for name, row := range map[string]struct{ user, password, key, says string }{
		"the right password":             {"root", "secret", "/x", ""},
		"a user of only these keys":      {"someone", "else", "/registry/", ""},
		"a user of other keys":           {"someone", "else", "/x", "does not let the user read /x"},
		"a wrong password":               {"root", "guess", "/x", "does not know the user with this password: check -etcd_username and -etcd_password_file"},
		"a user that there is not":       {"nobody", "secret", "/x", "does not know the user with this password: check -etcd_username and -etcd_password_file"},
		"nobody, where a user is needed": {"", "", "/x", "wants to know the user: -etcd_username and -etcd_password_file name one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v2, v3 := bothClients(t, Config{Servers: []string{url}, Username: row.user, Password: row.password})
			_, hasV3, served := Served(t.Context(), v2, v3, row.key)
			checked := v3.Check(t.Context(), row.key)
			if row.says == "" {
				require.NoError(t, served)
				require.NoError(t, checked)
				assert.True(t, hasV3.Served)
				return
			}
			want := &UnusableError{URL: url, Why: row.says}
			assert.Equal(t, want, served)
			assert.Equal(t, want, checked)
		})
	}
}

func TestAUserWhereNobodyAsksForOneIsNoError(t *testing.T) {
	t.Parallel()
	client := newV3(t, Config{Servers: []string{realEtcd(t).URL}, Username: "root", Password: "secret"})
	revision := put(t, client, "/x", "1")
	events, _ := client.Watch(t.Context(), "/x", revision)
	assert.Equal(t, []string{"/x"}, keysOf(t, events, 1))
}

// Turning users off and on makes all tokens worthless, as time does.
func TestATokenThatIsWorthNothingAnyMoreIsRenewed(t *testing.T) {
	t.Parallel()
	url := withUsers(t)
	client := newV3(t, Config{Servers: []string{url}, Username: "root", Password: "secret"})
	first := put(t, client, "/x", "1")
	spoil := func() {
		t.Helper()
		admin, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Username: "root", Password: "secret"})
		require.NoError(t, err)
		defer admin.Close()
		_, err = admin.AuthDisable(t.Context())
		require.NoError(t, err)
		_, err = admin.AuthEnable(t.Context())
		require.NoError(t, err)
	}
	for name, use := range map[string]func(){
		"a write": func() { assert.Greater(t, put(t, client, "/x", "2"), first) },
		"a read":  func() { assert.NoError(t, do(t, client, aGet)) },
		"a watch, and its progress": func() {
			events, progress := client.Watch(t.Context(), "/x", first)
			keysOf(t, events, 1)
			spoil()
			assert.NoError(t, progress(t.Context()))
		},
	} {
		before := client.members[0].login.current()
		spoil()
		use()
		assert.NotEqual(t, before, client.members[0].login.current(), name)
	}
	resp, err := client.Do(t.Context(), aGet)
	require.NoError(t, err)
	assert.EqualValues(t, 2, resp.Get().Kvs[0].Version, "no write was sent twice")
}

func TestAWriteOfAUserWhoMayNotIsRefused(t *testing.T) {
	t.Parallel()
	client := newV3(t, Config{Servers: []string{withUsers(t), downURL(t)}, Username: "someone", Password: "else"})
	put(t, client, "/registry/x", "1")
	err := do(t, client, aPut)
	assert.ErrorIs(t, err, rpctypes.ErrPermissionDenied)
	assert.True(t, Answered(err))
}

func TestTheV2APITakesAUserOverTLS(t *testing.T) {
	t.Parallel()
	ours := etcdtest.MakeTLS(t)
	member := started(t, etcdtest.Setup{TLS: ours})
	_, security, err := Config{Servers: []string{member.URL}, CAFile: ours.CAFile}.read()
	require.NoError(t, err)
	admin := &http.Client{Transport: &http.Transport{TLSClientConfig: security}}
	defer admin.CloseIdleConnections()
	for _, step := range [][2]string{
		{"/v2/auth/users/root", `{"user":"root","password":"secret"}`},
		{"/v2/auth/enable", ""},
		{"/v2/auth/roles/guest", `{"role":"guest","revoke":{"kv":{"read":["/*"],"write":["/*"]}}}`},
	} {
		req, err := http.NewRequest(http.MethodPut, member.URL+step[0], strings.NewReader(step[1]))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.SetBasicAuth("root", "secret")
		resp, err := admin.Do(req)
		require.NoError(t, err)
		answer, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Less(t, resp.StatusCode, 300, "%s: %s", step[0], answer)
	}
	known, _ := bothClients(t, Config{Servers: []string{member.URL}, CAFile: ours.CAFile, Username: "root", Password: "secret"})
	_, err = known.Set("/x", "1", 0)
	require.NoError(t, err)
	require.NoError(t, known.CheckKey("/"))
	for _, config := range []Config{
		{Servers: []string{member.URL}, CAFile: ours.CAFile},
		{Servers: []string{member.URL}, CAFile: ours.CAFile, Username: "root", Password: "guess"},
	} {
		v2, v3 := bothClients(t, config)
		want := &UnusableError{URL: member.URL, Why: "does not let us read /x on the v2 keys API: check -etcd_username and -etcd_password_file"}
		assert.Equal(t, want, v2.CheckKey("/x"))
		_, _, err := Served(t.Context(), v2, v3, "/x")
		assert.Equal(t, want, err, "the v3 API would let us, but the objects may be behind the v2 API")
	}
}
