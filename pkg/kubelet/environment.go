package kubelet

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxEnvironment is how many bytes the names and values of the variables of a container may have, and how
// many its command.
const maxEnvironment = 1 << 20

var (
	errEnvironment = fmt.Errorf("the environment has more than %d MiB", maxEnvironment>>20)
	errCommand     = fmt.Errorf("the command has more than %d MiB", maxEnvironment>>20)
)

// environment is the variables of a container, and how many more bytes they may have.
type environment struct {
	values map[string]string
	left   int
}

func (e *environment) find(name string) (value string, exists bool) {
	value, exists = e.values[name]
	return value, exists
}

func (e *environment) set(name, value string) error {
	if e.left -= len(name) + len(value); e.left < 0 {
		return errEnvironment
	}
	e.values[name] = value
	return nil
}

// list returns the variables as NAME=value, sorted; nil for none.
func (e *environment) list() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(e.values)) {
		all = append(all, name+"="+e.values[name])
	}
	return all
}

// environmentOf returns the environment of a container. A later variable of a name counts more, and may
// refer to the earlier ones.
func (w *podWorker) environmentOf(c *corev1.Container) (*environment, error) {
	e := &environment{map[string]string{}, maxEnvironment}
	for i := range c.EnvFrom {
		if err := w.addAll(e, &c.EnvFrom[i]); err != nil {
			return nil, err
		}
	}
	for i := range c.Env {
		v := &c.Env[i]
		value, exists, err := v.Value, true, error(nil)
		if value != "" {
			value, err = expand(value, e.left, e.find)
		} else if v.ValueFrom != nil {
			value, exists, err = w.valueFrom(v.ValueFrom, c)
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
func (w *podWorker) addAll(e *environment, from *corev1.EnvFromSource) error {
	var o object
	var optional *bool
	switch {
	case from.ConfigMapRef != nil:
		o, optional = w.object(aConfigMap, from.ConfigMapRef.Name), from.ConfigMapRef.Optional
	case from.SecretRef != nil:
		o, optional = w.object(aSecret, from.SecretRef.Name), from.SecretRef.Optional
	}
	if o.err != nil {
		return unless(optional, o.err)
	}
	for key, value := range o.data {
		if err := e.set(from.Prefix+key, string(value)); err != nil {
			return err
		}
	}
	return nil
}

// unless returns an error, but nil if something is missing that is optional.
func unless(optional *bool, err error) error {
	if optional != nil && *optional && errors.As(err, new(missingError)) {
		return nil
	}
	return err
}

// valueFrom returns a value from elsewhere. It need not exist if it is optional.
func (w *podWorker) valueFrom(from *corev1.EnvVarSource, c *corev1.Container) (value string, exists bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = w.fieldOf(from.FieldRef)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = w.resourceOf(from.ResourceFieldRef, c)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		return w.keyOf(aConfigMap, "ConfigMap", ref.Name, ref.Key, ref.Optional)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		return w.keyOf(aSecret, "Secret", ref.Name, ref.Key, ref.Optional)
	}
	return "", true, nil
}

// keyOf returns a value of a config map or a secret.
func (w *podWorker) keyOf(kind, shown, name, key string, optional *bool) (value string, exists bool, err error) {
	o := w.object(kind, name)
	if o.err != nil {
		return "", false, unless(optional, o.err)
	}
	data, exists := o.data[key]
	if !exists && (optional == nil || !*optional) {
		err = fmt.Errorf("couldn't find key %s in %s %s/%s", key, shown, w.pod.Namespace, name)
	}
	return string(data), exists, err
}

// expandCommand returns a container with the variables in its command and arguments expanded: itself if
// there are none.
func expandCommand(c *corev1.Container, e *environment) (*corev1.Container, error) {
	hasVariable := func(text string) bool { return strings.Contains(text, "$") }
	if !slices.ContainsFunc(c.Command, hasVariable) && !slices.ContainsFunc(c.Args, hasVariable) {
		return c, nil
	}
	expanded, left := *c, maxEnvironment
	for _, list := range []*[]string{&expanded.Command, &expanded.Args} {
		*list = slices.Clone(*list)
		for i, text := range *list {
			result, err := expand(text, left, e.find)
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
