package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
)

// remoteProtocols are those of streams of commands. Over SPDY they are the same.
var remoteProtocols = []string{remotecommand.StreamProtocolV5Name, remotecommand.StreamProtocolV4Name}

// kindsOf returns the kinds of streams that today's query asks for, and whether it can be. A terminal has no stderr,
// and tells its sizes.
func kindsOf(req *http.Request) (kinds map[string]bool, ok bool) {
	kinds = map[string]bool{}
	for name, kind := range map[string]string{
		corev1.ExecStdinParam: corev1.StreamTypeStdin, corev1.ExecStdoutParam: corev1.StreamTypeStdout, corev1.ExecStderrParam: corev1.StreamTypeStderr,
	} {
		if req.URL.Query().Get(name) == "1" {
			kinds[kind] = true
		}
	}
	tty := req.URL.Query().Get(corev1.ExecTTYParam) == "1"
	if tty {
		delete(kinds, corev1.StreamTypeStderr)
	}
	ok = len(kinds) > 0
	kinds[corev1.StreamTypeError] = true
	if tty {
		kinds[corev1.StreamTypeResize] = true
	}
	return kinds, ok
}

// serveExec runs a command in a container.
func (s *Server) serveExec(w http.ResponseWriter, req *http.Request) {
	s.serveRemote(w, req, "error executing command in container", func(c cri.Container, streams cri.Streams) (int32, error) {
		return c.Exec(req.Context(), req.URL.Query()[corev1.ExecCommandParam], streams)
	})
}

// serveAttach attaches a client to a container.
func (s *Server) serveAttach(w http.ResponseWriter, req *http.Request) {
	s.serveRemote(w, req, "error attaching to container", func(c cri.Container, streams cri.Streams) (int32, error) {
		return 0, c.Attach(req.Context(), streams)
	})
}

// statusOf returns how a command has ended, as clients are told: with a code, or an error of something.
func statusOf(code int32, what string, err error) metav1.Status {
	switch {
	case err != nil:
		return metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError,
			Message: fmt.Sprintf("Internal error occurred: %s: %v", what, err),
		}
	case code != 0:
		return metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason, Message: fmt.Sprintf("command terminated with non-zero exit code: %d", code),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(int(code))}}},
		}
	}
	return metav1.Status{Status: metav1.StatusSuccess}
}

// serveRemote lets a client use a container that runs, as today's kubelet does.
func (s *Server) serveRemote(w http.ResponseWriter, req *http.Request, what string, use func(cri.Container, cri.Streams) (int32, error)) {
	kinds, ok := kindsOf(req)
	if !ok {
		http.Error(w, "you must specify at least 1 of stdin, stdout, stderr", http.StatusBadRequest)
		return
	}
	pod := s.host.Pod(req.PathValue("namespace") + "/" + req.PathValue("pod"))
	if pod == nil {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return
	}
	c := pod.Running(req.PathValue("container"))
	if c == nil || !isOf(pod, req) {
		http.Error(w, fmt.Sprintf("container not found (%q)", req.PathValue("container")), http.StatusInternalServerError)
		return
	}
	open := overSPDY
	if wsstream.IsWebSocketRequest(req) {
		open = overWebSocket
	}
	streams, conn := open(w, req, kinds)
	if conn == nil {
		return
	}
	defer conn.Close()
	if sizes := streams[corev1.StreamTypeResize]; sizes != nil {
		go func() { _, _ = io.Copy(io.Discard, sizes) }() // they are ignored
	}
	code, err := use(c, cri.Streams{
		Stdin: streams[corev1.StreamTypeStdin], Stdout: streams[corev1.StreamTypeStdout], Stderr: streams[corev1.StreamTypeStderr], TTY: kinds[corev1.StreamTypeResize],
	})
	if text, err := json.Marshal(statusOf(code, what, err)); err == nil {
		_, _ = streams[corev1.StreamTypeError].Write(text) // the client has gone
	}
}

// isOf reports whether a request is about this pod, and not one of the same name with another uid.
func isOf(pod Pod, req *http.Request) bool {
	uid := req.PathValue("uid")
	return uid == "" || uid == string(pod.Object().UID)
}

// channelKinds are the kinds of the channels of a web socket.
var channelKinds = []string{
	remotecommand.StreamStdIn: corev1.StreamTypeStdin, remotecommand.StreamStdOut: corev1.StreamTypeStdout, remotecommand.StreamStdErr: corev1.StreamTypeStderr,
	remotecommand.StreamErr: corev1.StreamTypeError, remotecommand.StreamResize: corev1.StreamTypeResize,
}

// overWebSocket opens streams as channels of a web socket. It returns nil if it has answered with an error.
func overWebSocket(w http.ResponseWriter, req *http.Request, kinds map[string]bool) (map[string]io.ReadWriter, io.Closer) {
	channels, protocols := make([]wsstream.ChannelType, len(channelKinds)), map[string]wsstream.ChannelProtocolConfig{}
	for i, kind := range channelKinds {
		switch {
		case !kinds[kind]:
			channels[i] = wsstream.IgnoreChannel
		case kind == corev1.StreamTypeStdin, kind == corev1.StreamTypeResize:
			channels[i] = wsstream.ReadChannel
		default:
			channels[i] = wsstream.WriteChannel
		}
	}
	for _, name := range remoteProtocols {
		protocols[name] = wsstream.ChannelProtocolConfig{Binary: true, Channels: channels}
	}
	conn := wsstream.NewConn(protocols)
	conn.SetIdleTimeout(idleTimeout)
	_, opened, err := conn.Open(w, req)
	if err != nil {
		return nil, nil
	}
	streams := map[string]io.ReadWriter{}
	for i, kind := range channelKinds {
		if kinds[kind] {
			streams[kind] = opened[i]
		}
	}
	first := slices.IndexFunc(channels, func(channel wsstream.ChannelType) bool { return channel == wsstream.WriteChannel })
	_, _ = opened[first].Write(nil) // so that the client sees that it is connected, or else it has gone
	return streams, conn
}

// overSPDY waits for the streams that the client opens. It returns nil if it has answered with an error, or the
// client has not opened them in time.
func overSPDY(w http.ResponseWriter, req *http.Request, kinds map[string]bool) (map[string]io.ReadWriter, io.Closer) {
	conn, opening := upgrade(w, req, remoteProtocols)
	if conn == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(req.Context(), createTimeout)
	defer cancel()
	streams := map[string]io.ReadWriter{}
	for len(streams) < len(kinds) {
		select {
		case s := <-opening:
			kind := s.Headers().Get(corev1.StreamType)
			if !kinds[kind] || streams[kind] != nil {
				_ = s.Reset() // the client has gone
				continue
			}
			streams[kind] = s
			s.wait(ctx)
		case <-ctx.Done():
			_ = conn.Close() // it has ended anyway
			return nil, nil
		}
	}
	go refuse(req.Context(), opening)
	return streams, conn
}
