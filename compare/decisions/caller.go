package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/auth/authorizer/authorizertest"
)

// caller sends requests to a server.
type caller struct {
	url  string
	http *http.Client
}

// newCaller returns a caller of a server that has made its certificate itself.
func newCaller(url string) caller {
	return caller{url, &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
}

// status is what is read of an answer that is an error.
type status struct{ Message string }

// send sends a request in the name of somebody, or as a member of system:masters in that of
// nobody. The answer is read into a value if it is no error.
func (c caller) send(ctx context.Context, who *authorizertest.Who, method, path string, body, answer any) (code int, message string, err error) {
	return c.sendWith(ctx, token, who, method, path, body, answer)
}

// sendWith is send for the owner of a token.
func (c caller) sendWith(ctx context.Context, token string, who *authorizertest.Who, method, path string, body, answer any) (code int, message string, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, "", err
		}
	}
	code, text, err = c.do(ctx, token, who, method, path, text)
	switch {
	case err != nil:
		return 0, "", err
	case code >= http.StatusBadRequest:
		var s status
		_ = json.Unmarshal(text, &s) // what is no Status has no message
		return code, s.Message, nil
	case answer != nil:
		err = json.Unmarshal(text, answer)
	}
	return code, "", err
}

// do sends a request of the owner of a token, and returns the body of the answer.
func (c caller) do(ctx context.Context, token string, who *authorizertest.Who, method, path string, body []byte) (code int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", string(types.MergePatchType))
	}
	if who != nil {
		req.Header.Set("Impersonate-User", who.User)
		req.Header["Impersonate-Group"] = who.Groups
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// must sends a request as a member of system:masters. An answer that is an error is one.
func (c caller) must(ctx context.Context, method, path string, body, answer any) error {
	code, message, err := c.send(ctx, nil, method, path, body, answer)
	if err == nil && code >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %d: %s", method, path, code, message)
	}
	return err
}
