package check

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Internal encodes as the real server's internal version of the value does: it has the
// same fields, but all of them, under the names that they have in Go, and a few at other
// places. The server shows such values where an error is about a whole object.
type Internal struct{ Value any }

// MarshalJSON implements json.Marshaler.
func (i Internal) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	err := write(&b, i.Value)
	return b.Bytes(), err
}

// member is a field of an object; its value may be a list of members.
type member struct {
	name  string
	value any
}

// inHostNamespaces are fields of a v1 pod's spec that the internal version has in the pod's
// security context, in its order.
var inHostNamespaces = []string{"HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace", "HostUsers"}

// fieldsAfter says which field follows which one in the internal version, where v1 has it elsewhere.
var fieldsAfter = map[reflect.Type][][2]string{
	reflect.TypeFor[corev1.PodSpec]():            {{"Subdomain", "SetHostnameAsFQDN"}, {"Priority", "PreemptionPolicy"}, {"RuntimeClassName", "Overhead"}},
	reflect.TypeFor[corev1.PodSecurityContext](): {{"FSGroup", "FSGroupChangePolicy"}},
	reflect.TypeFor[corev1.VolumeSource]():       {{"RBD", "Quobyte"}},
}

func members(object reflect.Value) []member {
	var all []member
	for i := range object.NumField() {
		if f := object.Type().Field(i); f.Anonymous {
			all = append(all, members(object.Field(i))...)
		} else {
			all = append(all, member{f.Name, object.Field(i).Interface()})
		}
	}
	at := func(name string) int { return slices.IndexFunc(all, func(m member) bool { return m.name == name }) }
	take := func(name string) member {
		i := at(name)
		m := all[i]
		all = slices.Delete(all, i, i+1)
		return m
	}
	for _, order := range fieldsAfter[object.Type()] {
		moved := take(order[1])
		all = slices.Insert(all, at(order[0])+1, moved)
	}
	if spec, ok := object.Interface().(corev1.PodSpec); ok {
		take("DeprecatedServiceAccount")
		var security []member
		for _, name := range inHostNamespaces {
			security = append(security, take(name))
		}
		if spec.SecurityContext != nil {
			security = append(security, members(reflect.ValueOf(*spec.SecurityContext))...)
			all[at("SecurityContext")].value = security
		}
	}
	return all
}

func write(b *bytes.Buffer, value any) error {
	if object, ok := value.([]member); ok {
		return writeList(b, "{}", len(object), func(i int) error {
			b.WriteString(`"` + object[i].name + `":`)
			return write(b, object[i].value)
		})
	}
	v := reflect.ValueOf(value)
	switch kind := v.Kind(); {
	case kind == reflect.Pointer && !v.IsNil():
		return write(b, v.Elem().Interface())
	case kind == reflect.Slice && !v.IsNil():
		return writeList(b, "[]", v.Len(), func(i int) error { return write(b, v.Index(i).Interface()) })
	case kind == reflect.Struct && strings.HasSuffix(v.Type().PkgPath(), "k8s.io/api/core/v1"):
		return write(b, members(v))
	}
	text, err := json.Marshal(value)
	b.Write(text)
	return err
}

func writeList(b *bytes.Buffer, brackets string, length int, element func(int) error) error {
	b.WriteByte(brackets[0])
	for i := range length {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := element(i); err != nil {
			return err
		}
	}
	b.WriteByte(brackets[1])
	return nil
}
