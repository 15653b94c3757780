// Package webhooktest is a webhook's server for tests.
package webhooktest

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// Serve serves HTTPS until the end of a test.
func Serve(t testing.TB, handler http.HandlerFunc) *httptest.Server {
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return server
}

// Kubeconfig writes the kubeconfig of a server and returns the name of the file. User is what
// stands in the braces of its user, in the YAML format.
func Kubeconfig(t testing.TB, server *httptest.Server, user string) (file string) {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: webhook
contexts: [{name: webhook, context: {cluster: server, user: us}}]
clusters: [{name: server, cluster: {server: "%s", certificate-authority-data: %s}}]
users: [{name: us, user: {%s}}]
`, server.URL, base64.StdEncoding.EncodeToString(ca), user)
	file = filepath.Join(t.TempDir(), "webhook.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
