// Package warnings has what kube-apiserver 1.36 says about what is valid in an object, but odd. There is a function for each
// kind, for who writes an object of it. Old is nil for a new object.
package warnings

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// most bounds the warnings about an object. The header of an answer has room for fewer.
	most = 128
	// maxCompared bounds how often parts of an object are compared with one another: a body may have 100,000 ports.
	maxCompared = 1_000_000
)

// list collects warnings. It is for one goroutine.
type list struct {
	texts    []string
	compared int
}

func of[T any](look func(l *list, now, old T)) func(now, old T) []string {
	return func(now, old T) []string {
		var l list
		look(&l, now, old)
		return l.texts
	}
}

func (l *list) add(texts ...string) {
	l.texts = append(l.texts, texts[:min(len(texts), most-len(l.texts))]...)
}

// at adds a warning about a field, and returns true.
func (l *list) at(at *field.Path, format string, args ...any) bool {
	l.add(at.String() + ": " + fmt.Sprintf(format, args...))
	return true
}

// annotation adds a warning if an object has an annotation.
func (l *list) annotation(meta *metav1.ObjectMeta, at *field.Path, key, text string) {
	if _, has := meta.Annotations[key]; has {
		l.at(at.Child("metadata", "annotations").Key(key), "%s", text)
	}
}

// label adds a warning if a name, which is a DNS subdomain, is no label.
func (l *list) label(name, use string) {
	if len(name) > utilvalidation.DNS1123LabelMaxLength || strings.Contains(name, ".") {
		l.at(field.NewPath("metadata", "name"), "this is used in %s, which can result in surprising behavior; a DNS label is recommended: %v", use,
			utilvalidation.IsDNS1123Label(name))
	}
}

// whole adds a warning if there are parts of a byte in a list of resources. The names lead to the list.
func (l *list) whole(at *field.Path, all corev1.ResourceList, name corev1.ResourceName, first string, names ...string) {
	if value, has := all[name]; has && value.MilliValue()%1000 != 0 {
		l.at(at.Child(first, names...).Key(string(name)), "fractional byte value %q is invalid, must be an integer", value.String())
	}
}

// pairs calls a function with each number below n and those before it, until it returns true or there is no room for warnings.
func (l *list) pairs(n int, compare func(now, earlier int) bool) {
	for now := range n {
		for earlier := range now {
			if l.compared++; l.compared > maxCompared || len(l.texts) == most || compare(now, earlier) {
				break
			}
		}
	}
}
