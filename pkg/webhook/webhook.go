// Package webhook calls webhooks: it sends a review to a server by POST, and receives it with a status.
package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"

	"kube2014/pkg/util/kubeconfig"
)

// Client calls one server. It is safe for concurrent use.
type Client struct {
	file  string // the kubeconfig; "" for none
	url   string
	http  *http.Transport
	token func() string
}

// New returns a client of the server that a kubeconfig names. An error names the file and the
// field, but no secret.
//
// The client ignores proxies of the environment. Files of a certificate and its key, or of a token,
// are read again when they change.
func New(file string) (*Client, error) {
	target, err := kubeconfig.Read(file)
	if err != nil {
		return nil, err
	}
	return &Client{file: file, url: target.URL.String(), token: target.Token, http: newTransport(target.TLS, CallTimeout)}, nil
}

// NewAt returns a client of the server at an https URL, for PostOnce. A nil pool means the authorities
// of the system. The client sends no credentials. The number of concurrent calls is not limited: a call
// that had to wait would have less time.
func NewAt(url string, authorities *x509.CertPool) *Client {
	connections := newTransport(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}, 0)
	connections.MaxConnsPerHost = 0
	return &Client{url: url, http: connections, token: func() string { return "" }}
}

// newTransport returns the connections to one server. It does not follow redirects, which may lead to
// servers that are not trusted. The timeout is for connecting; 0 means that of the context.
func newTransport(security *tls.Config, timeout time.Duration) *http.Transport {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: timeout}).DialContext,
		TLSClientConfig:        security,
		TLSHandshakeTimeout:    timeout,
		MaxConnsPerHost:        maxCallsAtOnce,
		MaxIdleConnsPerHost:    maxCallsAtOnce,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}
}

// maxCallsAtOnce bounds the load that requests with unknown tokens can cause.
const maxCallsAtOnce = 32

// CallTimeout bounds one call, AnswerTimeout all calls for one answer. A request may wait for two
// answers, its user and its authorization, and has 10 seconds at the first door. They are variables
// for tests on slow machines, which set them before they begin.
var (
	CallTimeout   = 3 * time.Second
	AnswerTimeout = 4 * time.Second
)

const (
	maxCalls   = 4
	firstPause = 250 * time.Millisecond // before the second call; each further pause is twice as long
	maxAnswer  = 1 << 20
)

var errUnencoded = errors.New("the review cannot be encoded")

// errUnwanted is the error of an answer of another kind than the review.
var errUnwanted = errors.New("the answer is of another kind or version, or broken")

// Post sends a review and decodes the answer, which must be of the same kind and version. It
// retries if the server cannot be reached or is temporarily unavailable, but not after a timeout
// of a call. It ends with its context, and after AnswerTimeout at the latest.
//
// An error names the kubeconfig and the cause, but nothing of the review and the answer. After an
// error, answer is undefined.
func (c *Client) Post(ctx context.Context, review, answer any) error {
	body, err := stdjson.Marshal(review)
	if err != nil {
		return errUnencoded
	}
	ctx, cancel := context.WithTimeout(ctx, AnswerTimeout)
	defer cancel()
	pause := firstPause
	for call := 1; ; call++ {
		text, again, err := c.callFor(ctx, CallTimeout, body, maxAnswer)
		if err == nil {
			err = decode(text, body, answer)
		}
		if err == nil {
			return nil
		}
		err = fmt.Errorf("the webhook of %s: %w", c.file, err)
		if !again || call == maxCalls {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause *= 2
		}
	}
}

// PostOnce sends a review in one call and decodes the answer of at most limit bytes, which must be
// of the same kind and version. It ends with its context, and after the timeout at the latest.
//
// An error has the cause, but not the URL, the review or the answer. It is Answered if the status
// is not 2xx. After an error, answer is undefined.
func (c *Client) PostOnce(ctx context.Context, timeout time.Duration, limit int64, review, answer any) error {
	body, err := stdjson.Marshal(review)
	if err != nil {
		return errUnencoded
	}
	text, err := c.CallOnce(ctx, timeout, limit, body)
	if err != nil {
		return err
	}
	return decode(text, body, answer)
}

// CallOnce is PostOnce for an encoded review. It returns the answer as it is, of any kind and version.
func (c *Client) CallOnce(ctx context.Context, timeout time.Duration, limit int64, review []byte) ([]byte, error) {
	text, _, err := c.callFor(ctx, timeout, review, limit)
	return text, err
}

// Answered is the error of an answer with this HTTP status.
type Answered int

// Error implements error.
func (code Answered) Error() string { return fmt.Sprintf("it answered %d", int(code)) }

// callFor makes one call, and reports whether a retry may succeed.
func (c *Client) callFor(ctx context.Context, timeout time.Duration, body []byte, limit int64) (text []byte, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, false, bare(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if token := c.token(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.RoundTrip(req)
	if err != nil {
		var distrusted *tls.CertificateVerificationError
		return nil, ctx.Err() == nil && !errors.As(err, &distrusted), bare(err)
	}
	defer resp.Body.Close()
	if err := ctx.Err(); err != nil { // the server may have answered without a body because of that
		return nil, false, err
	}
	if code := resp.StatusCode; code < 200 || code > 299 {
		return nil, code >= 500 || code == http.StatusTooManyRequests, Answered(code)
	}
	text, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, ctx.Err() == nil, bare(err)
	}
	if int64(len(text)) > limit {
		return nil, false, fmt.Errorf("the answer has more than %d bytes", limit)
	}
	return text, false, nil
}

// bare removes the URL from an error: its query may contain a secret.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

func decode(text, review []byte, answer any) error {
	var sent, answered metav1.TypeMeta
	if json.UnmarshalCaseSensitivePreserveInts(review, &sent) != nil ||
		json.UnmarshalCaseSensitivePreserveInts(text, &answered) != nil || answered != sent ||
		json.UnmarshalCaseSensitivePreserveInts(text, answer) != nil {
		return errUnwanted
	}
	return nil
}
