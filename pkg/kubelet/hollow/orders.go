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
	coded := a.read("exit-code", "a number from 0 to 255", func(text string) error {
		code, err := strconv.ParseUint(text, 10, 8)
		o.exitCode = int32(code)
		return err
	})
	switch {
	case spec.Init && (coded || !hasCommand):
		o.exitAfter = initExitAfter
	case coded:
		o.exitAfter = codeExitAfter
	}
	a.readTime("start-after", &o.startAfter)
	a.readTime("exit-after", &o.exitAfter)
	a.readTime("stop-after", &o.stopAfter)
	a.read("log", "", func(text string) error {
		o.log = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		return nil
	})
	return o
}

// health is which probes of a container should fail.
type health struct{ unready, unhealthy bool }

// readHealth returns which probes of a container should fail.
func readHealth(pod *corev1.Pod, container string, warn func(reason, message string)) health {
	a, h := annotations{pod.Annotations, container, warn}, health{}
	a.readBool("unready", &h.unready)
	a.readBool("unhealthy", &h.unhealthy)
	return h
}

// read reads an annotation, and reports whether there is one. A bad value is reported, and ignored.
func (a annotations) read(name, form string, parse func(text string) error) bool {
	key := Prefix + name + "." + a.container
	text, there := a.all[key]
	if !there {
		key = Prefix + name
		text, there = a.all[key]
	}
	if !there {
		return false
	}
	if err := parse(text); err != nil {
		a.warn("InvalidAnnotation", fmt.Sprintf("annotation %s: %.40q is not %s", key, text, form))
		return false
	}
	return true
}

func (a annotations) readTime(name string, to *time.Duration) {
	a.read(name, "a time such as 5s", func(text string) error {
		read, err := time.ParseDuration(text)
		if err == nil && read < 0 {
			err = strconv.ErrRange
		}
		if err == nil {
			*to = read
		}
		return err
	})
}

func (a annotations) readBool(name string, to *bool) {
	a.read(name, "true or false", func(text string) (err error) {
		*to, err = strconv.ParseBool(text)
		return err
	})
}
