package kubeletclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/client"
)

// kubelet starts a kubelet on loopback and returns what asks it, however slow the
// machine is.
func kubelet(t *testing.T, handler http.HandlerFunc) *HTTPContainerInfo {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	require.NoError(t, err)
	port, err := strconv.ParseUint(address.Port(), 10, 16)
	require.NoError(t, err)
	return &HTTPContainerInfo{Client: server.Client(), Port: uint(port), Timeout: 10 * time.Minute}
}

func TestContainerInfoIsTheJSONThatTheKubeletAnswers(t *testing.T) {
	t.Parallel()
	info := kubelet(t, func(w http.ResponseWriter, req *http.Request) {
		assert.Equal(t, "/containerInfo?container=a+b%26c", req.RequestURI)
		io.WriteString(w, `{"Name": "x", "Size": 12345678901234567890}`)
	})
	got, err := info.GetContainerInfo("127.0.0.1", "a b&c")
	require.NoError(t, err)
	assert.Equal(t, map[string]interface{}{"Name": "x", "Size": json.Number("12345678901234567890")}, got, "no digit is lost")
}

// D21: any wrong answer of a kubelet is an error.
func TestD21AKubeletThatDoesNotAnswerWellIsAnError(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		text   string
	}{
		"an error":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "answered 500"},
		"HTML":      {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, "not JSON"},
		"nothing":   {func(http.ResponseWriter, *http.Request) {}, "not JSON"},
		"two JSONs": {func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}{}") }, "not JSON"},
		"JSON that is deep": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, strings.Repeat("[", 5000)+strings.Repeat("]", 5000))
		}, "too deep"},
		"JSON of very many values": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "["+strings.Repeat("1,", maxInfoValues)+"1]")
		}, "too many values"},
		"too much": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `"`+strings.Repeat("x", maxInfoSize)+`"`)
		}, "more than 131072 bytes"},
		"a redirect to another host": {func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, "http://127.0.0.2:1/", http.StatusFound)
		}, "sends to another host"},
		"a redirect to itself": {func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, req.RequestURI, http.StatusFound)
		}, "in a circle"},
		"a connection that is cut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := kubelet(t, row.answer).GetContainerInfo("127.0.0.1", "x")
			assert.ErrorContains(t, err, row.text)
			assert.Nil(t, got)
		})
	}
}

func TestARedirectOnTheSameKubeletIsFollowed(t *testing.T) {
	t.Parallel()
	info := kubelet(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/containerInfo" {
			http.Redirect(w, req, "/elsewhere", http.StatusFound)
			return
		}
		io.WriteString(w, `"here"`)
	})
	got, err := info.GetContainerInfo("127.0.0.1", "x")
	require.NoError(t, err)
	assert.Equal(t, "here", got)
}

func TestWithoutAClientTheDefaultOneAsks(t *testing.T) {
	t.Parallel()
	info := kubelet(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "1") })
	info.Client = nil
	got, err := info.GetContainerInfo("127.0.0.1", "x")
	require.NoError(t, err)
	assert.Equal(t, json.Number("1"), got)
}

// roundTripper is a network for a synctest bubble, where real ones block.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func answer(body string) *http.Response {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(body))}
}

// D21: a kubelet that hangs delays one request by a second.
func TestD21AKubeletThatHangsCostsASecondAndIsNotAskedAgainForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, hangs := 0, true
		info := &HTTPContainerInfo{Client: &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			asked++
			if hangs && req.URL.Host == "slow:0" {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return answer(`"well"`), nil
		})}}
		start := time.Now()
		_, err := info.GetContainerInfo("slow", "x")
		assert.Error(t, err)
		assert.Equal(t, kubeletTimeout, time.Since(start))

		_, err = info.GetContainerInfo("slow", "y")
		assert.ErrorIs(t, err, client.ErrKubeletSkipped)
		assert.Equal(t, kubeletTimeout, time.Since(start), "refused without waiting")
		assert.Equal(t, 1, asked)

		_, err = info.GetContainerInfo("quick", "x")
		assert.NoError(t, err, "another kubelet is not concerned")

		hangs = false
		time.Sleep(kubeletBackoff) // the bubble's clock: it takes no time
		got, err := info.GetContainerInfo("slow", "x")
		assert.NoError(t, err)
		assert.Equal(t, "well", got)
		_, err = info.GetContainerInfo("slow", "x")
		assert.NoError(t, err, "one good answer ends the wait")
		assert.Equal(t, 4, asked)
	})
}

func TestOnlyOneCallerFindsOutWhetherAFailedKubeletIsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		info := &HTTPContainerInfo{Client: &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			asked.Add(1)
			<-req.Context().Done()
			return nil, errors.New("still away")
		})}}
		_, err := info.GetContainerInfo("host", "x")
		assert.Error(t, err)
		time.Sleep(kubeletBackoff) // the bubble's clock: it takes no time
		var group sync.WaitGroup
		for range 32 {
			group.Go(func() {
				_, err := info.GetContainerInfo("host", "x")
				assert.Error(t, err)
			})
		}
		group.Wait()
		assert.EqualValues(t, 2, asked.Load())
	})
}

func TestContainerInfoIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	info := &HTTPContainerInfo{Client: &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		if strings.HasPrefix(req.URL.Host, "bad") {
			return nil, errors.New("away")
		}
		return answer("{}"), nil
	})}}
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for range 50 {
				_, err := info.GetContainerInfo(fmt.Sprintf("good-%d", i%4), "x")
				assert.NoError(t, err)
				_, err = info.GetContainerInfo(fmt.Sprintf("bad-%d", i%4), "x")
				assert.Error(t, err)
			}
		})
	}
	group.Wait()
}
