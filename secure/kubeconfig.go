package main

import (
	"crypto/rand"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// makeTokens writes a token file: alice may do everything, bob nothing, and the first of the machines what a node may.
func makeTokens(path string) error {
	return writeFile(path, fmt.Appendf(nil, "%s,alice,1,system:masters\n%s,bob,2,\"dev,ops\"\n%s,system:node:127.0.0.1,3,system:nodes\n", rand.Text(), rand.Text(), rand.Text()))
}

// token is a line of a token file.
type token struct{ text, user string }

func readTokens(path string) ([]token, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	reader := csv.NewReader(file)
	reader.FieldsPerRecord = -1
	lines, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var tokens []token
	for _, fields := range lines {
		if len(fields) < 3 {
			return nil, errors.New(path + ": a line needs token, user and uid")
		}
		tokens = append(tokens, token{fields[0], fields[1]})
	}
	return tokens, nil
}

type m = map[string]any

// writeKubeconfig writes a kubeconfig with a context for the user of the certificate, and one
// for each other user of a token. It returns their names. Another one leads the user of the certificate to
// the reviews of rights. Paths in a kubeconfig are relative to its folder.
func writeKubeconfig(dir string, port uint, tokens []token) ([]string, error) {
	const cluster, admin = "kube2014", "admin"
	var names []string
	var users, contexts []m
	add := func(name string, user m) {
		names = append(names, name)
		users = append(users, m{"name": name, "user": user})
		contexts = append(contexts, m{"name": name, "context": m{"cluster": cluster, "user": name}})
	}
	add(admin, m{"client-certificate": adminCert, "client-key": adminKey})
	known := map[string]bool{admin: true}
	for _, one := range tokens {
		if !known[one.user] {
			add(one.user, m{"token": one.text})
			known[one.user] = true
		}
	}
	server := fmt.Sprintf("https://127.0.0.1:%d", port)
	write := func(file, path string, users, contexts []m) error {
		text, err := yaml.Marshal(m{"apiVersion": "v1", "kind": "Config", "current-context": admin, "users": users, "contexts": contexts,
			"clusters": []m{{"name": cluster, "cluster": m{"server": server + path, "certificate-authority": caFile}}}})
		if err != nil {
			return err
		}
		file = filepath.Join(dir, file)
		if err := writeFile(file+".new", text); err != nil {
			return err
		}
		return os.Rename(file+".new", file)
	}
	if err := write(kubeconfigFile, "", users, contexts); err != nil {
		return nil, err
	}
	return names, write(reviewsFile, "/apis/authorization.k8s.io/v1/subjectaccessreviews", users[:1], contexts[:1])
}
