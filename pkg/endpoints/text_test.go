package endpoints_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
)

// slowText is a text of two pieces, with minutes between them.
type slowText struct{}

func (slowText) Stream(context.Context, rest.Key, url.Values) (io.ReadCloser, error) {
	text, writer := io.Pipe()
	go func() {
		_, _ = writer.Write([]byte("begin "))
		time.Sleep(5 * time.Minute)
		_, _ = writer.Write([]byte("end"))
		writer.Close()
	}()
	return text, nil
}

func TestNoTimeLimitOfARequestEndsAText(t *testing.T) {
	t.Parallel()
	for _, protocols := range []*http.Protocols{nil, onlyHTTP2()} {
		t.Run(fmt.Sprint("HTTP/2: ", protocols != nil), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				gv := corev1.SchemeGroupVersion
				row := rest.Resource{GroupVersion: gv, Kind: gv.WithKind("Pod"), Name: "pods", Namespaced: true}
				d := OpenWith(t, row.Subresource("log", slowText{}))
				resp, err := connectedBy(t, d, protocols)().Get("http://x" + Pods + "/a/log?follow=true")
				require.NoError(t, err)
				text, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				assert.Equal(t, "begin end", string(text))
				assert.NoError(t, resp.Body.Close())
			})
		})
	}
}
