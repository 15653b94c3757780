package client

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
)

// maxErrorSize is how much of an error's line is read at most, in bytes.
const maxErrorSize = 64 << 10

var defaultHTTP = &http.Client{Timeout: 30 * time.Second}

func list[List any](c *Client, resource string, labels map[string]string) (List, error) {
	path := resource
	if len(labels) > 0 {
		query := EncodeLabelQuery(labels)
		if decoded, err := DecodeLabelQuery(query); err != nil || !maps.Equal(decoded, labels) {
			var none List
			return none, api.NewInvalid("labels", "a key or value with ',' or '=' in it, or an empty key, cannot be queried")
		}
		path += "?" + url.Values{"labels": {query}}.Encode()
	}
	return send[List](c, http.MethodGet, path, nil)
}

func (c *Client) remove(resource, id string) error {
	if err := api.ValidateID(id); err != nil {
		return err
	}
	return c.do(http.MethodDelete, resource+"/"+id, nil, nil)
}

// sendTo checks the id, which could otherwise lead to another path.
func sendTo[Answer any](c *Client, method, resource, id string, object interface{}) (Answer, error) {
	if err := api.ValidateID(id); err != nil {
		var none Answer
		return none, err
	}
	return send[Answer](c, method, resource+"/"+id, object)
}

func send[Answer any](c *Client, method, path string, object interface{}) (Answer, error) {
	var answer Answer
	err := c.do(method, path, object, &answer)
	return answer, err
}

// do sends a request to a path below the prefix and decodes the answer, unless that
// is nil.
func (c *Client) do(method, path string, object, answer interface{}) error {
	var body io.Reader
	if object != nil {
		data, err := v1beta1.Codec.Marshal(object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		body = bytes.NewReader(data)
	}
	prefix := cmp.Or(c.Prefix, DefaultPrefix)
	req, err := http.NewRequest(method, strings.TrimRight(c.Host, "/")+"/"+strings.Trim(prefix, "/")+"/"+path, body)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := cmp.Or(c.HTTP, defaultHTTP).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refusal(resp)
	}
	data, err := io.ReadAll(resp.Body)
	if err == nil && answer != nil {
		err = v1beta1.Codec.Unmarshal(data, answer)
	}
	if err != nil {
		return fmt.Errorf("%s %s: cannot decode the answer: %w", method, path, err)
	}
	return nil
}

var kinds = map[int]api.ErrorKind{
	http.StatusBadRequest:            api.Invalid,
	http.StatusForbidden:             api.Forbidden,
	http.StatusNotFound:              api.NotFound,
	http.StatusMethodNotAllowed:      api.MethodNotAllowed,
	http.StatusConflict:              api.Conflict,
	http.StatusRequestEntityTooLarge: api.TooLarge,
	http.StatusServiceUnavailable:    api.Unavailable,
}

// refusal returns the error that the server answered.
func refusal(resp *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorSize))
	if err != nil {
		return fmt.Errorf("the server answered %s, and its reason could not be read: %w", resp.Status, err)
	}
	kind, ok := kinds[resp.StatusCode]
	if !ok {
		kind = api.Internal
	}
	line := strings.TrimSpace(string(data))
	if _, reason, ok := strings.Cut(line, ": "); ok {
		line = reason
	}
	if line == "" {
		line = "the server answered " + resp.Status
	}
	return api.ParseError(kind, line)
}
