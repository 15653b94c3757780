package etcdtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// wantsUser reports whether etcd has answered that it needs a user. Its gateway is its API over
// HTTP.
func wantsUser(answer string) bool {
	return strings.Contains(answer, "user name is empty") || strings.Contains(answer, "against gateway will be ignored")
}

// EnableAuth lets etcd's v3 API answer only to users: root, who may do everything, and
// those of AddUser. The v2 API does not know them.
func (s *Server) EnableAuth(rootPassword string) error {
	return s.post(
		step{"/v3/auth/user/add", fields{"name": "root", "password": rootPassword}},
		step{"/v3/auth/user/grant", fields{"user": "root", "role": "root"}},
		step{"/v3/auth/enable", fields{}},
	)
}

// AddUser adds a user who may read and write the keys with a prefix, before EnableAuth.
func (s *Server) AddUser(name, password, prefix string) error {
	end := []byte(prefix)
	end[len(end)-1]++
	encode := base64.StdEncoding.EncodeToString
	return s.post(
		step{"/v3/auth/user/add", fields{"name": name, "password": password}},
		step{"/v3/auth/role/add", fields{"name": name}},
		step{"/v3/auth/role/grant", fields{"name": name, "perm": fields{"permType": "READWRITE", "key": encode([]byte(prefix)), "range_end": encode(end)}}},
		step{"/v3/auth/user/grant", fields{"user": name, "role": name}},
	)
}

type fields map[string]interface{}

type step struct {
	path string
	body fields
}

// post posts one after the other to etcd's v3 API over HTTP.
func (s *Server) post(steps ...step) error {
	client := s.httpClient()
	for _, step := range steps {
		body, err := json.Marshal(step.body)
		if err != nil {
			return err
		}
		status, answer, err := send(client, http.MethodPost, s.URL+step.path, string(body))
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("etcd answered %d to %s: %s", status, step.path, answer)
		}
	}
	return nil
}
