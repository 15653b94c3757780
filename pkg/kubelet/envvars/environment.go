// Package envvars makes the environments of containers, from their pod and from config maps and secrets.
package envvars

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/objects"
)

// maxEnvironment is how many bytes the names and values of the variables of a container may have, and how
// many its command.
const maxEnvironment = 1 << 20

var (
	errEnvironment = fmt.Errorf("the environment has more than %d MiB", maxEnvironment>>20)
	errCommand     = fmt.Errorf("the command has more than %d MiB", maxEnvironment>>20)
)

// Source is what the environments and the volumes of a pod are made from.
type Source struct {
	Pod           *corev1.Pod
	NodeIP, PodIP string
	Capacity      corev1.ResourceList // of the machine
	Objects       objects.Objects     // of the server
}

// Environment is the variables of a container, and how many more bytes they may have.
type Environment struct {
	values map[string]string
	left   int
}

// Find returns the value of a variable.
func (e *Environment) Find(name string) (value string, exists bool) {
	value, exists = e.values[name]
	return value, exists
}

func (e *Environment) set(name, value string) error {
	if e.left -= len(name) + len(value); e.left < 0 {
		return errEnvironment
	}
	e.values[name] = value
	return nil
}

// List returns the variables as NAME=value, sorted; nil for none.
func (e *Environment) List() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(e.values)) {
		all = append(all, name+"="+e.values[name])
	}
	return all
}

// Environment returns the environment of a container. A later variable of a name counts more, and may
// refer to the earlier ones.
func (s Source) Environment(c *corev1.Container) (*Environment, error) {
	e := &Environment{map[string]string{}, maxEnvironment}
	for i := range c.EnvFrom {
		if err := s.addAll(e, &c.EnvFrom[i]); err != nil {
			return nil, err
		}
	}
	for i := range c.Env {
		v := &c.Env[i]
		value, exists, err := v.Value, true, error(nil)
		if value != "" {
			value, err = expand(value, e.left, e.Find)
		} else if v.ValueFrom != nil {
			value, exists, err = s.valueFrom(v.ValueFrom, c)
		}
		if err == nil && exists {
			err = e.set(v.Name, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return e, nil
}

// addAll adds all values of a config map or a secret.
func (s Source) addAll(e *Environment, from *corev1.EnvFromSource) error {
	var o objects.Object
	var optional *bool
	switch {
	case from.ConfigMapRef != nil:
		o, optional = s.Object(objects.ConfigMap, from.ConfigMapRef.Name), from.ConfigMapRef.Optional
	case from.SecretRef != nil:
		o, optional = s.Object(objects.Secret, from.SecretRef.Name), from.SecretRef.Optional
	}
	if o.Err != nil {
		return objects.Unless(optional, o.Err)
	}
	for key, value := range o.Data {
		if err := e.set(from.Prefix+key, string(value)); err != nil {
			return err
		}
	}
	return nil
}

// Object returns an object of the server, nothing if it was not fetched.
func (s Source) Object(kind, name string) objects.Object {
	return s.Objects[objects.Reference{Kind: kind, Name: name}]
}

// valueFrom returns a value from elsewhere. It need not exist if it is optional.
func (s Source) valueFrom(from *corev1.EnvVarSource, c *corev1.Container) (value string, exists bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = s.Field(from.FieldRef)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = s.Resource(from.ResourceFieldRef, c)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		return s.keyOf(objects.ConfigMap, "ConfigMap", ref.Name, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		return s.keyOf(objects.Secret, "Secret", ref.Name, ref.Key, ref.Optional)
	}
	return "", true, nil
}

// keyOf returns a value of a config map or a secret.
func (s Source) keyOf(kind, shown, name, key string, optional *bool) (value string, exists bool, err error) {
	o := s.Object(kind, name)
	if o.Err != nil {
		return "", false, objects.Unless(optional, o.Err)
	}
	data, exists := o.Data[key]
	if !exists && (optional == nil || !*optional) {
		err = fmt.Errorf("couldn't find key %s in %s %s/%s", key, shown, s.Pod.Namespace, name)
	}
	return string(data), exists, err
}

// ExpandCommand returns a container with the variables in its command and arguments expanded: itself if
// there are none.
func (e *Environment) ExpandCommand(c *corev1.Container) (*corev1.Container, error) {
	hasVariable := func(text string) bool { return strings.Contains(text, "$") }
	if !slices.ContainsFunc(c.Command, hasVariable) && !slices.ContainsFunc(c.Args, hasVariable) {
		return c, nil
	}
	expanded, left := *c, maxEnvironment
	for _, list := range []*[]string{&expanded.Command, &expanded.Args} {
		*list = slices.Clone(*list)
		for i, text := range *list {
			result, err := expand(text, left, e.Find)
			if err != nil {
				return nil, errCommand
			}
			(*list)[i], left = result, left-len(result)
		}
	}
	return &expanded, nil
}

// variable matches $(NAME) and $$.
var variable = regexp.MustCompile(`\$(\$|\([^)]*\))`)

// Expand replaces each $(NAME) by what find finds, and $$ by a dollar sign. It fails if the text or the result is too long.
func Expand(text string, find func(name string) (value string, exists bool)) (string, error) {
	return expand(text, maxEnvironment, find)
}

// expand replaces each $(NAME) by what find finds, and $$ by a dollar sign. What does not exist stays. The
// error is errEnvironment if the text or the result has more bytes than most.
func expand(text string, most int, find func(name string) (value string, exists bool)) (string, error) {
	left := most - len(text)
	expanded := variable.ReplaceAllStringFunc(text, func(found string) string {
		value, exists := "$", true
		if found != "$$" {
			value, exists = find(found[2 : len(found)-1])
		}
		if !exists || left < 0 {
			return found
		}
		left += len(found) - len(value)
		return value
	})
	if left < 0 {
		return "", errEnvironment
	}
	return expanded, nil
}
