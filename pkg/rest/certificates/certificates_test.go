package certificates_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/user"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/certificates"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

func openOn(t *testing.T, store storage.Interface) *Door {
	return OpenWith(t, certificates.Resources(rest.Base{Objects: store, Now: func() time.Time { return Now }})...)
}

func TestObjectsAreDefaultedCheckedAndChangedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	openOn(t, memory.New(1)).Replay(t, "testdata/recorded.jsonl")
}

func TestARequestSaysWhoMadeItWhateverItsClientSays(t *testing.T) {
	t.Parallel()
	d := openOn(t, memory.New(1)).As(&user.Info{Name: "jane", UID: "7", Groups: []string{"devs"}, Extra: map[string][]string{"scope": {"a"}}})
	lying := certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{Username: "root", UID: "0", Groups: []string{user.Masters},
		Extra: map[string]certificatesv1.ExtraValue{"x": {"y"}}, SignerName: "a.b/c", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageAny}, Request: newRequest(t)}}
	lying.Name = "a"
	text, err := json.Marshal(lying)
	require.NoError(t, err)
	d.Must("POST", path, string(text))
	for range 2 { // an update changes nothing
		var made certificatesv1.CertificateSigningRequest
		d.Must("PUT", path+"/a", string(text)).Into(&made)
		assert.Equal(t, "jane", made.Spec.Username)
		assert.Equal(t, "7", made.Spec.UID)
		assert.Equal(t, []string{"devs"}, made.Spec.Groups)
		assert.Equal(t, map[string]certificatesv1.ExtraValue{"scope": {"a"}}, made.Spec.Extra)
	}
}

// What is written past the server has no defaults.
func TestABareObjectOfAnotherProgramIsServed(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	d := openOn(t, store)
	_, err := storage.CommitOne(store, storage.Create(&api.Any{Kind: "certificatesigningrequests", ID: "bare"}))
	require.NoError(t, err)
	assert.Equal(t, 200, d.Do("GET", path, "", "Accept", Table).Status)
	for _, part := range []string{"", "/status", "/approval"} {
		assert.Equal(t, 200, d.Patch(path+"/bare"+part, MergePatch, `{"metadata":{"labels":{"a":"b"}}}`).Status)
	}
}
