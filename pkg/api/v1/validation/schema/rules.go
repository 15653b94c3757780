package schema

import (
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api/v1/markers"
)

// rules are those of a type, and of the values in it. A type without any has none, nil.
type rules struct {
	values []string // of an enum
	elem   *rules   // of a list
	fields []member // of a struct: those with rules
}

// member is a field of a struct.
type member struct {
	*rules
	name   string // in JSON; "" for an embedded struct
	index  int
	unique *key // of a list in which no element may repeat another one, else nil
}

// key is the field that identifies an element of a list. It has no name if the element does so itself.
type key struct {
	name  string
	index int
}

// tolerated are lists in which kube-apiserver accepts repeated elements, by package, or by struct and
// field. In core/v1, rules refuse them where they matter.
var tolerated = map[string]bool{
	"core/v1":                         true,
	"flowcontrol/v1":                  true,
	"discovery/v1.Endpoint.addresses": true,
	"storage/v1.CSIDriverSpec.volumeLifecycleModes":                    true,
	"admissionregistration/v1.ValidatingAdmissionPolicySpec.variables": true,
}

// objects has the rules of types of objects, *rules by reflect.Type. They are made when first needed.
var objects sync.Map

// shared has the rules of structs in objects, such as the pod spec.
var shared = struct {
	sync.Mutex // guards maker; rules that are made do not change
	maker
}{maker: maker{}}

func rulesOf(t reflect.Type) *rules {
	if of, ok := objects.Load(t); ok {
		return of.(*rules)
	}
	shared.Lock()
	defer shared.Unlock()
	of := shared.object(t)
	objects.Store(t, of)
	return of
}

// maker makes rules. It remembers those of structs, which may contain themselves.
type maker map[reflect.Type]*rules

// object returns the rules of an object without those of its status.
func (m maker) object(t reflect.Type) *rules {
	all := m.rules(t)
	if all == nil {
		return nil
	}
	of := &rules{}
	for _, f := range all.fields {
		if f.name != "status" {
			of.fields = append(of.fields, f)
		}
	}
	return of
}

func (m maker) rules(t reflect.Type) *rules {
	switch t.Kind() {
	case reflect.Pointer:
		return m.rules(t.Elem())
	case reflect.Slice:
		if elem := m.rules(t.Elem()); elem != nil {
			return &rules{elem: elem}
		}
	case reflect.String:
		if values := markers.Enum(t); len(values) > 0 {
			of := &rules{}
			for _, v := range values {
				of.values = append(of.values, v.Text)
			}
			return of
		}
	case reflect.Struct: // there are no maps of enums but in a status
		return m.structRules(t)
	}
	return nil
}

func (m maker) structRules(t reflect.Type) *rules {
	if of, ok := m[t]; ok || t == reflect.TypeFor[metav1.ObjectMeta]() {
		return of
	}
	of := &rules{}
	m[t] = of
	marked := markers.Struct(t)
	for f := range t.Fields() {
		name := jsonName(f)
		if name == "-" || !f.IsExported() || name == "" && !f.Anonymous {
			continue
		}
		own := member{m.rules(f.Type), name, f.Index[0], keyOf(t, f, name, marked[name])}
		if own.rules != nil || own.unique != nil {
			of.fields = append(of.fields, own)
		}
	}
	if len(of.fields) == 0 {
		m[t] = nil
	}
	return m[t]
}

// keyOf returns what identifies the elements of a list, nil if they may repeat. Lists with several
// keys are only in core/v1 and in statuses.
func keyOf(t reflect.Type, f reflect.StructField, name string, marked markers.Markers) *key {
	group := strings.TrimPrefix(t.PkgPath(), "k8s.io/api/")
	if f.Type.Kind() != reflect.Slice || tolerated[group] || tolerated[group+"."+t.Name()+"."+name] {
		return nil
	}
	switch elem := f.Type.Elem(); {
	case marked.ListType == "set" && isScalar(elem):
		return &key{}
	case marked.ListType == "map" && len(marked.ListMapKeys) == 1:
		for field := range elem.Fields() {
			if name := jsonName(field); name == marked.ListMapKeys[0] && isScalar(field.Type) {
				return &key{name, field.Index[0]}
			}
		}
	}
	return nil
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func isScalar(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64
}
