package trace

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/coreos/go-etcd/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

const (
	maxCall   = 300 // of a call's text, in bytes
	maxResult = 240 // of a result, in bytes
	maxValue  = 64  // of a value, in bytes
	maxIDs    = 4   // of a list
)

// called returns the text of a call: Type.Method(arguments), or Type.Method without arguments.
func called(on interface{}, method string, arguments ...string) string {
	name := fmt.Sprintf("%T", on)
	name = name[strings.LastIndex(name, ".")+1:] + "." + method
	if arguments == nil {
		return name
	}
	return name + "(" + strings.Join(arguments, ", ") + ")"
}

// words describes an argument or a result. A text stays as it is.
func words(value interface{}) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case string:
		return v
	case *storage.Object:
		return words(v.Object)
	case *storage.List:
		return listed(v)
	case api.Task:
		return words(&v)
	case api.Service:
		return words(&v)
	case api.ReplicationController:
		return words(&v)
	case api.Object:
		if placed, ok := v.(api.Placed); ok && placed.Machine() != "" {
			return named(v.Key()) + " on " + cut(placed.Machine(), maxValue)
		}
		return named(v.Key())
	case *etcd.Response:
		return answered(v)
	case clientv3.OpResponse:
		return answered3(v)
	case *clientv3.LeaseGrantResponse:
		return fmt.Sprintf("lease %x of %ds", v.ID, v.TTL)
	}
	return fmt.Sprintf("%T", value)
}

func named(key api.Key) string {
	if key.ID == "" {
		return string(key.Kind) + " without an id"
	}
	return string(key.Kind) + " " + quoted(key)
}

// quoted returns the id in quotes, after a namespace other than default.
func quoted(key api.Key) string { return api.Quote(elsewhere(key.Namespace) + key.ID) }

// elsewhere returns what tells an object of a namespace from one of the same name in the namespace default.
func elsewhere(namespace string) string {
	if namespace == "" || namespace == api.NamespaceDefault {
		return ""
	}
	return namespace + "/"
}

func listed(list *storage.List) string {
	kind := strings.TrimSuffix(string(list.Kind), "s")
	if len(list.Items) == 0 {
		return "no " + kind + "s"
	}
	var ids []string
	for i, object := range list.Items {
		if i == maxIDs {
			ids = append(ids, "…")
			break
		}
		ids = append(ids, quoted(object.Key()))
	}
	return counted(len(list.Items), kind) + ": " + strings.Join(ids, ", ")
}

func counted(n int, kind string) string {
	if n == 1 {
		return "1 " + kind
	}
	return fmt.Sprint(n, " ", kind, "s")
}

// answered describes an answer of etcd's v2 API: the value, or the index of a write.
func answered(answer *etcd.Response) string {
	switch node := answer.Node; {
	case node == nil:
		return "ok"
	case answer.Action != "get":
		return fmt.Sprint("index ", node.ModifiedIndex)
	case node.Dir:
		return fmt.Sprint("a directory of ", len(node.Nodes))
	default:
		return fmt.Sprintf("%s, index %d", value(node.Value), node.ModifiedIndex)
	}
}

// answered3 describes an answer of etcd's v3 API.
func answered3(answer clientv3.OpResponse) string {
	switch {
	case answer.Get() != nil:
		return fmt.Sprintf("%s, revision %d", counted(int(answer.Get().Count), "key"), answer.Get().Header.Revision)
	case answer.Txn() == nil:
		return "ok"
	case !answer.Txn().Succeeded:
		return fmt.Sprint("a condition is not met, revision ", answer.Txn().Header.Revision)
	}
	return fmt.Sprint("revision ", answer.Txn().Header.Revision)
}

// value describes a stored value: JSON as it is, anything else in quotes.
func value(text string) string {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return api.Quote(text)
	}
	short := cut(text, maxValue)
	if short == text {
		return text
	}
	return short + " " + counted(len(text), "byte")
}

// failure describes an error, with its kind or etcd's code if it has one.
func failure(err error) string {
	var typed *api.Error
	var refused *etcd.EtcdError
	switch {
	case errors.As(err, &typed):
		return "error (" + string(typed.Kind) + "): " + err.Error()
	case errors.As(err, &refused): // the store acts on the code
		return fmt.Sprintf("%d %s, index %d", refused.ErrorCode, cut(refused.Message, maxValue), refused.Index)
	}
	return "error: " + err.Error()
}

// cut shortens a text to a number of bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// oneLine makes any text fit on one line.
func oneLine(text string) string {
	return api.Printable(strings.ToValidUTF8(text, "?"), '?')
}
