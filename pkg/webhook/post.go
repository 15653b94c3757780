package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"sigs.k8s.io/json"
)

// How long one call may take, and all of them for one answer. A request may have to wait for two
// answers, who sends it and whether it is allowed, and has 10 seconds at the first door. They are
// variables for tests on slow machines, which set them before they begin.
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

// errUnwanted is the error of a server that answers something else than it was asked for.
var errUnwanted = errors.New("the answer is of another kind or version, or broken")

// Post sends a review, and decodes the answer of the server, which must be of the same kind
// and version. It tries again if the server cannot be reached, or answers that it cannot
// answer now; it ends with its context, and after four seconds at the latest. A call that
// takes too long is not made again.
//
// An error names the kubeconfig and the cause, but nothing of what was sent or answered. After
// an error, answer is undefined.
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

// PostOnce sends a review in one call, and decodes the answer of at most limit bytes, which must be
// of the same kind and version. It ends with its context, and after the timeout at the latest.
//
// An error tells the cause, without the URL, and nothing of what was sent or answered. It is
// Answered if the server did not answer with a 2xx status. After an error, answer is undefined.
func (c *Client) PostOnce(ctx context.Context, timeout time.Duration, limit int64, review, answer any) error {
	body, err := stdjson.Marshal(review)
	if err != nil {
		return errUnencoded
	}
	text, _, err := c.callFor(ctx, timeout, body, limit)
	if err != nil {
		return err
	}
	return decode(text, body, answer)
}

// Answered is the error of a server that answers with this HTTP status.
type Answered int

// Error implements error.
func (code Answered) Error() string { return fmt.Sprintf("it answered %d", int(code)) }

// callFor makes one call, and reports whether another one may do better.
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
	if err := ctx.Err(); err != nil { // a server that sees us leave may still answer, with nothing
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

// bare takes the URL out of an error: a secret may stand in its query.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

func decode(text, review []byte, answer any) error {
	type meta struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	var asked, answered meta
	if json.UnmarshalCaseSensitivePreserveInts(review, &asked) != nil ||
		json.UnmarshalCaseSensitivePreserveInts(text, &answered) != nil || answered != asked ||
		json.UnmarshalCaseSensitivePreserveInts(text, answer) != nil {
		return errUnwanted
	}
	return nil
}
