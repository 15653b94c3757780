package hollow

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"kube2014/pkg/kubelet/cri"

	corev1 "k8s.io/api/core/v1"
)

// Prefix is the prefix of the annotations that control the runtime.
const Prefix = "hollow.kube2014/"

const (
	stopAfter     = 50 * time.Millisecond
	initExitAfter = 100 * time.Millisecond
	codeExitAfter = time.Second
	never         = -1
)

// orders are the instructions to a container.
type orders struct {
	startAfter, exitAfter, stopAfter time.Duration
	exitCode                         int32
	log                              []string
}

// annotations reads the annotations for a container.
type annotations struct {
	all       map[string]string
	container string
	warn      func(reason, message string)
}

// readOrders returns the orders at the start of a container. One that has a command ends with it by default.
func readOrders(spec cri.Spec, startAfter time.Duration, hasCommand bool) orders {
	a := annotations{spec.Pod.Annotations, spec.Name, spec.Warn}
	o := orders{startAfter: startAfter, exitAfter: never, stopAfter: stopAfter}
	coded := read(a, "exit-code", "a number from 0 to 255", &o.exitCode, func(text string) (int32, error) {
		code, err := strconv.ParseUint(text, 10, 8)
		return int32(code), err
	})
	switch {
	case spec.Init && (coded || !hasCommand):
		o.exitAfter = initExitAfter
	case coded:
		o.exitAfter = codeExitAfter
	}
	for name, to := range map[string]*time.Duration{"start-after": &o.startAfter, "exit-after": &o.exitAfter, "stop-after": &o.stopAfter} {
		read(a, name, "a time such as 5s", to, func(text string) (time.Duration, error) {
			t, err := time.ParseDuration(text)
			if err == nil && t < 0 {
				err = strconv.ErrRange
			}
			return t, err
		})
	}
	read(a, "log", "", &o.log, func(text string) ([]string, error) { return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil })
	return o
}

// health is which probes of a container should fail.
type health struct{ unready, unhealthy bool }

// readHealth returns which probes of a container should fail.
func readHealth(pod *corev1.Pod, container string, warn func(reason, message string)) health {
	a, h := annotations{pod.Annotations, container, warn}, health{}
	read(a, "unready", "true or false", &h.unready, strconv.ParseBool)
	read(a, "unhealthy", "true or false", &h.unhealthy, strconv.ParseBool)
	return h
}

// read reads an annotation, and reports whether there is one. A bad value is reported, and ignored.
func read[T any](a annotations, name, form string, to *T, parse func(text string) (T, error)) bool {
	key := Prefix + name + "." + a.container
	text, there := a.all[key]
	if !there {
		key = Prefix + name
		text, there = a.all[key]
	}
	if !there {
		return false
	}
	value, err := parse(text)
	if err != nil {
		a.warn("InvalidAnnotation", fmt.Sprintf("annotation %s: %.40q is not %s", key, text, form))
		return false
	}
	*to = value
	return true
}
