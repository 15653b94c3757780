package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
)

// remoteProtocols are those of streams of commands. Over SPDY they are the same.
var remoteProtocols = []string{remotecommand.StreamProtocolV5Name, remotecommand.StreamProtocolV4Name}

// wanted are the streams that a client wants.
type wanted struct{ stdin, stdout, stderr, tty bool }

// wantedOf reads today's query, and reports whether it wants any. A terminal has no stderr.
func wantedOf(req *http.Request) (w wanted, any bool) {
	is := func(name string) bool { return req.URL.Query().Get(name) == "1" }
	w = wanted{is(corev1.ExecStdinParam), is(corev1.ExecStdoutParam), is(corev1.ExecStderrParam), is(corev1.ExecTTYParam)}
	w.stderr = w.stderr && !w.tty
	return w, w.stdin || w.stdout || w.stderr
}

// remote are the streams of a client.
type remote struct {
	cri.Streams
	status io.Writer
	close  func() error
}

// serveExec runs a command in a container.
func (s *server) serveExec(w http.ResponseWriter, req *http.Request) {
	command := req.URL.Query()[corev1.ExecCommandParam]
	s.serveRemote(w, req, func(c cri.Container, streams cri.Streams) error {
		code, err := c.Exec(req.Context(), command, streams)
		switch {
		case err != nil:
			return fmt.Errorf("error executing command in container: %w", err)
		case code != 0:
			return exitError(code)
		}
		return nil
	})
}

// serveAttach attaches a client to a container.
func (s *server) serveAttach(w http.ResponseWriter, req *http.Request) {
	s.serveRemote(w, req, func(c cri.Container, streams cri.Streams) error {
		if err := c.Attach(req.Context(), streams); err != nil {
			return fmt.Errorf("error attaching to container: %w", err)
		}
		return nil
	})
}

// exitError is the error of a command that has ended with a code.
type exitError int32

// Error implements error.
func (e exitError) Error() string {
	return fmt.Sprintf("command terminated with non-zero exit code: %d", int32(e))
}

// statusOf returns how a command has ended, as clients are told.
func statusOf(err error) metav1.Status {
	switch code, exited := err.(exitError); {
	case err == nil:
		return metav1.Status{Status: metav1.StatusSuccess}
	case exited:
		return metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason, Message: err.Error(),
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(int(code))}}},
		}
	}
	return metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError,
		Message: "Internal error occurred: " + err.Error(),
	}
}

// serveRemote lets a client use a container that runs, as today's kubelet does.
func (s *server) serveRemote(w http.ResponseWriter, req *http.Request, use func(cri.Container, cri.Streams) error) {
	wants, any := wantedOf(req)
	if !any {
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
	r := open(w, req, wants)
	if r == nil {
		return
	}
	defer r.close()
	text, err := json.Marshal(statusOf(use(c, r.Streams)))
	if err == nil {
		_, _ = r.status.Write(text) // the client has gone
	}
}

// isOf reports whether a request is about this pod, and not one of the same name with another uid.
func isOf(pod Pod, req *http.Request) bool {
	uid := req.PathValue("uid")
	return uid == "" || uid == string(pod.Object().UID)
}

// overWebSocket opens the streams as channels of a web socket. It returns nil if it has answered with an error.
func overWebSocket(w http.ResponseWriter, req *http.Request, wants wanted) *remote {
	// Sizes of terminals come by another channel, and are ignored.
	channels := []wsstream.ChannelType{
		remotecommand.StreamStdIn:  onlyIf(wants.stdin, wsstream.ReadChannel),
		remotecommand.StreamStdOut: onlyIf(wants.stdout, wsstream.WriteChannel),
		remotecommand.StreamStdErr: onlyIf(wants.stderr, wsstream.WriteChannel),
		remotecommand.StreamErr:    wsstream.WriteChannel,
	}
	protocols := map[string]wsstream.ChannelProtocolConfig{"v4." + wsstream.Base64ChannelWebSocketProtocol: {Channels: channels}}
	for _, name := range remoteProtocols {
		protocols[name] = wsstream.ChannelProtocolConfig{Binary: true, Channels: channels}
	}
	conn := wsstream.NewConn(protocols)
	conn.SetIdleTimeout(idleTimeout)
	_, streams, err := conn.Open(w, req)
	if err != nil {
		return nil
	}
	r := &remote{Streams: cri.Streams{TTY: wants.tty}, status: streams[remotecommand.StreamErr], close: conn.Close}
	if wants.stdin {
		r.Stdin = streams[remotecommand.StreamStdIn]
	}
	first := r.status
	if wants.stderr {
		r.Stderr = streams[remotecommand.StreamStdErr]
		first = r.Stderr
	}
	if wants.stdout {
		r.Stdout = streams[remotecommand.StreamStdOut]
		first = r.Stdout
	}
	_, _ = first.Write(nil) // so that the client sees that it is connected, or else it has gone
	return r
}

func onlyIf(wanted bool, kind wsstream.ChannelType) wsstream.ChannelType {
	if wanted {
		return kind
	}
	return wsstream.IgnoreChannel
}

// overSPDY waits for the streams that the client opens. It returns nil if it has answered with an error, or the
// client has not opened them in time.
func overSPDY(w http.ResponseWriter, req *http.Request, wants wanted) *remote {
	conn, streams := upgrade(w, req, remoteProtocols)
	if conn == nil {
		return nil
	}
	missing := map[string]bool{
		corev1.StreamTypeError: true, corev1.StreamTypeResize: wants.tty,
		corev1.StreamTypeStdin: wants.stdin, corev1.StreamTypeStdout: wants.stdout, corev1.StreamTypeStderr: wants.stderr,
	}
	maps.DeleteFunc(missing, func(_ string, is bool) bool { return !is })
	ctx, cancel := context.WithTimeout(req.Context(), createTimeout)
	defer cancel()
	r := &remote{Streams: cri.Streams{TTY: wants.tty}, close: conn.Close}
	for len(missing) > 0 {
		select {
		case s := <-streams:
			kind := s.Headers().Get(corev1.StreamType)
			if !missing[kind] {
				_ = s.Reset() // the client has gone
				continue
			}
			delete(missing, kind)
			r.set(kind, s)
			s.wait(ctx)
		case <-ctx.Done():
			_ = conn.Close() // it has ended anyway
			return nil
		}
	}
	go refuse(req.Context(), streams)
	return r
}

// set sets the stream of a kind.
func (r *remote) set(kind string, s io.ReadWriter) {
	switch kind {
	case corev1.StreamTypeError:
		r.status = s
	case corev1.StreamTypeStdin:
		r.Stdin = s
	case corev1.StreamTypeStdout:
		r.Stdout = s
	case corev1.StreamTypeStderr:
		r.Stderr = s
	case corev1.StreamTypeResize:
		go func() { _, _ = io.Copy(io.Discard, s) }() // sizes of terminals are ignored
	}
}
