package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
)

// Widget is a kind that this project does not have.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec `json:"spec,omitempty"`
}

// WidgetSpec is what a widget is.
type WidgetSpec struct {
	Size int32 `json:"size,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (w *Widget) DeepCopyObject() runtime.Object {
	own := *w
	w.ObjectMeta.DeepCopyInto(&own.ObjectMeta)
	return &own
}

// WidgetList is a list of widgets.
type WidgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Widget `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *WidgetList) DeepCopyObject() runtime.Object {
	own := *l
	own.Items = append([]Widget(nil), l.Items...)
	return &own
}

var widgetVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// widgetRow is all that a server is told of widgets.
func widgetRow(objects storage.Interface) rest.Resource {
	types := runtime.NewScheme()
	types.AddKnownTypes(widgetVersion, &Widget{}, &WidgetList{})
	row := rest.Resource{GroupVersion: widgetVersion, Kind: widgetVersion.WithKind("Widget"), Name: "widgets", Singular: "widget", ShortNames: []string{"wd"},
		Namespaced: true, StoredKind: "widgets.example.com", Scheme: types,
		Printer: printers.Printer{
			Columns: func() []metav1.TableColumnDefinition {
				return []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}, {Name: "Size", Type: "integer"}}
			},
			Cells: func(object runtime.Object) []any {
				w := object.(*Widget)
				return []any{w.Name, w.Spec.Size}
			},
		}}
	return row.With(genericregistry.NewStore(rest.Base{Objects: objects, Now: time.Now}, row, genericregistry.Strategy[*Widget]{
		Default:  func(w *Widget) { w.Spec.Size = max(w.Spec.Size, 1) },
		Validate: validateWidget, ValidateUpdate: func(w, _ *Widget) field.ErrorList { return validateWidget(w) },
	}))
}

func validateWidget(w *Widget) field.ErrorList {
	if w.Spec.Size > 9 {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "size"), w.Spec.Size, "must be at most 9")}
	}
	return nil
}

// aKubectl runs kubectl against a server.
type aKubectl struct {
	*secured
	home string
}

// command is kubectl with a line of arguments, as a user.
func (k aKubectl) command(user, line string) *exec.Cmd {
	args := append(strings.Fields(line), "--server", k.url, "--token", user+"-token", "--insecure-skip-tls-verify")
	cmd := exec.CommandContext(unhurriedContext(k.t), kubectlPath(k.t), args...)
	cmd.Env = append(os.Environ(), "HOME="+k.home, "KUBECONFIG=")
	return cmd
}

// prints requires that kubectl prints a text, with one blank between columns.
func (k aKubectl) prints(user, line, want string) {
	k.t.Helper()
	text, _ := k.command(user, line).CombinedOutput()
	assert.Equal(k.t, want, inColumns(string(text)), "%s: kubectl %s", user, line)
}

func TestAKindComesAndGoesWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			f := filesOf(t)
			log := f.path("audit.log")
			s := openSecure(t, append(flags(t), "-runtime_config", "apiextensions.k8s.io/v1=false", "-scheduler", "none", "-authorization_mode", "RBAC", "-audit_log_path", log, "-audit_policy_file",
				f.write("policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request}]\n"),
				"-token_auth_file", f.write("tokens", "admin-token,admin,1,system:masters\nkate-token,kate,2\n"))...)
			k := aKubectl{s, t.TempDir()}
			k.prints("admin", "get widgets", `error: the server doesn't have a resource type "widgets"`)

			s.Extensions.Install(widgetRow(s.Stores.Objects))
			k.home = t.TempDir() // kubectl keeps what it has discovered for a while
			require.NoError(t, os.WriteFile(filepath.Join(k.home, "big.yaml"), []byte("{apiVersion: example.com/v1, kind: Widget, metadata: {name: big}, spec: {size: 7}}\n"), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(k.home, "huge.yaml"), []byte("{apiVersion: example.com/v1, kind: Widget, metadata: {name: huge}, spec: {size: 70}}\n"), 0o600))
			big, huge := filepath.Join(k.home, "big.yaml"), filepath.Join(k.home, "huge.yaml")
			k.prints("admin", "create -f "+big, "widget.example.com/big created")
			k.prints("admin", "create -f "+huge, `The Widget "huge" is invalid: spec.size: Invalid value: 70: must be at most 9`)
			k.prints("admin", "get wd", "NAME SIZE\nbig 7")
			k.prints("admin", "explain widget.spec.size --output plaintext", "GROUP: example.com\nKIND: Widget\nVERSION: v1\n\nFIELD: size <integer>\n\n\nDESCRIPTION:\n<empty>\n")

			k.prints("kate", "get wd", `Error from server (Forbidden): widgets.example.com is forbidden: User "kate" cannot list resource "widgets" in API group "example.com" in the namespace "default"`)
			k.prints("admin", "create role w --verb=get,list,watch --resource=widgets.example.com", "role.rbac.authorization.k8s.io/w created")
			k.prints("admin", "create rolebinding w --role=w --user=kate", "rolebinding.rbac.authorization.k8s.io/w created")
			k.prints("kate", "get wd/big -o jsonpath={.spec.size}", "7")

			watch := k.command("kate", "get wd --watch --output-watch-events --no-headers")
			events, err := watch.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, watch.Start())
			lines := bufio.NewScanner(events)
			next := func() string { require.True(t, lines.Scan()); return inColumns(lines.Text()) }
			assert.Equal(t, "ADDED big 7", next())
			k.prints("admin", `patch wd big --type=merge -p {"spec":{"size":3}}`, "widget.example.com/big patched")
			assert.Equal(t, "MODIFIED big 3", next())
			k.prints("admin", "label wd big a=b", "widget.example.com/big labeled")
			assert.Equal(t, "MODIFIED big 3", next())
			k.prints("admin", "get wd -l a=b -o name", "widget.example.com/big")
			k.prints("admin", "delete wd big", `widget.example.com "big" deleted from default namespace`)
			assert.Equal(t, "DELETED big 3", next())
			k.prints("admin", "create -f "+big, "widget.example.com/big created")
			assert.Equal(t, "ADDED big 7", next())

			audited, err := os.ReadFile(log)
			require.NoError(t, err)
			assert.Contains(t, string(audited), `"objectRef":{"resource":"widgets","namespace":"default","name":"big","apiGroup":"example.com","apiVersion":"v1"}`)
			_, metrics := getText(t, s.insecure+"/metrics")
			assert.Contains(t, metrics, `apiserver_request_total{code="201",component="apiserver",dry_run="",group="example.com",resource="widgets"`)
			assert.Contains(t, metrics, `apiserver_resource_objects{group="example.com",resource="widgets"} 1`)

			s.Extensions.Replace([]rest.Resource{widgetRow(nil)}, nil)
			assert.False(t, lines.Scan(), "the watch has ended")
			_ = watch.Wait() // how kubectl ends then, is its own
			k.home = t.TempDir()
			k.prints("admin", "get wd", `error: the server doesn't have a resource type "wd"`)
			status, text := getText(t, s.insecure+"/apis/example.com/v1/widgets")
			assert.Equal(t, http.StatusNotFound, status)
			assert.Contains(t, text, "the server could not find the requested resource (get widgets.example.com)")
			_, groups := getText(t, s.insecure+"/apis")
			assert.NotContains(t, groups, "example.com")
			_, err = s.Stores.Objects.Get(api.Key{Kind: "widgets.example.com", Namespace: "default", ID: "big"})
			assert.NoError(t, err, "what is stored stays, for when the kind comes back")
			s.Extensions.Install(widgetRow(s.Stores.Objects))
			k.home = t.TempDir()
			k.prints("kate", "get wd/big -o jsonpath={.spec.size}", "7")
		})
	}
}
