// Package webhooktest is a webhook's server for tests.
package webhooktest

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// Serve serves HTTPS until the end of a test. Changes change the server before it begins.
func Serve(t testing.TB, handler http.HandlerFunc, changes ...func(*httptest.Server)) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that do not trust it
	for _, change := range changes {
		change(server)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// Kubeconfig writes the kubeconfig of a server and returns the name of the file. User is what
// stands in the braces of its user, in the YAML format.
func Kubeconfig(t testing.TB, server *httptest.Server, user string) (file string) {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: webhook
contexts: [{name: webhook, context: {cluster: server, user: us}}]
clusters: [{name: server, cluster: {server: "%s", certificate-authority-data: %s}}]
users: [{name: us, user: {%s}}]
`, server.URL, base64.StdEncoding.EncodeToString(CA(server)), user)
	file = filepath.Join(t.TempDir(), "webhook.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// CA returns the certificates that a client of a server is to trust, in the PEM format.
func CA(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
