package v1

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// requestTimeout is how long a request may take whose context has no deadline.
	requestTimeout = 30 * time.Second
	// maxAnswerSize is the size of the largest answer that is read, in bytes.
	maxAnswerSize = 256 << 20
	// maxErrorSize is how much of an error is read at most, in bytes.
	maxErrorSize = 1 << 20
)

// request is a request for objects of a version.
type request struct {
	method      string
	under       []string // the segments above that of the version
	version     schema.GroupVersion
	path        []string // the segments below that of the version
	accept      string   // the type of the answer
	query       url.Values
	contentType string
	body        interface{} // nil for none; bytes are sent as they are
}

// with returns the request with a body in JSON.
func (r request) with(body interface{}) request {
	r.contentType, r.body = runtime.ContentTypeJSON, body
	return r
}

// as returns the request with an answer of a kind, in a form that has %s for it, or as it is.
func (r request) as(form, kind string) request {
	if form != "" {
		form = fmt.Sprintf(form, kind)
	}
	r.accept = runtime.ContentTypeProtobuf + form + "," + runtime.ContentTypeJSON + form
	return r
}

// inJSON returns the request with an answer in JSON.
func (r request) inJSON() request {
	r.accept = runtime.ContentTypeJSON
	return r
}

// failed says which request has gone wrong, without the server's doing.
func (r request) failed(err error) error {
	return fmt.Errorf("%s %s: %w", r.method, strings.Join(r.path, "/"), err)
}

// expect returns an error if the answer is of another kind than expected.
func (r request) expect(expected, kind string) error {
	if kind == expected {
		return nil
	}
	return r.failed(fmt.Errorf("the answer is of the kind %q, not %s", kind, expected))
}

// url returns where the request goes. It refuses names that would lead to another path.
func (r request) url(host string) (string, error) {
	for _, name := range r.path {
		if name == "" {
			return "", r.failed(errors.New("a name is empty"))
		}
		if wrong := content.IsPathSegmentName(name); len(wrong) > 0 {
			return "", r.failed(fmt.Errorf("the name %q %s", name, strings.Join(wrong, ", ")))
		}
	}
	address, err := url.Parse(host)
	if err != nil {
		return "", err
	}
	root := []string{"apis", r.version.Group, r.version.Version}
	if r.version.Group == "" {
		root = []string{"api", r.version.Version}
	}
	address = address.JoinPath(slices.Concat(r.under, root, r.path)...)
	address.RawQuery = r.query.Encode()
	return address.String(), nil
}

// encoded returns the body.
func (r request) encoded() ([]byte, error) {
	switch body := r.body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return body, nil
	}
	return json.Marshal(r.body)
}

// do sends a request and decodes the answer.
func (c *Client) do(ctx context.Context, r request, answer interface{}) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	most := c.answerLimit()
	var data bytes.Buffer
	data.Grow(int(min(max(0, resp.ContentLength), int64(most))) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(resp.Body, int64(most)+1)); err != nil {
		return r.failed(fmt.Errorf("cannot read the answer: %w", err))
	}
	if data.Len() > most {
		return r.failed(fmt.Errorf("the answer is larger than %d bytes: a list can be read in pages", most))
	}
	if err := decode(isProtobuf(resp), data.Bytes(), answer); err != nil {
		return r.failed(fmt.Errorf("cannot decode the answer: %w", err))
	}
	return nil
}

// answerLimit returns the size of the largest answer, or event, that is read.
func (c *Client) answerLimit() int { return cmp.Or(c.maxAnswer, maxAnswerSize) }

// send sends a request, and returns the answer, or an error if the server refuses. The caller
// closes the body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	address, err := r.url(c.Host)
	if err != nil {
		return nil, err
	}
	body, err := r.encoded()
	if err != nil {
		return nil, r.failed(err)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", r.accept)
	req.Header.Set("Accept-Encoding", "identity") // like today's parts: the server is near, and to compress takes longer than to send
	if c.UserAgent != "" {
		req.Header.Set("User-Agent", c.UserAgent)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", r.contentType)
	}
	resp, err := cmp.Or(c.HTTP, http.DefaultClient).Do(req)
	if err != nil || resp.StatusCode/100 == 2 {
		return resp, err
	}
	defer resp.Body.Close()
	return nil, r.refusal(resp)
}

// refusal returns the error that the server answered: its status, or, if something between
// here and the server answered, an error made from the code.
func (r request) refusal(resp *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorSize))
	if err != nil {
		return r.failed(fmt.Errorf("the server answered %s, and its reason could not be read: %w", resp.Status, err))
	}
	var status metav1.Status
	if err := decode(isProtobuf(resp), data, &status); err == nil && status.Kind == "Status" && status.Status == metav1.StatusFailure {
		return &apierrors.StatusError{ErrStatus: status}
	}
	later, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // 0 if it is missing, or a date
	return apierrors.NewGenericServerResponse(resp.StatusCode, r.method, schema.GroupResource{Resource: strings.Join(r.path, "/")}, "",
		strings.TrimSpace(string(data)), later, true)
}

// IsAnswer reports whether an error is what the server answered, or something between here and the server.
func IsAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// IsRefusal reports whether the server has refused a request, so that a retry is useless. After any
// other error the request may have taken effect, or may later.
func IsRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code/100 == 4 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}
