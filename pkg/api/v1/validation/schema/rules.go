package schema

import (
	"reflect"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api/v1/markers"
	"kube2014/pkg/util"
)

// kind has the rules of objects of a type: those of the status, and those of all else.
type kind struct {
	rules, status *rules
	fixed         []fixed
}

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
	unique *key   // of a list in which no element may repeat another one, else nil
	limit  *limit // of a number, or of the length of a list, else nil
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

// kinds has the rules of objects, *kind by reflect.Type. They are made when first needed.
var kinds sync.Map

// shared has the rules of structs in objects, such as the pod spec.
var shared = struct {
	sync.Mutex // guards maker; rules that are made do not change
	maker
}{maker: maker{}}

func kindOf(t reflect.Type) *kind {
	if of, ok := kinds.Load(t); ok {
		return of.(*kind)
	}
	shared.Lock()
	defer shared.Unlock()
	of := shared.kind(t)
	kinds.Store(t, of)
	return of
}

// maker makes rules. It remembers those of structs, which may contain themselves.
type maker map[reflect.Type]*rules

func (m maker) kind(t reflect.Type) *kind {
	of := &kind{&rules{}, &rules{}, nil}
	_, paths := limitsOf(t)
	of.fixed = fixedIn(t, paths)
	if all := m.rules(t); all != nil {
		for _, f := range all.fields {
			if f.name == "status" {
				of.status.fields = append(of.status.fields, f)
			} else {
				of.rules.fields = append(of.rules.fields, f)
			}
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
	limits, _ := limitsOf(t)
	for f := range t.Fields() {
		name := util.JSONName(f)
		if name == "-" || !f.IsExported() || name == "" && !f.Anonymous {
			continue
		}
		own := member{m.rules(f.Type), name, f.Index[0], keyOf(t, f, name, marked[name]), nil}
		if limit, has := limits[name]; has && limit.values != nil {
			own.rules = &rules{values: limit.values}
		} else if has {
			own.limit = &limit
		}
		if own.rules != nil || own.unique != nil || own.limit != nil {
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
			if name := util.JSONName(field); name == marked.ListMapKeys[0] && isScalar(field.Type) {
				return &key{name, field.Index[0]}
			}
		}
	}
	return nil
}

func isScalar(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Int32 || t.Kind() == reflect.Int64
}
