package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"

	"github.com/coder/websocket"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// maxForwards is how many connections one session has at a time, with those that are not complete.
const maxForwards = 1000

// Dial opens a connection. It is safe for concurrent use.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// forwarder passes on the connections of a session to a pod.
type forwarder struct {
	pod  Pod
	dial Dial
}

// servePortForward passes on connections to the ports of a pod, as today's kubelet does.
func (s *Server) servePortForward(w http.ResponseWriter, req *http.Request) {
	pod := s.host.Pod(req.PathValue("namespace") + "/" + req.PathValue("pod"))
	if pod == nil {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return
	}
	if !isOf(pod, req) {
		http.Error(w, "pod not found", http.StatusNotFound)
		return
	}
	f := forwarder{pod, s.dial}
	if wsstream.IsWebSocketRequest(req) {
		f.overTunnel(w, req)
	} else if conn, streams := upgrade(w, req, []string{portforward.PortForwardV1Name}); conn != nil {
		f.serve(req.Context(), conn, streams)
	}
}

// overTunnel speaks SPDY in the messages of a web socket.
func (f forwarder) overTunnel(w http.ResponseWriter, req *http.Request) {
	const protocol = portforward.WebsocketsSPDYTunnelingPortForwardV1
	socket, err := websocket.Accept(w, req, &websocket.AcceptOptions{Subprotocols: []string{protocol}, InsecureSkipVerify: true}) // the session has verified it
	if err != nil {
		return // it has answered
	}
	defer socket.CloseNow() // it is closed already
	if socket.Subprotocol() != protocol {
		_ = socket.Close(websocket.StatusProtocolError, "no known protocol") // the client has gone
		return
	}
	streams := make(chan opened)
	conn, err := spdy.NewServerConnection(websocket.NetConn(req.Context(), socket, websocket.MessageBinary), sendTo(req.Context(), streams))
	if err != nil {
		return
	}
	conn.SetIdleTimeout(idleTimeout)
	f.serve(req.Context(), conn, streams)
}

// serve passes on connections until the client closes its connection or the context ends. Each needs two streams.
func (f forwarder) serve(ctx context.Context, conn httpstream.Connection, streams <-chan opened) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer conn.Close()
	defer cancel()
	waiting := map[string]opened{} // for the other stream
	places := make(chan struct{}, maxForwards)
	for {
		select {
		case <-ctx.Done():
			return
		case <-conn.CloseChan():
			return
		case s := <-streams:
			id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
			first, exists := waiting[id]
			if !exists && len(waiting)+len(places) < maxForwards {
				waiting[id] = s
				continue
			}
			pair := map[string]opened{s.Headers().Get(corev1.StreamType): s}
			if exists {
				pair[first.Headers().Get(corev1.StreamType)] = first
			}
			data, errs := pair[corev1.StreamTypeData], pair[corev1.StreamTypeError]
			if data.Stream == nil || errs.Stream == nil {
				_ = s.Reset() // the client has gone
				conn.RemoveStreams(s)
				continue
			}
			delete(waiting, id)
			places <- struct{}{} // there is one
			running.Go(func() {
				defer func() { <-places }()
				defer conn.RemoveStreams(data, errs)
				f.pass(ctx, data, errs)
			})
		}
	}
}

// pass passes on a connection, and tells an error as today's kubelet does.
func (f forwarder) pass(ctx context.Context, data, errs opened) {
	data.wait(ctx)
	errs.wait(ctx)
	port, err := parsePort(data.Headers().Get(corev1.PortHeader))
	if err == nil {
		err = f.forward(ctx, port, data)
	}
	if err != nil {
		pod := f.pod.Object()
		_, _ = fmt.Fprintf(errs, "error forwarding port %d to pod %s, uid %s: %v", port, pod.Name, pod.UID, err) // the client has gone
		_ = data.Reset()                                                                                         // the client has gone
	}
	_ = errs.Close() // the client has gone
}

func parsePort(text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("%.40q is not a port", text)
	}
	return uint16(port), nil
}

// forward connects to a port, and passes on what both sides send, until both have ended.
func (f forwarder) forward(ctx context.Context, port uint16, client io.ReadWriteCloser) error {
	conn, err := f.dial(ctx, "tcp", f.pod.Address(port))
	if err != nil {
		return fmt.Errorf("failed to connect to port %d inside the pod: %w", port, err)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	var sending sync.WaitGroup
	sending.Go(func() {
		if _, err := io.Copy(conn, client); err != nil {
			_ = conn.Close() // it has failed anyway
		} else if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // the other side has gone
		}
	})
	_, err = io.Copy(client, conn)
	_ = client.Close() // the client has gone
	if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
		err = nil
	}
	sending.Wait()
	return err
}
